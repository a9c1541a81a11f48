"""The segments (frames or windows) of an operator, and how far back later segments may begin.

Stored frames, which were found before, are segments too: every row of them is a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.calendar_units import on_line, ticks_at
from muntin.kernels.grouping import KeyedTables, find_keys
from muntin.kernels.ticks import from_order, order_of_ticks, to_ticks
from muntin.operators.common.admission import Admission, is_late
from muntin.operators.protocol import (
    InputBatch,
    OneInput,
    Open,
    Operator,
    Punctuation,
    Routed,
    RowCounts,
    State,
    Step,
    ints,
    key_fields,
)
from muntin.specs.axis import Axis
from muntin.specs.fill import CLOSED, Edge
from muntin.specs.windows import Edges


@dataclass(frozen=True)
class Horizon:
    """The least order of each key that may still be asked for: ``own`` has it for ``keys``.

    Keys that are not listed have ``default``. NEVER means that every row may be asked for.
    """

    default: int
    keys: pa.Table
    own: Ints

    @classmethod
    def of(cls, punctuation: Punctuation, opened: Open, reach: Callable[[Ints], Ints]) -> Horizon:
        """Return up to where each key is complete after a step, or where its open segment began.

        The earlier of the two counts. ``reach`` turns a complete tick into the least order at which
        a later segment begins.
        """
        names, by_key = opened.keys.column_names, punctuation.by_key
        ahead = [] if by_key is None else [by_key.select(names)]
        listed = KeyedTables.of(names, [opened.keys, *ahead])
        since = np.full(len(listed), EVER)
        default = cls.default_of(punctuation, reach)
        if default == EVER:
            return cls(EVER, listed.keys, since)
        np.minimum.at(since, listed.numbers[0], opened.since)
        complete = punctuation.of(listed.keys)[1]
        own = np.where(complete == NEVER, NEVER, reach(np.where(complete == NEVER, 0, complete)))
        return cls(default, listed.keys, np.minimum(own, since))

    @staticmethod
    def default_of(
        punctuation: Punctuation, reach: Callable[[Ints], Ints], *, before: bool = False
    ) -> int:
        """Return the horizon of keys that are not listed, after a step or ``before`` it."""
        if punctuation.over if before else punctuation.ended:
            return EVER
        complete = punctuation.before if before else punctuation.after
        return NEVER if complete is None else int(reach(np.array([complete]))[0])

    def look_up(self, keys: pa.Table) -> Ints:
        """Return the horizon of each row of a table of keys."""
        orders = np.full(keys.num_rows, self.default)
        place = find_keys(keys, self.keys)
        orders[place >= 0] = self.own[place[place >= 0]]
        return orders

    def moved(self, move: Callable[[Ints], Ints]) -> Horizon:
        """Return the horizon with every order moved, except NEVER and EVER."""

        def careful(order: Ints) -> Ints:
            fixed = (order == NEVER) | (order == EVER)
            return np.where(fixed, order, move(np.where(fixed, 0, order)))

        return Horizon(int(careful(np.array([self.default]))[0]), self.keys, careful(self.own))

    def of_fewer(self, names: Sequence[str]) -> Horizon:
        """Return the horizon by fewer key columns: the least of all keys that become one."""
        if len(names) == len(self.keys.column_names):
            return self
        fewer = KeyedTables.of(names, [self.keys.select(names)])
        least = np.full(len(fewer), self.default)
        np.minimum.at(least, fewer.numbers[0], self.own)
        if not names:
            return Horizon(int(least.min()) if len(least) else self.default, fewer.keys, least)
        return Horizon(self.default, fewer.keys, least)

    def replaced(self, keys: pa.Table, own: Ints) -> Horizon:
        """Return the horizon with other orders for some keys."""
        both = KeyedTables.of(self.keys.column_names, [self.keys, keys])
        orders = self.look_up(both.keys)
        orders[both.numbers[1]] = own
        return Horizon(self.default, both.keys, orders)


@dataclass(frozen=True)
class OperatorSegments:
    """The results of ``operator`` as segments, bounded by the columns ``start`` and ``end``.

    Windows over values have ``edges``: their next window begins before the point up to which input
    is complete. With ``fragments`` a segment may be reported several times, each time longer.
    ``along`` are the two columns with the bounds of regions along their second attribute.
    ``overlapping`` segments of a key may begin before the one before them ends. Segments that end
    at a row may begin ``back`` ticks before it, and those of later rows begin at the last of some
    ``points`` in ticks, where there are any.
    """

    operator: Operator
    axis: Axis
    keys: tuple[pa.DataType, ...]
    start: str = "frame_start"
    end: str = "frame_end"
    edge: Edge = field(default_factory=lambda: CLOSED)
    edges: Edges | None = None
    fragments: bool = False
    along: tuple[str, str] | None = None
    overlapping: bool = False
    back: int = 0
    points: tuple[int, ...] = ()

    @property
    def key_names(self) -> list[str]:
        return [field.name for field in key_fields(self.keys)]

    def bounds(self, results: pa.Table) -> tuple[Ints, Ints]:
        """Return where results begin and end, as orders."""
        start, end = (results[name].combine_chunks() for name in (self.start, self.end))
        return to_ticks(start, self.axis).order, to_ticks(end, self.axis).order

    def whole(self, results: pa.Table) -> npt.NDArray[np.bool_]:
        """Return the mask of final results; the others are fragments."""
        if not self.fragments:
            return np.ones(results.num_rows, np.bool_)
        final: npt.NDArray[np.bool_] = np.array(results["status"].to_pylist()) == "final"
        return final

    def horizon(self, punctuation: Punctuation, step: Step) -> Horizon:
        """Return the horizon below which no later segment begins."""
        return Horizon.of(punctuation, step.open or self._nothing, self.reach)

    def default_before(self, punctuation: Punctuation) -> int:
        """Return the horizon before a step of keys that were not listed."""
        return Horizon.default_of(punctuation, self.reach, before=True)

    @property
    def _nothing(self) -> Open:
        none = pa.schema(key_fields(self.keys)).empty_table()
        return Open(none, np.empty(0, np.int64))

    def reach(self, ticks: Ints) -> Ints:
        """Return the least order at which a segment can begin when ticks are complete."""
        ticks = np.maximum(ticks, -self.axis.limit)
        if self.points:
            return order_of_ticks(self._point_before(ticks), self.axis)
        if self.edges is None:
            return order_of_ticks(np.maximum(ticks - self.back, -self.axis.limit), self.axis)
        edges = self.edges
        if edges.landmark:
            return order_of_ticks(np.full(len(ticks), edges.origin), self.axis)
        following = (on_line(edges, ticks) - edges.origin) // edges.slide
        start = edges.origin + (following + 1) * edges.slide - edges.range
        if edges.clipped:
            start = np.maximum(start, edges.origin)
        return order_of_ticks(ticks_at(edges, start), self.axis)

    def _point_before(self, ticks: Ints) -> Ints:
        """Return the last point at or before each tick, or the tick if there is none."""
        points = np.array(self.points, np.int64)
        place = np.searchsorted(points, ticks, side="right") - 1
        return np.where(place < 0, ticks, points[np.maximum(place, 0)])


@dataclass(frozen=True)
class StoredFrameSegments(OneInput):
    """Reports each row as a frame, from ``on`` to ``until``, with its columns ``r0..``.

    A frame is final when its row arrives, so there is no state.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    kept: tuple[pa.DataType, ...]
    bound_type: pa.DataType
    lateness_type: pa.DataType
    names: tuple[str, str] = ("frame_start", "frame_end")

    @cached_property
    def key_names(self) -> list[str]:
        return [field.name for field in key_fields(self.keys)]

    @cached_property
    def admission(self) -> Admission:
        return Admission(self.axis, self.lateness_type)

    @cached_property
    def row_schema(self) -> pa.Schema:
        place = [pa.field(name, pa.int64()) for name in ("tick", "order", "reach")]
        return pa.schema([*key_fields(self.keys), *place, *self._kept])

    @property
    def _kept(self) -> list[pa.Field]:
        return [pa.field(f"r{place}", type_) for place, type_ in enumerate(self.kept)]

    @cached_property
    def result_schema(self) -> pa.Schema:
        bounds = [pa.field(name, self.bound_type) for name in self.names]
        return pa.schema([*key_fields(self.keys), *bounds, *self._kept])

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.key_names,)

    def route(self, rows: pa.Table) -> Routed:
        on = to_ticks(rows["on"].combine_chunks(), self.axis)
        until = to_ticks(rows["until"].combine_chunks(), self.axis)
        endless = (until.refusal != 0) | ((on.refusal == 0) & (until.order < on.order))
        admitted = self.admission.admit(rows, np.where(endless, "no_until", "").astype(object))
        reach = to_ticks(admitted.rows["until"].combine_chunks(), self.axis).order
        own = {"reach": pa.array(reach)}
        partial = admitted.partial(self.row_schema, own, with_originals=False)
        return admitted.routed(partial, admitted.originals(self.key_names))

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables([self.row_schema.empty_table(), *partials])

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (only,) = inputs
        arrived = self.merge(only.partials)
        late = is_late(arrived, self.key_names, only.punctuation)
        arrived = arrived.filter(pa.array(~late)) if late.any() else arrived
        bounds = [
            from_order(ints(arrived[name]), self.axis, self.bound_type)
            for name in ("order", "reach")
        ]
        columns = [*(arrived[n] for n in self.key_names), *bounds]
        columns += [arrived[field.name] for field in self._kept]
        results = pa.Table.from_arrays(columns, schema=self.result_schema)
        late_rows = self.admission.late_among(only.rows, self.key_names, only.punctuation)
        counts = RowCounts(arrived.num_rows, int(late.sum()), late_rows=late_rows)
        return Step(results, {}, (counts,))
