"""The as-of join: a left row is reported once, when no later row can change its partner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, Ints, Mask
from muntin.kernels.grouping import KeyedTables
from muntin.operators.common.completeness import Front, careful
from muntin.operators.fill.held_rows import INDEX, ROWS, reached
from muntin.operators.join.held_rows import GONE, HeldSide, Pool
from muntin.operators.join.reach import AsofReach
from muntin.operators.join.right_rows import PassedRows, SortedRightRows
from muntin.operators.join.side import SideRows, TwoSides
from muntin.operators.protocol import Changes, InputBatch, State, Step, forget, ints, key_fields


@dataclass(frozen=True)
class AsofJoinOperator(TwoSides):
    """Joins each left row with the nearest right row of its key within ``look``, or with nulls.

    The columns ``t0..`` order right rows with equal ``on``. Results have the keys ``k0..`` and the
    columns ``left0..`` and ``right0..``.
    """

    look: AsofReach
    sides: tuple[SideRows, SideRows]

    def __getstate__(self) -> dict[str, object]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def patient(self) -> bool:
        """True if left rows also wait until their own side is complete."""
        return False

    @cached_property
    def result_schema(self) -> pa.Schema:
        left, right = self.sides
        return pa.schema(
            [*key_fields(left.keys), *left.result_fields("left"), *right.result_fields("right")]
        )

    @property
    def key_names(self) -> list[str]:
        return self.sides[0].key_names

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (left, left_counts), (right, right_counts) = (
            side.in_time(batch) for side, batch in zip(self.sides, inputs, strict=True)
        )
        fronts = [Front(self.look.axis, batch.punctuation) for batch in inputs]
        waiting = HeldSide.of(state, "side0:", self.sides[0].schema, remembers=True)
        asking = waiting.pool(left, waiting.held.chosen(self._due(waiting, fronts)))
        known = RightRows.of(self, state, asking, right, fronts)
        certain, results = self._results(known, asking, fronts)
        changes = waiting.change(asking, np.where(certain, GONE, asking.mark))
        index = changes.get(("side0:" + INDEX, 0), waiting.held.index)
        if fronts[0].ended and (index is None or not index.num_rows):
            changes |= known.forget()
        else:
            changes |= known.change(self.look, fronts)
        return Step(results, changes, (left_counts, right_counts))

    def _results(
        self, known: RightRows, asking: Pool, fronts: Sequence[Front]
    ) -> tuple[Mask, pa.Table]:
        """Return the mask of left rows whose partner is certain, and their results."""
        partner, certain = known.answer(self.look, asking, fronts[1])
        certain &= asking.mark != GONE
        left = np.flatnonzero(certain)
        partner = partner if len(left) == len(partner) else partner[left]
        return certain, self._result_table(asking, known.rows, left, partner)

    def _due(self, waiting: HeldSide, fronts: Sequence[Front]) -> Mask:
        """Return the mask of chunks in which a left row may have become certain."""
        least, most = waiting.held.bounds
        low, high = fronts[1].lifted()
        moved = low < high
        if not self.look.forward:
            bounds = careful(self.look.last, least), careful(self.look.last, most)
            return reached(*bounds, low[moved], high[moved] - 1)
        # The next right row may have arrived long after the left row.
        due: Mask = np.full(len(least), moved.any()) & (least <= high.max())
        return due

    def _result_table(self, asking: Pool, rows: pa.Table, left: Ints, right: Ints) -> pa.Table:
        """Return the results of left rows with their partners; -1 is no partner."""
        left_side, right_side = self.sides
        left_columns = asking.rows.select([*left_side.key_names, *left_side.column_names])
        if len(left) < left_columns.num_rows:
            left_columns = left_columns.take(pa.array(left))
        partner = pa.array(right, pa.int64(), mask=right < 0)
        columns = [
            *left_columns.columns,
            *rows.select(right_side.column_names).take(partner).columns,
        ]
        return pa.Table.from_arrays(columns, schema=self.result_schema)


@dataclass(frozen=True)
class RightRows:
    """The right rows of a step: new rows, rows of chunks, and the last passed row of each key."""

    store: HeldSide
    pool: Pool
    passed: PassedRows
    buckets: dict[int, pa.Table]
    rows: pa.Table
    keyed: KeyedTables
    succession: SortedRightRows

    @classmethod
    def of(
        cls,
        work: AsofJoinOperator,
        state: State,
        asking: Pool,
        new: pa.Table,
        fronts: Sequence[Front],
    ) -> RightRows:
        names, side, look = work.key_names, work.sides[1], work.look
        store = HeldSide.of(state, "side1:", side.schema, remembers=False)
        pool = store.pool(new, store.held.chosen(_wanted(work, store, asking, fronts)))
        passed = PassedRows.of(state, "passed:", names)
        buckets: dict[int, pa.Table] = {}
        if look.backward and passed.some:
            keys = pool.rows.select(names)
            passing = pool.order <= look.cut(*(front.after(keys) for front in fronts))
            floor = look.floor(*_listed(fronts, names)[1])
            buckets = passed.read([asking.rows, pool.rows.filter(pa.array(passing))], floor.max())
        rows = pa.concat_tables([pool.rows, *buckets.values()]).combine_chunks()
        keyed = KeyedTables.of(names, [rows, asking.rows])
        order = ints(rows["order"])
        sorted_rows = SortedRightRows.of(rows, keyed.numbers[0], order, len(keyed), side.tie_names)
        return cls(store, pool, passed, buckets, rows, keyed, sorted_rows)

    def around(self, look: AsofReach, order: Ints) -> tuple[Ints, Ints]:
        """Return for each left row the right rows before and after it; -1 if there is none."""
        key, rows = self.keyed.numbers[1], self.succession
        none = np.full(len(order), -1)
        before = rows.last(key, look.low(order), look.last(order)) if look.backward else none
        after = rows.first(key, look.following(order), look.high(order)) if look.forward else none
        return before, after

    def complete(self, right: Front) -> Ints:
        """Return for each left row the order up to which the right side is complete."""
        return right.after(self.keyed.keys)[self.keyed.numbers[1]]

    def answer(self, look: AsofReach, asking: Pool, right: Front) -> tuple[Ints, Mask]:
        """Return for each left row its partner (-1 if none), and whether that is certain."""
        order, rows = asking.order, self.succession
        complete = self.complete(right)
        if not look.forward:
            before = rows.last(self.keyed.numbers[1], look.low(order), look.last(order))
            return np.append(rows.place, -1)[before], look.last(order) < complete
        before, after = self.around(look, order)
        place = np.append(rows.order, 0)  # index -1 finds this 0, which is not used
        back = look.distance(place[before], order)
        ahead = look.distance(order, place[after])
        closer = (before >= 0) & ((after < 0) | (back <= ahead))
        partner = np.append(rows.place, -1)[np.where(closer, before, after)]
        certain = look.last(order) < complete if look.backward else np.ones(len(order), np.bool_)
        known = (after >= 0) & (place[after] < complete)
        known |= look.high(order) < complete
        # Certain too if no later right row can be nearer than the one before.
        fixed = (complete > look.last(order)) & (complete < EVER)
        to_come = np.maximum(complete, look.following(order))
        far = look.distance(order, np.where(fixed, to_come, order))
        known |= (before >= 0) & fixed & (far >= back)
        certain &= known | (complete == EVER)
        return partner, certain

    def change(self, look: AsofReach, fronts: Sequence[Front]) -> Changes:
        """Return the changes that hold the rows which may still be partners."""
        left, right = (front.after(self.keyed.keys) for front in fronts)
        cut, floor = look.cut(left, right), look.floor(left, right)
        rows = self.succession
        size = len(self.pool.order)
        stays = np.zeros(self.rows.num_rows, np.bool_)
        stays[rows.place] = (rows.order > cut[rows.key]) & (rows.order >= floor[rows.key])
        changes = self.store.change(self.pool, np.where(stays[:size], 0, GONE).astype(np.uint8))
        if look.backward:
            last = rows.latest(cut, look.keeps) & (rows.order >= floor[rows.key])
            place = rows.place[last]
            kept = self.rows.take(pa.array(place))
            changes |= self.passed.change(self.buckets, kept, place >= size)
        return changes

    def forget(self) -> Changes:
        """Return the changes that drop all right rows, because no left row will ask for one."""
        return self.store.scope.named(forget(self.store.scope, ROWS, INDEX)) | self.passed.forget()


def _listed(fronts: Sequence[Front], names: Sequence[str]) -> tuple[list[Ints], list[Ints]]:
    """Return up to where both inputs are complete before a step, and after it.

    The first entry is for keys without their own punctuation, the others for keys that have one.
    """
    ahead = [f.punctuation.by_key for f in fronts if f.punctuation.by_key is not None]
    keys = KeyedTables.of(names, [table.select(names) for table in ahead]).keys if ahead else None
    lifted = [front.lifted(keys) for front in fronts]
    return [low for low, _ in lifted], [high for _, high in lifted]


def _wanted(work: AsofJoinOperator, store: HeldSide, asking: Pool, fronts: Sequence[Front]) -> Mask:
    """Return the mask of chunks with right rows that left rows need or that may be dropped."""
    look, names = work.look, work.key_names
    least, most = store.held.bounds
    if not len(least):
        return np.zeros(0, np.bool_)
    before, after = _listed(fronts, names)
    keys, order = asking.rows.select(names), asking.order
    complete = fronts[1].after(keys)
    wanted = np.zeros(len(least), np.bool_)
    if look.backward:
        low, high = look.cut(*before), look.cut(*after)
        moved = low < high
        wanted |= reached(least, most, low[moved], high[moved])
        since = look.cut(*(front.before(keys) for front in fronts))
        asks = (look.last(order) < complete) & (asking.mark != GONE)
        low, high = np.maximum(look.low(order), since), look.last(order)
        wanted |= reached(least, most, low[asks], high[asks])
    else:
        low, high = look.floor(*before), look.floor(*after)
        moved = low < high
        wanted |= reached(least, most, low[moved], high[moved] - 1)
    if look.forward:
        # Held left rows had no right row after them in the part that was complete before.
        low, held = look.following(order), np.arange(len(order)) >= asking.new
        if work.patient:
            held &= order < fronts[0].before(keys)
        low = np.where(held, np.maximum(low, fronts[1].before(keys)), low)
        high = np.minimum(look.high(order), careful(lambda end: end - 1, complete))
        wanted |= reached(least, most, low, high)
    return wanted
