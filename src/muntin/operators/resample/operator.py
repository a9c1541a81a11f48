"""Values at instants: on a grid between the rows of each key, or at the rows of another stream.

An instant is reported when both rows around it are final. On a grid, all that is remembered of a
key is its last final row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints, Mask
from muntin.kernels.grouping import key_and_pane
from muntin.kernels.ticks import from_order, order_of_ticks, ticks_of_order
from muntin.operators.common.arrow_columns import ints, key_fields
from muntin.operators.common.completeness import Front
from muntin.operators.common.keys import KeyedTables
from muntin.operators.fill.held_rows import reached
from muntin.operators.join.asof import AsofJoinOperator, RightRows
from muntin.operators.join.held_rows import GONE, HeldSide, Pool
from muntin.operators.join.right_rows import PassedRows, SortedRightRows
from muntin.operators.join.side import SideRows
from muntin.operators.protocol import Changes, InputBatch, OneInput, Open, Routed, State, Step
from muntin.operators.resample.neighbours import Neighbours
from muntin.specs.resample import Grid


@dataclass(frozen=True)
class _Laid:
    """Where instants lie, as orders, and the rows around them by their places in a succession."""

    key: Ints
    order: Ints
    before: Ints
    behind: Ints


@dataclass(frozen=True)
class Regular(OneInput):
    """Rows to instants on a ``grid``; without one, to the different places that rows have.

    Results have the keys ``k0..`` and, with ``values``, the instant ``at``, values ``r0..`` and
    ``gap``; else ``frame_start`` and ``frame_end``, which are both the instant.
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
        (only,) = inputs
        new, counts = self.side.in_time(only)
        front = Front(self.side.axis, only.punctuation)
        kept = HeldSide.of(state, "rows:", self.side.schema, remembers=False)
        _, high = front.lifted()
        pool = kept.pool(new, kept.held.chosen(kept.held.bounds[0] < high.max()))
        keys = pool.rows.select(self.side.key_names)
        final = pool.order < front.after(keys)
        # A chunk may still hold rows that were final before.
        known = _Final.of(self, state, pool, final & (pool.order >= front.before(keys)))
        changes = kept.change(pool, np.where(final, GONE, 0).astype(np.uint8))
        changes |= known.change(ended=front.ended, remembers=self.grid is not None)
        return Step(
            results=self._told(known, self._instants(known)),
            changes=changes,
            rows=(counts,),
            open=None if self.values is not None or front.ended else known.open(self),
        )

    def _instants(self, known: _Final) -> _Laid:
        rows = known.succession
        place = np.arange(len(rows.order))
        if self.grid is None:
            return _Laid(rows.key, rows.order, place, place)
        number = self.number(rows.order)
        first = np.append(True, rows.key[1:] != rows.key[:-1])[: len(place)]
        on_grid = order_of_ticks(self._tick(number), self.side.axis) == rows.order
        # The instants since the row before, up to a row; none before the first, but where it lies.
        since = np.where(first, number - 1, np.append(0, number[:-1])[: len(place)])
        count = np.where(first, on_grid & known.fresh, number - since)
        behind = np.repeat(place, count)
        ordinal = np.arange(len(behind)) - np.repeat(np.cumsum(count) - count, count)
        order = order_of_ticks(self._tick(since[behind] + 1 + ordinal), self.side.axis)
        before = np.where(order == rows.order[behind], behind, behind - 1)
        return _Laid(rows.key[behind], order, before, behind)

    def number(self, order: Ints) -> Ints:
        """The last instant at or before each order."""
        assert self.grid is not None
        ticks = ticks_of_order(order, self.side.axis)
        return (ticks - self.grid.origin) // self.grid.every

    def _tick(self, number: Ints) -> Ints:
        assert self.grid is not None
        return self.grid.origin + number * self.grid.every

    def following(self, order: Ints) -> Ints:
        """The first instant behind each order."""
        return order_of_ticks(self._tick(self.number(order) + 1), self.side.axis)

    def _told(self, known: _Final, instants: _Laid) -> pa.Table:
        columns = list(known.keyed.keys.take(pa.array(instants.key)).columns)
        at = from_order(instants.order, self.side.axis, self.bound_type)
        if self.values is None:
            columns += [at, at]
        else:
            place = known.succession.place
            around = place[instants.before], place[instants.behind]
            columns += [at, *self.values.made(known.rows, *around, instants.order)]
        return pa.Table.from_arrays(columns, schema=self.result_schema)


@dataclass(frozen=True)
class _Final:
    """The rows that became final, behind the last ones of their keys that were so before."""

    rows: pa.Table
    keyed: KeyedTables
    succession: SortedRightRows
    fresh: Mask
    passed: PassedRows
    buckets: dict[int, pa.Table]
    new: int

    @classmethod
    def of(cls, work: Regular, state: State, pool: Pool, final: Mask) -> _Final:
        names = work.side.key_names
        mine = pool.rows.filter(pa.array(final))
        passed = PassedRows.of(state, "passed:", names)
        # Who fills instants must know of every key where its next one lies.
        floor = EVER if work.values is None else NEVER
        buckets = passed.read([mine], floor) if work.grid is not None else {}
        rows = pa.concat_tables([mine, *buckets.values()]).combine_chunks()
        keyed = KeyedTables.of(names, [rows])
        order, ties = ints(rows["order"]), work.side.tie_names
        made = SortedRightRows.of(rows, keyed.numbers[0], order, len(keyed), ties)
        return cls(rows, keyed, made, made.place < mine.num_rows, passed, buckets, mine.num_rows)

    def change(self, *, ended: bool, remembers: bool) -> Changes:
        """Remember the last row of each key."""
        if ended or not remembers:
            return self.passed.forget()
        rows = self.succession
        last = rows.place[np.append(rows.key[1:] != rows.key[:-1], True)[: len(rows.key)]]
        return self.passed.change(self.buckets, self.rows.take(pa.array(last)), last >= self.new)

    def open(self, work: Regular) -> Open | None:
        """Of every key the first instant to come."""
        if work.grid is None:
            return None
        rows = self.succession
        last = np.append(rows.key[1:] != rows.key[:-1], True)[: len(rows.key)]
        return Open(
            self.keyed.keys.take(pa.array(rows.key[last])), work.following(rows.order[last])
        )


def value_fields(bound_type: pa.DataType, values: Neighbours) -> list[pa.Field]:
    """The columns of an instant: where it lies, its values, and whether it is a gap."""
    made = [pa.field(f"r{place}", type_) for place, type_ in enumerate(values.types)]
    return [pa.field("at", bound_type), *made, pa.field("gap", pa.bool_())]


@dataclass(frozen=True)
class Given(AsofJoinOperator):
    """Left rows are instants, of which one in each place is told; right rows have the values.

    Results have the keys ``k0..``, the instant ``at``, values ``r0..`` and ``gap``.
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
        """An instant waits for what is before and behind it, and for others in its place."""
        least, most = waiting.held.bounds
        low, high = fronts[0].lifted()
        some = low < high
        return super()._due(waiting, fronts) | reached(least, most, low[some], high[some] - 1)

    def _results(
        self, known: RightRows, asking: Pool, fronts: Sequence[Front]
    ) -> tuple[Mask, pa.Table]:
        certain = self._certain(known, asking, fronts)
        first = _first_in_place(known, asking, np.flatnonzero(certain))
        before, behind = known.around(self.look, asking.order)
        place = np.append(known.succession.place, -1)
        around = place[before[first]], place[behind[first]]
        order = asking.order[first]
        columns = list(asking.rows.select(self.key_names).take(pa.array(first)).columns)
        columns.append(from_order(order, self.look.axis, self.bound_type))
        columns += self.values.made(known.rows, *around, order)
        return certain, pa.Table.from_arrays(columns, schema=self.result_schema)

    def _certain(self, known: RightRows, asking: Pool, fronts: Sequence[Front]) -> Mask:
        """Nobody else comes to the instant's place, and its values are known."""
        order = asking.order
        alone = order < fronts[0].after(asking.rows.select(self.key_names))
        alone &= asking.mark != GONE
        if self.values.how != "linear":
            return alone & known.answer(self.look, asking, fronts[1])[1]
        complete = known.complete(fronts[1])
        before, behind = known.around(self.look, order)
        place = np.append(known.succession.order, 0)
        between = (behind >= 0) & (place[behind] < complete)
        # With nothing before it, whatever is behind makes no line.
        known_now = (order < complete) & (between | (before < 0))
        certain: Mask = alone & (known_now | (complete == EVER))
        return certain


def _first_in_place(known: RightRows, asking: Pool, chosen: Ints) -> Ints:
    """Of the chosen instants one for each key and order."""
    key = known.keyed.numbers[1][chosen]
    groups = key_and_pane(key, len(known.keyed), asking.order[chosen])
    return chosen[groups.member]
