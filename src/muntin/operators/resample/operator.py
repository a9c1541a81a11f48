"""Resampling: values at the instants of a grid, or at the rows of another stream.

An instant is reported when the rows around it are final. On a grid, only the last final row of each
key is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints, Mask
from muntin.kernels.grouping import KeyedTables, key_and_pane
from muntin.kernels.ticks import from_order, order_of_ticks, ticks_of_order
from muntin.operators.common.completeness import Front
from muntin.operators.common.listed_places import check_listed
from muntin.operators.fill.held_rows import reached
from muntin.operators.join.asof import AsofJoinOperator, RightRows
from muntin.operators.join.held_rows import GONE, HeldSide, Pool
from muntin.operators.join.right_rows import PassedRows, SortedRightRows
from muntin.operators.join.side import SideRows
from muntin.operators.protocol import (
    Changes,
    InputBatch,
    OneInput,
    Open,
    Routed,
    State,
    Step,
    ints,
    key_fields,
)
from muntin.operators.resample.neighbours import Neighbours
from muntin.specs.resample import Grid


@dataclass(frozen=True)
class _PlacedInstants:
    """Instants as keys and orders, and the indexes of the rows before and after each of them."""

    key: Ints
    order: Ints
    before: Ints
    after: Ints


@dataclass(frozen=True)
class GridResampleOperator(OneInput):
    """Reports instants of each key: those of a ``grid``, or without one the orders of its rows.

    Results have the keys ``k0..``. With ``values`` follow the instant ``at``, the values ``r0..``
    and ``gap``; without, ``frame_start`` and ``frame_end``, which are both the instant.
    """

    side: SideRows
    grid: Grid | None
    values: Neighbours | None
    bound_type: pa.DataType

    def __getstate__(self) -> dict[str, object]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def result_schema(self) -> pa.Schema:
        keys = key_fields(self.side.keys)
        if self.values is None:
            bounds = [pa.field(name, self.bound_type) for name in ("frame_start", "frame_end")]
            return pa.schema([*keys, *bounds])
        return pa.schema([*keys, *value_fields(self.bound_type, self.values)])

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.side.key_names,)

    def route(self, rows: pa.Table) -> Routed:
        return self.side.route(rows)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return self.side.merge(partials)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (batch,) = inputs
        new, counts = self.side.in_time(batch)
        front = Front(self.side.axis, batch.punctuation)
        held = HeldSide.of(state, "rows:", self.side.schema, remembers=False)
        _, high = front.lifted()
        pool = held.pool(new, held.held.chosen(held.held.bounds[0] < high.max()))
        keys = pool.rows.select(self.side.key_names)
        final = pool.order < front.after(keys)
        # A chunk may still hold rows that were final before this step.
        known = _Final.of(self, state, pool, final & (pool.order >= front.before(keys)))
        changes = held.change(pool, np.where(final, GONE, 0).astype(np.uint8))
        changes |= known.change(ended=front.ended, remembers=self.grid is not None)
        return Step(
            results=self._result_table(known, self._instants(known)),
            changes=changes,
            rows=(counts,),
            open=None if self.values is not None or front.ended else known.open(self),
        )

    def _instants(self, known: _Final) -> _PlacedInstants:
        rows = known.succession
        place = np.arange(len(rows.order))
        if self.grid is None:
            return _PlacedInstants(rows.key, rows.order, place, place)
        number = self.number(rows.order)
        first = np.append(True, rows.key[1:] != rows.key[:-1])[: len(place)]
        on_grid = order_of_ticks(self._tick(number), self.side.axis) == rows.order
        # Each row adds the instants after the row before it, up to itself. The first row of a key
        # adds only an instant at its own order.
        since = np.where(first, number - 1, np.append(0, number[:-1])[: len(place)])
        count = np.where(first, on_grid & known.fresh, number - since)
        check_listed(count, len(place), "instants")
        after = np.repeat(place, count)
        ordinal = np.arange(len(after)) - np.repeat(np.cumsum(count) - count, count)
        order = order_of_ticks(self._tick(since[after] + 1 + ordinal), self.side.axis)
        before = np.where(order == rows.order[after], after, after - 1)
        return _PlacedInstants(rows.key[after], order, before, after)

    def number(self, order: Ints) -> Ints:
        """Return the number of the last instant at or before each order."""
        assert self.grid is not None
        ticks = ticks_of_order(order, self.side.axis)
        return (ticks - self.grid.origin) // self.grid.every

    def _tick(self, number: Ints) -> Ints:
        assert self.grid is not None
        return self.grid.origin + number * self.grid.every

    def following(self, order: Ints) -> Ints:
        """Return the first instant after each order."""
        return order_of_ticks(self._tick(self.number(order) + 1), self.side.axis)

    def _result_table(self, known: _Final, instants: _PlacedInstants) -> pa.Table:
        columns = list(known.keyed.keys.take(pa.array(instants.key)).columns)
        at = from_order(instants.order, self.side.axis, self.bound_type)
        if self.values is None:
            columns += [at, at]
        else:
            place = known.succession.place
            around = place[instants.before], place[instants.after]
            columns += [at, *self.values.made(known.rows, *around, instants.order)]
        return pa.Table.from_arrays(columns, schema=self.result_schema)


@dataclass(frozen=True)
class _Final:
    """The rows that became final in a step, and the last row of each key that was final before."""

    rows: pa.Table
    keyed: KeyedTables
    succession: SortedRightRows
    fresh: Mask
    passed: PassedRows
    buckets: dict[int, pa.Table]
    new: int

    @classmethod
    def of(cls, work: GridResampleOperator, state: State, pool: Pool, final: Mask) -> _Final:
        names = work.side.key_names
        new_final = pool.rows.filter(pa.array(final))
        passed = PassedRows.of(state, "passed:", names)
        # Without values the instants are filled, and then the next one of every key is needed.
        floor = EVER if work.values is None else NEVER
        buckets = passed.read([new_final], floor) if work.grid is not None else {}
        rows = pa.concat_tables([new_final, *buckets.values()]).combine_chunks()
        keyed = KeyedTables.of(names, [rows])
        order, ties = ints(rows["order"]), work.side.tie_names
        sorted_rows = SortedRightRows.of(rows, keyed.numbers[0], order, len(keyed), ties)
        return cls(
            rows,
            keyed,
            sorted_rows,
            sorted_rows.place < new_final.num_rows,
            passed,
            buckets,
            new_final.num_rows,
        )

    def change(self, *, ended: bool, remembers: bool) -> Changes:
        """Return the changes that keep the last final row of each key."""
        if ended or not remembers:
            return self.passed.forget()
        rows = self.succession
        last = rows.place[np.append(rows.key[1:] != rows.key[:-1], True)[: len(rows.key)]]
        return self.passed.change(self.buckets, self.rows.take(pa.array(last)), last >= self.new)

    def open(self, work: GridResampleOperator) -> Open | None:
        """Return the next instant of each key."""
        if work.grid is None:
            return None
        rows = self.succession
        last = np.append(rows.key[1:] != rows.key[:-1], True)[: len(rows.key)]
        known = np.zeros(len(self.keyed), np.bool_)
        known[rows.key[last]] = True
        # Rows are sorted by key. Keys without columns would lose their rows in `take`.
        return Open(self.keyed.keys.filter(pa.array(known)), work.following(rows.order[last]))


def value_fields(bound_type: pa.DataType, values: Neighbours) -> list[pa.Field]:
    """Return the columns of a result: the instant, its values, and whether it is a gap."""
    value_columns = [pa.field(f"r{place}", type_) for place, type_ in enumerate(values.types)]
    return [pa.field("at", bound_type), *value_columns, pa.field("gap", pa.bool_())]


@dataclass(frozen=True)
class InstantResampleOperator(AsofJoinOperator):
    """Reports values of right rows at the orders of left rows, once for each key and order.

    Results have the keys ``k0..``, the instant ``at``, the values ``r0..`` and ``gap``.
    """

    values: Neighbours
    bound_type: pa.DataType

    @cached_property
    def result_schema(self) -> pa.Schema:
        return pa.schema(
            [*key_fields(self.sides[0].keys), *value_fields(self.bound_type, self.values)]
        )

    @property
    def patient(self) -> bool:
        return True

    def _due(self, waiting: HeldSide, fronts: Sequence[Front]) -> Mask:
        """Return the mask of chunks in which an instant may have become certain.

        An instant waits for the right rows around it, and for left rows with the same order.
        """
        least, most = waiting.held.bounds
        low, high = fronts[0].lifted()
        moved = low < high
        return super()._due(waiting, fronts) | reached(least, most, low[moved], high[moved] - 1)

    def _results(
        self, known: RightRows, asking: Pool, fronts: Sequence[Front]
    ) -> tuple[Mask, pa.Table]:
        certain = self._certain(known, asking, fronts)
        first = _distinct(known, asking, np.flatnonzero(certain))
        before, after = known.around(self.look, asking.order)
        place = np.append(known.succession.place, -1)
        around = place[before[first]], place[after[first]]
        order = asking.order[first]
        columns = list(asking.rows.select(self.key_names).take(pa.array(first)).columns)
        columns.append(from_order(order, self.look.axis, self.bound_type))
        columns += self.values.made(known.rows, *around, order)
        return certain, pa.Table.from_arrays(columns, schema=self.result_schema)

    def _certain(self, known: RightRows, asking: Pool, fronts: Sequence[Front]) -> Mask:
        """Return the mask of instants whose values are certain, and whose left side is complete."""
        order = asking.order
        alone = order < fronts[0].after(asking.rows.select(self.key_names))
        alone &= asking.mark != GONE
        if self.values.how != "linear":
            return alone & known.answer(self.look, asking, fronts[1])[1]
        complete = known.complete(fronts[1])
        before, after = known.around(self.look, order)
        place = np.append(known.succession.order, 0)
        between = (after >= 0) & (place[after] < complete)
        # Without a row before it, an instant is a gap, whatever row is after it.
        known_now = (order < complete) & (between | (before < 0))
        certain: Mask = alone & (known_now | (complete == EVER))
        return certain


def _distinct(known: RightRows, asking: Pool, chosen: Ints) -> Ints:
    """Return one of the chosen instants for each key and order."""
    key = known.keyed.numbers[1][chosen]
    groups = key_and_pane(key, len(known.keyed), asking.order[chosen])
    return chosen[groups.member]
