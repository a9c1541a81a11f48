"""Rows of a key in their order: held until punctuation has passed them, then ranked.

What is made of them then is for the operators that build on this: windows over cells
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
from muntin.kernels.numbers.order_keys import tie_ranks
from muntin.kernels.ticks import from_order, order_of_ticks
from muntin.operators.common.admission import Admission, behind
from muntin.operators.common.arrow_columns import ints, key_fields
from muntin.operators.common.buckets import PENDING, due, hold
from muntin.operators.common.keys import KeyedTables, places
from muntin.operators.protocol import (
    Changes,
    ChunkKey,
    InputBatch,
    OneInput,
    Punctuation,
    Routed,
    RowCounts,
    State,
    Step,
)
from muntin.operators.rows.cut import Cut, Cutting, Progressed, Run
from muntin.specs.axis import Axis
from muntin.specs.row_windows import Order
from muntin.specs.windows import Unfinished

MEMORY = "memory"


@dataclass(frozen=True)
class Sequenced(OneInput):
    """Windows that a cut makes of the rows of each key, whatever is computed in them.

    Rows come with ``on``, the keys ``k0..``, what the cut looks at, ``t0..`` (what breaks ties)
    and the slots ``s0..``. The first ``ranked_keys`` keys say which rows are in one
    order; the others are groups inside a window. Where ``by_rank`` the bounds of windows are
    ranks, and the first two calls are the ``on`` of a window's first and last row.
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

    def __getstate__(self) -> dict[str, object]:
        # Cached properties hold closures and are not pickled; the receiver computes them again.
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def slot_types(self) -> dict[int, pa.DataType]:
        """The types of the slots that calls look at."""
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
        """The keys within which rows have an order."""
        return self.key_names[: self.ranked_keys]

    @cached_property
    def row_schema(self) -> pa.Schema:
        """The columns of a row on its way."""
        whole = pa.int64()
        made = [*self.key_fields, *(pa.field(name, whole) for name in ("tick", "order"))]
        made += [pa.field(f"m{place}", whole) for place in range(self.cut.marks)]
        made += [pa.field(f"t{place}", type_) for place, type_ in enumerate(self.ties)]
        made += [pa.field(f"s{place}", type_) for place, type_ in self.slot_types.items()]
        return pa.schema(made)

    @cached_property
    def memory_schema(self) -> pa.Schema:
        by = self.key_fields[: self.ranked_keys]
        return pa.schema([*by, *(pa.field(name, pa.int64()) for name in self.memory_names)])

    @cached_property
    def memory_names(self) -> tuple[str, ...]:
        """What is remembered of a key: its rows so far, which cells it needs, and the cut's own."""
        return ("n", "needed", *self.cut.memory)

    @cached_property
    def result_schema(self) -> pa.Schema:
        types = [*self.result_types]
        made = [*self.key_fields]
        bound_type = pa.int64() if self.by_rank else self.bound_type
        made += [pa.field(name, bound_type) for name in ("window_start", "window_end")]
        if self.by_rank:
            made += [pa.field("on_start", types.pop(0)), pa.field("on_end", types.pop(0))]
        if self.unfinished == "flag":
            made.append(pa.field("complete", pa.bool_()))
        return pa.schema([*made, *(pa.field(f"r{p}", type_) for p, type_ in enumerate(types))])

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.by_names,)

    @property
    def may_refuse(self) -> bool:
        return self.cut.may_refuse

    def route(self, rows: pa.Table) -> Routed:
        """Map side: rows with their place on the axis; they cannot be combined yet."""
        rows, reasons = self.cut.mark(rows)
        admitted = self.admission.admit(rows, reasons)
        partial = admitted.partial(self.row_schema, {}, with_originals=self.may_refuse)
        return admitted.routed(partial, admitted.originals(self.key_names))

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        """The rows of several tables, in the order of the tables: that is their arrival."""
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
        held = self._kept(state)
        keyed = KeyedTables.of(self.by_names, [remembered, pool, held])
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
        return Step(results, changes, (counts,), open_counts=self.open_counts(changes))

    def open_counts(self, changes: Changes) -> Mapping[ChunkKey, int]:
        """Count what is open in the chunks that changed."""
        return {}

    def _kept(self, state: State) -> pa.Table:
        """What is kept of rows that are final, with the keys."""
        raise NotImplementedError

    def _report(
        self,
        state: State,
        keyed: KeyedTables,
        held: pa.Table,
        run: Run,
        final: pa.Table,
        keys: Progressed,
    ) -> tuple[pa.Table, Changes, Cutting, int]:
        """The windows that are known now, what is kept from now on, and rows in no window."""
        raise NotImplementedError

    @property
    def _at_once(self) -> bool:
        """Rows ranked by arrival are final when they arrive, and never late."""
        return self.by_rank and self.order == "arrival"

    def _late(self, table: pa.Table, punctuation: Punctuation) -> Mask:
        if self._at_once and not punctuation.over:
            return np.zeros(table.num_rows, np.bool_)
        return behind(table, self.by_names, punctuation)

    def _late_rows(self, rows: Sequence[pa.Table], punctuation: Punctuation) -> pa.Table:
        table = pa.concat_tables(rows)
        before, _ = punctuation.of(table.select(self.by_names))
        return self.admission.late_rows(table, self._late(table, punctuation), before)

    def _pool(
        self, state: State, arrived: pa.Table, punctuation: Punctuation
    ) -> tuple[pa.Table, Sequence[int]]:
        """What arrived, then what waits in chunks with a row that may be final now."""
        chunks = due(state, EVER if punctuation.ended else punctuation.latest)
        arrived = arrived.append_column("rank", pa.array(np.zeros(arrived.num_rows, np.int64)))
        held = [state.read(PENDING, chunk) for chunk in chunks]
        return pa.concat_tables([arrived, *held], promote_options="default"), chunks

    @staticmethod
    def read(state: State, table: str, schema: pa.Schema) -> pa.Table:
        """All chunks of a table, with the chunk of each row."""
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
        """The rows whose order is final, in that order; the others, which wait."""
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
        # No row is so far down; from there on lengths can be taken away without leaving 64 bits.
        complete = np.where(complete == NEVER, NEVER, np.maximum(complete, -self.axis.limit))
        if punctuation.ended or self._at_once:
            final = np.ones(len(key), np.bool_)
        else:
            final = ints(pool["tick"]) < complete[key]
        pool = pool.set_column(pool.schema.get_field_index("rank"), "rank", pa.array(rank))
        waiting = pool.filter(pa.array(~final))
        row = np.flatnonzero(final)[self._sorted(pool.filter(pa.array(final)), key[final])]
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

    def _sorted(self, rows: pa.Table, key: Ints) -> Ints:
        """Key by key, by ``on`` and what breaks ties; or by arrival."""
        if self._at_once:
            return np.argsort(key, kind="stable").astype(np.int64)
        ties = [tie_ranks(rows[f"t{p}"].combine_chunks()) for p in range(len(self.ties))]
        return np.lexsort((*reversed(ties), ints(rows["order"]), key)).astype(np.int64)

    def _refuse(
        self, run: Run, final: pa.Table, keys: Progressed
    ) -> tuple[Run, pa.Table, pa.Table | None]:
        """Rows that break the order a cut relies on come out again, as refused rows."""
        refused = self.cut.refuse(run, keys)
        if refused is None or not refused.any():
            return run, final, None
        why = np.full(int(refused.sum()), "slide_on_fell", object)
        fallen = self.admission.without_place(final.filter(pa.array(refused)), why)
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
