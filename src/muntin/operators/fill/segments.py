"""Segments to fill: the results of an operator, and how far back segments may reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.grouping import find_keys
from muntin.kernels.ticks import order_of_ticks, to_ticks
from muntin.operators.common.arrow_columns import key_fields
from muntin.operators.common.keys import KeyedTables
from muntin.operators.protocol import Open, Operator, Punctuation, Step
from muntin.specs.axis import Axis
from muntin.specs.fill import CLOSED, Edge
from muntin.specs.windows import Edges


@dataclass(frozen=True)
class Horizon:
    """Of every key the least order that may still be asked for.

    Keys that are not listed have ``default``; NEVER asks for everything for ever.
    """

    default: int
    keys: pa.Table
    own: Ints

    @classmethod
    def of(cls, punctuation: Punctuation, opened: Open, reach: Callable[[Ints], Ints]) -> Horizon:
        """Where a key is complete after a step, or where what is open of it began if earlier.

        ``reach`` makes an order of a tick.
        """
        names, by_key = opened.keys.column_names, punctuation.by_key
        ahead = [] if by_key is None else [by_key.select(names)]
        listed = KeyedTables.of(names, [opened.keys, *ahead])
        since = np.full(len(listed), EVER)
        default = cls.default_of(punctuation, reach)
        if default == EVER:
            return cls(EVER, listed.keys, since)
        since[listed.numbers[0]] = opened.since
        told = punctuation.of(listed.keys)[1]
        own = np.where(told == NEVER, NEVER, reach(np.where(told == NEVER, 0, told)))
        return cls(default, listed.keys, np.minimum(own, since))

    @staticmethod
    def default_of(
        punctuation: Punctuation, reach: Callable[[Ints], Ints], *, before: bool = False
    ) -> int:
        """The horizon of keys of which nothing is known, after a step or before it."""
        if punctuation.over if before else punctuation.ended:
            return EVER
        told = punctuation.before if before else punctuation.after
        return NEVER if told is None else int(reach(np.array([told]))[0])

    def look_up(self, keys: pa.Table) -> Ints:
        """The horizon of each row of a table of keys."""
        made = np.full(keys.num_rows, self.default)
        place = find_keys(keys, self.keys)
        made[place >= 0] = self.own[place[place >= 0]]
        return made

    def moved(self, move: Callable[[Ints], Ints]) -> Horizon:
        """With every order moved, except those that are beyond moving."""

        def careful(order: Ints) -> Ints:
            fixed = (order == NEVER) | (order == EVER)
            return np.where(fixed, order, move(np.where(fixed, 0, order)))

        return Horizon(int(careful(np.array([self.default]))[0]), self.keys, careful(self.own))

    def of_fewer(self, names: Sequence[str]) -> Horizon:
        """For keys of fewer columns, each of which stands for many: the least of them."""
        if len(names) == len(self.keys.column_names):
            return self
        fewer = KeyedTables.of(names, [self.keys.select(names)])
        least = np.full(len(fewer), self.default)
        np.minimum.at(least, fewer.numbers[0], self.own)
        if not names:
            return Horizon(int(least.min()) if len(least) else self.default, fewer.keys, least)
        return Horizon(self.default, fewer.keys, least)

    def replaced(self, keys: pa.Table, own: Ints) -> Horizon:
        """With other horizons for some keys."""
        both = KeyedTables.of(self.keys.column_names, [self.keys, keys])
        made = self.look_up(both.keys)
        made[both.numbers[1]] = own
        return Horizon(self.default, both.keys, made)


@dataclass(frozen=True)
class OperatorSegments:
    """Results of ``operator``, from column ``start`` to column ``end``.

    ``edges`` are those of windows over values, whose next window begins before what is complete.
    ``fragments`` says that a segment may be reported several times, each time longer.
    """

    operator: Operator
    axis: Axis
    keys: tuple[pa.DataType, ...]
    start: str = "frame_start"
    end: str = "frame_end"
    edge: Edge = field(default_factory=lambda: CLOSED)
    edges: Edges | None = None
    fragments: bool = False

    @property
    def key_names(self) -> list[str]:
        return [field.name for field in key_fields(self.keys)]

    def bounds(self, results: pa.Table) -> tuple[Ints, Ints]:
        """Where results begin and end, as orders."""
        start, end = (results[name].combine_chunks() for name in (self.start, self.end))
        return to_ticks(start, self.axis).order, to_ticks(end, self.axis).order

    def whole(self, results: pa.Table) -> npt.NDArray[np.bool_]:
        """Which results are not fragments, of which more will follow."""
        if not self.fragments:
            return np.ones(results.num_rows, np.bool_)
        final: npt.NDArray[np.bool_] = np.array(results["status"].to_pylist()) == "final"
        return final

    def horizon(self, punctuation: Punctuation, step: Step) -> Horizon:
        """No segment to come begins below this."""
        return Horizon.of(punctuation, step.open or self._nothing, self.reach)

    def default_before(self, punctuation: Punctuation) -> int:
        """The horizon of keys of which nothing was known before a step."""
        return Horizon.default_of(punctuation, self.reach, before=True)

    @property
    def _nothing(self) -> Open:
        none = pa.schema(key_fields(self.keys)).empty_table()
        return Open(none, np.empty(0, np.int64))

    def reach(self, ticks: Ints) -> Ints:
        """Where a segment can begin at the earliest when ticks are complete."""
        ticks = np.maximum(ticks, -self.axis.limit)
        if self.edges is None:
            return order_of_ticks(ticks, self.axis)
        edges = self.edges
        if edges.landmark:
            return order_of_ticks(np.full(len(ticks), edges.origin), self.axis)
        following = (ticks - edges.origin) // edges.slide
        start = edges.origin + (following + 1) * edges.slide - edges.range
        if edges.clipped:
            start = np.maximum(start, edges.origin)
        return order_of_ticks(start, self.axis)
