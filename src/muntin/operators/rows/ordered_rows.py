"""Rows of a key in their order: held until punctuation has passed them, then ranked.

Subclasses compute results from the ranked rows: windows over cells
(:mod:`muntin.operators.rows.operator`), or synopses (:mod:`muntin.operators.rows.synopses`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.definition import AggregateCall, slot_types
from muntin.kernels.arrays import EVER, NEVER, Ints, Mask
from muntin.kernels.grouping import KeyedTables, by_key_order_and_ties, places
from muntin.kernels.numbers.order_keys import tie_ranks
from muntin.kernels.ticks import from_order, order_of_ticks
from muntin.operators.common.admission import Admission, is_late
from muntin.operators.common.buckets import PENDING, due, hold
from muntin.operators.protocol import (
    Changes,
    ChunkKey,
    InputBatch,
    OneInput,
    Open,
    Punctuation,
    Routed,
    RowCounts,
    State,
    Step,
    ints,
    key_fields,
)
from muntin.operators.rows.cut import Cut, Cutting, Progressed, Run
from muntin.specs.axis import Axis
from muntin.specs.row_windows import Order
from muntin.specs.windows import Unfinished

MEMORY = "memory"


@dataclass(frozen=True)
class OrderedRowsOperator(OneInput):
    """Base class of windows that a cut makes from the rows of each key.

    Rows have ``on``, the keys ``k0..``, the columns that the cut uses, ``t0..`` (which break ties)
    and the slots ``s0..``. Rows are ordered within the first ``ranked_keys`` keys; the other keys
    are groups inside a window. If ``by_rank``, the bounds of windows are ranks, and the first two
    calls are the ``on`` of the first and last row of a window. If ``tells_open``, a step returns
    where the next window of each key may begin.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    ranked_keys: int
    calls: tuple[AggregateCall, ...]
    cut: Cut
    bound_type: pa.DataType
    lateness_type: pa.DataType
    order: Order = "on"
    by_rank: bool = False
    unfinished: Unfinished = "keep"
    origin: int | None = None
    ties: tuple[pa.DataType, ...] = ()
    tells_open: bool = False

    def __getstate__(self) -> dict[str, object]:
        # Cached properties hold closures and are not pickled; the receiver computes them again.
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def slot_types(self) -> dict[int, pa.DataType]:
        """The types of the slots that calls use."""
        return slot_types(self.calls)

    @cached_property
    def result_types(self) -> list[pa.DataType]:
        """The types of the calls' results."""
        raise NotImplementedError

    @cached_property
    def key_fields(self) -> list[pa.Field]:
        return key_fields(self.keys)

    @cached_property
    def key_names(self) -> list[str]:
        return [field.name for field in self.key_fields]

    @cached_property
    def admission(self) -> Admission:
        return Admission(self.axis, self.lateness_type, self.origin)

    @cached_property
    def by_names(self) -> list[str]:
        """The keys within which rows are ordered."""
        return self.key_names[: self.ranked_keys]

    @cached_property
    def row_schema(self) -> pa.Schema:
        """The columns of a row as it is sent."""
        whole = pa.int64()
        columns = [*self.key_fields, *(pa.field(name, whole) for name in ("tick", "order"))]
        columns += [pa.field(f"m{place}", whole) for place in range(self.cut.marks)]
        columns += [pa.field(f"t{place}", type_) for place, type_ in enumerate(self.ties)]
        columns += [pa.field(f"s{place}", type_) for place, type_ in self.slot_types.items()]
        return pa.schema(columns)

    @cached_property
    def memory_schema(self) -> pa.Schema:
        by = self.key_fields[: self.ranked_keys]
        return pa.schema([*by, *(pa.field(name, pa.int64()) for name in self.memory_names)])

    @cached_property
    def memory_names(self) -> tuple[str, ...]:
        """The columns of the memory of a key, besides the key itself.

        ``n`` is its count of rows so far and ``needed`` the first cell it needs. The others belong
        to the cut.
        """
        return ("n", "needed", *self.cut.memory)

    @cached_property
    def result_schema(self) -> pa.Schema:
        types = [*self.result_types]
        columns = [*self.key_fields]
        bound_type = pa.int64() if self.by_rank else self.bound_type
        columns += [pa.field(name, bound_type) for name in ("window_start", "window_end")]
        if self.by_rank:
            columns += [pa.field("on_start", types.pop(0)), pa.field("on_end", types.pop(0))]
        if self.unfinished == "flag":
            columns.append(pa.field("complete", pa.bool_()))
        return pa.schema([*columns, *(pa.field(f"r{p}", type_) for p, type_ in enumerate(types))])

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.by_names,)

    @property
    def may_refuse(self) -> bool:
        return self.cut.may_refuse

    def route(self, rows: pa.Table) -> Routed:
        """Map side: find the place of each row on the axis; rows cannot be combined yet."""
        rows, reasons = self.cut.mark(rows)
        admitted = self.admission.admit(rows, reasons)
        partial = admitted.partial(self.row_schema, {}, with_originals=self.may_refuse)
        return admitted.routed(partial, admitted.originals(self.key_names))

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """Concatenate tables; the order of the tables is the order of arrival."""
        if not partials:
            return self.row_schema.empty_table()
        return pa.concat_tables(partials, promote_options="default")

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (only,) = inputs
        punctuation, arrived = only.punctuation, self.merge(only.partials)
        late = self._late(arrived, punctuation)
        arrived = arrived.filter(pa.array(~late)) if late.any() else arrived
        pool, read = self._pool(state, arrived, punctuation)
        remembered = self.read(state, MEMORY, self.memory_schema)
        held = self.kept(state)
        beside = self.kept_beside(state)
        keyed = KeyedTables.of(self.by_names, [remembered, pool, held, *beside])
        run, final, waiting, keys = self._final(
            keyed, remembered, pool, arrived.num_rows, punctuation
        )
        run, final, fallen = self._refuse(run, final, keys)
        results, kept, cutting, between = self._report(state, keyed, held, run, final, keys)
        changes = hold(state, waiting, read) | kept
        changes |= self._memorize(keyed, remembered, keys, cutting)
        counts = RowCounts(
            used=arrived.num_rows - (0 if fallen is None else fallen.num_rows),
            late=int(late.sum()),
            between=between,
            late_rows=self._late_rows(only.rows, punctuation) if only.rows else None,
            fallen=fallen,
        )
        opened = self._open(keyed, cutting) if self.tells_open else None
        return Step(results, changes, (counts,), open=opened, open_counts=self.open_counts(changes))

    def _open(self, keyed: KeyedTables, cutting: Cutting) -> Open | None:
        """Return where the next window of each key may begin, if the cut says so."""
        if cutting.since is None:
            return None
        known = cutting.since != EVER
        return Open(keyed.keys.filter(pa.array(known)), cutting.since[known])

    def open_counts(self, changes: Changes) -> Mapping[ChunkKey, int]:
        """Return how much is open in each changed chunk."""
        return {}

    def kept(self, state: State) -> pa.Table:
        """Return the stored results of final rows, with their keys."""
        raise NotImplementedError

    def kept_beside(self, state: State) -> Sequence[pa.Table]:
        """Return further tables of the state whose keys are numbered with the others."""
        return ()

    def _report(
        self,
        state: State,
        keyed: KeyedTables,
        held: pa.Table,
        run: Run,
        final: pa.Table,
        keys: Progressed,
    ) -> tuple[pa.Table, Changes, Cutting, int]:
        """Return the new windows, changes of the state, the cutting, and the rows in no window."""
        raise NotImplementedError

    @property
    def _at_once(self) -> bool:
        """True if rows are ranked by arrival: they are final on arrival, and never late."""
        return self.by_rank and self.order == "arrival"

    def _late(self, table: pa.Table, punctuation: Punctuation) -> Mask:
        if self._at_once and not punctuation.over:
            return np.zeros(table.num_rows, np.bool_)
        return is_late(table, self.by_names, punctuation)

    def _late_rows(self, rows: Sequence[pa.Table], punctuation: Punctuation) -> pa.Table:
        table = pa.concat_tables(rows)
        before, _ = punctuation.of(table.select(self.by_names))
        return self.admission.late_rows(table, self._late(table, punctuation), before)

    def _pool(
        self, state: State, arrived: pa.Table, punctuation: Punctuation
    ) -> tuple[pa.Table, Sequence[int]]:
        """Return new rows and waiting rows that may be final, and the chunks that were read."""
        chunks = due(state, EVER if punctuation.ended else punctuation.latest)
        arrived = arrived.append_column("rank", pa.array(np.zeros(arrived.num_rows, np.int64)))
        held = [state.read(PENDING, chunk) for chunk in chunks]
        return pa.concat_tables([arrived, *held], promote_options="default"), chunks

    @staticmethod
    def read(state: State, table: str, schema: pa.Schema) -> pa.Table:
        """Return all chunks of a table, with the chunk number of each row."""
        chunks = [schema.empty_table().append_column("chunk", pa.array([], pa.int64()))]
        for bucket in sorted(state.buckets(table)):
            rows = state.read(table, bucket)
            number = pa.array(np.full(rows.num_rows, bucket, np.int64))
            chunks.append(rows.append_column("chunk", number))
        return pa.concat_tables(chunks)

    def _final(
        self,
        keyed: KeyedTables,
        remembered: pa.Table,
        pool: pa.Table,
        arrived: int,
        punctuation: Punctuation,
    ) -> tuple[Run, pa.Table, pa.Table, Progressed]:
        """Split rows into those whose order is final and those that wait.

        Return the final rows as a run and as a table in that order, the waiting rows, and the
        progress of each key.
        """
        memory = {
            name: keyed.spread(0, remembered[name], 0 if name == "n" else NEVER)
            for name in self.memory_names
        }
        key, rank = keyed.numbers[1], ints(pool["rank"]).copy()
        counted = memory["n"].copy()
        if self.order == "arrival":
            by_key = np.argsort(key[:arrived], kind="stable")
            rank[by_key] = counted[key[by_key]] + places(key[by_key])
            np.add.at(counted, key[:arrived], 1)
        _, complete = punctuation.of(keyed.keys)
        # No row lies below the limit, and subtracting a length from it does not leave 64 bits.
        complete = np.where(complete == NEVER, NEVER, np.maximum(complete, -self.axis.limit))
        if punctuation.ended or self._at_once:
            final = np.ones(len(key), np.bool_)
        else:
            final = ints(pool["tick"]) < complete[key]
        pool = pool.set_column(pool.schema.get_field_index("rank"), "rank", pa.array(rank))
        waiting = pool.slice(0, 0) if final.all() else pool.filter(pa.array(~final))
        row = self._sorted(pool, key, len(keyed), np.flatnonzero(final))
        pool, key, rank = pool.take(pa.array(row)), key[row], rank[row]
        if self.order == "on":
            rank = counted[key] + places(key)
            np.add.at(counted, key, 1)
        marks = tuple(ints(pool[f"m{place}"]) for place in range(self.cut.marks))
        largest = NEVER if punctuation.largest is None else punctuation.largest
        order_of_largest = int(order_of_ticks(np.array([largest]), self.axis)[0])
        keys = Progressed(counted, memory, complete, punctuation.ended, order_of_largest, largest)
        order, tick = ints(pool["order"]), ints(pool["tick"])
        return Run(key, order, rank, tick, marks), pool, waiting, keys

    def _sorted(self, pool: pa.Table, key: Ints, keys: int, row: Ints) -> Ints:
        """Return some rows sorted by key, ``on`` and ties; or by key and arrival."""

        def ranks(tied: Ints) -> list[Ints]:
            rows = pa.array(row[tied])
            names = [f"t{place}" for place in range(len(self.ties))]
            return [tie_ranks(pool[name].take(rows).combine_chunks()) for name in names]

        if self._at_once:
            place = np.argsort(key[row], kind="stable")
        else:
            order = ints(pool["order"])[row]
            place = by_key_order_and_ties(key[row], order, keys, ranks)
        sorted_rows: Ints = row[place]
        return sorted_rows

    def _refuse(
        self, run: Run, final: pa.Table, keys: Progressed
    ) -> tuple[Run, pa.Table, pa.Table | None]:
        """Remove rows that break the order which the cut relies on; return them as refused rows."""
        refused = self.cut.refuse(run, keys)
        if refused is None or not refused.any():
            return run, final, None
        reasons = np.full(int(refused.sum()), "slide_on_fell", object)
        fallen = self.admission.without_place(final.filter(pa.array(refused)), reasons)
        kept = np.flatnonzero(~refused)
        marks = tuple(mark[kept] for mark in run.marks)
        run = Run(run.key[kept], run.order[kept], run.rank[kept], run.tick[kept], marks)
        return run, final.take(pa.array(kept)), fallen

    def _memorize(
        self, keyed: KeyedTables, remembered: pa.Table, keys: Progressed, cutting: Cutting
    ) -> Changes:
        if keys.ended:
            return {(MEMORY, 0): None}
        if not self.cut.remembers:
            return {}
        memory = {"n": keys.counted, "needed": cutting.needed, **cutting.memory}
        table = keyed.keys
        for name in self.memory_names:
            table = table.append_column(name, pa.array(memory[name]))
        kept = keys.counted > 0
        if cutting.done is not None:
            kept &= ~cutting.done
        table = table.filter(pa.array(kept))
        if table.equals(remembered.drop_columns(["chunk"])):
            return {}
        return {(MEMORY, 0): table if table.num_rows else None}

    def bound(self, bound: Ints) -> pa.Array:
        if self.by_rank:
            return pa.array(bound)
        known = bound != EVER
        values = from_order(np.where(known, bound, 0), self.axis, self.bound_type)
        return values if known.all() else pc.if_else(pa.array(known), values, None)
