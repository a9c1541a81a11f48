"""Frames of each key, found as punctuation passes its rows [Frames 4.4 and appendix F].

Rows are held until they are final. Then the framing function is applied to them in order. Only the
record that it remembers about a key, and one row of accumulators for an open frame, are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.kernels.arrays import EVER, Ints
from muntin.kernels.frames.records import FOUND, INTERVAL, NEVER, POINT, is_open
from muntin.kernels.frames.walk import walk
from muntin.kernels.grouping import KeyedTables, find_keys
from muntin.kernels.numbers.order_keys import tie_ranks
from muntin.kernels.ticks import from_order, to_ticks
from muntin.operators.common.admission import Admission, is_late
from muntin.operators.common.buckets import BUCKETS, PENDING, due, hold
from muntin.operators.frames.arrow_kind import ArrowKind, Fields, kernel_record
from muntin.operators.frames.frame_aggregates import OPEN_CELLS, FrameAggregates, JoinedCells
from muntin.operators.frames.key_memory import KEYS, Certainty, KeyBuckets, KeyMemory, StepContext
from muntin.operators.frames.longest import LONGEST, LongestSoFar, longest, with_held_bounds
from muntin.operators.frames.ordered_rows import Bridge, CombinedTies, Missing, OrderedRows, Ties
from muntin.operators.frames.sequencer import KnownUpTo, OrderedBatch, Sequencer, Slots
from muntin.operators.protocol import (
    Changes,
    ChunkKey,
    InputBatch,
    MemoryState,
    OneInput,
    Open,
    Punctuation,
    Routed,
    RowCounts,
    State,
    Step,
    forget,
    ints,
    key_fields,
)
from muntin.specs.axis import Axis

#: As texts, because the first array of Arrow made of a list imports pandas.
_STATUS = ("final", "partial")


@dataclass(frozen=True)
class FrameOperator(OneInput):
    """Frames that do not overlap.

    Rows come with ``on``, the keys ``k0..``, the columns of the kind (:class:`ArrowKind`), ``t0..``
    (they order rows that tie), ``m0..`` (a condition on missing rows reads them) and the slots
    ``s0..``. Results have the keys, the columns of a frame and ``r0..``, one for each call.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    calls: tuple[AggregateCall, ...]
    bound_type: pa.DataType
    lateness_type: pa.DataType
    kind: ArrowKind
    record_fields: Fields
    missing: Missing = "break"
    ties: Ties = field(default_factory=Ties)
    slots: Slots | None = None
    longest: bool = False
    combined: CombinedTies | None = None
    buckets: int = BUCKETS

    def __getstate__(self) -> dict[str, object]:
        # Derived attributes hold closures, so they are not pickled but derived again.
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def key_names(self) -> list[str]:
        return [field.name for field in key_fields(self.keys)]

    @cached_property
    def record(self) -> np.ndarray:
        """The framing as a record of the kernels."""
        record = kernel_record(self.record_fields)
        record["slotted"] = self.slots is not None
        return record

    @cached_property
    def admission(self) -> Admission:
        return Admission(self.axis, self.lateness_type)

    @cached_property
    def contents(self) -> FrameAggregates:
        return FrameAggregates(self.axis, self.keys, self.calls, self.lateness_type)

    @cached_property
    def sequencer(self) -> Sequencer:
        interval = int(self.record["reading"][0]) == INTERVAL
        rules = self.ties, self.missing, self.slots, interval
        return Sequencer(
            self.axis, self.bound_type, *rules, self.kind, self.combined, self._lead, self._unread
        )

    @property
    def _unread(self) -> tuple[str, ...]:
        """The columns that nothing reads of rows that are in order: aggregates read keys."""
        if type(self) is not FrameOperator or self.calls or self.combined is not None:
            return ()
        return (*self.key_names, *(() if self.slots is not None else ("tick",)))

    @property
    def _lead(self) -> int:
        """The number of successive empty slots that are framed one by one.

        If frames are cut, it is at most the number that may still fit. If frames are minimal, it
        is the number after which they meet their minima. If frames are reported in fragments, it
        is all of them. Carried slots count only when a real row follows them.
        """
        record = self.record[0]
        if self.slots is None or self.missing in ("break", "carry"):
            return 1
        if record["fragments"] >= 0:
            return EVER
        if record["minimal"]:
            # One more each, because a row that holds until the next one needs the next slot.
            lasting = int(record["min_duration"])
            slots_lasted = 0 if lasting < 0 else lasting // self.slots.period + 3
            return max(1, int(record["min_count"]) + 1, slots_lasted)
        fitting = [int(record["max_count"]), int(record["max_duration"]) // self.slots.period + 2]
        limited = int(record["max_count"]) >= 0, int(record["max_duration"]) >= 0
        most = [
            n
            for n, is_limited in zip(fitting, limited, strict=True)
            if is_limited and record["cut"]
        ]
        return max(1, min(most, default=1))

    @cached_property
    def certainty(self) -> Certainty:
        return Certainty(self.axis, self.record, self.missing, self._reports_between_rows)

    @cached_property
    def memory(self) -> KeyMemory:
        also = []
        if self.slots is not None:
            also.append(pa.field("slot", pa.int64()))
        if self.kind.by_code:
            also.append(pa.field("code", self.kind.type_of("code")))
        if isinstance(self.missing, Bridge):
            also += [
                pa.field(n, t) for n, t in zip(self.missing.names, self.missing.types, strict=True)
            ]
        return KeyMemory(tuple(key_fields(self.keys)), tuple(also))

    @cached_property
    def row_schema(self) -> pa.Schema:
        """The columns that travel; if rows that tie become one, the columns that are combined."""
        if self.combined is None:
            return self.framed_schema
        place = [f for f in self.framed_schema if f.name in (*self.key_names, "tick", "order")]
        return pa.schema([*place, *self.combined.fields])

    @cached_property
    def framed_schema(self) -> pa.Schema:
        """The columns of a row when it is framed."""
        columns = [*key_fields(self.keys), *(pa.field(n, pa.int64()) for n in ("tick", "order"))]
        for name in self.kind.names:
            columns.append(pa.field(name, self.kind.type_of(name)))
        columns += [pa.field(n, t) for n, t in zip(self.ties.names, self.ties.types, strict=True)]
        if isinstance(self.missing, Bridge):
            columns += [
                pa.field(n, t) for n, t in zip(self.missing.names, self.missing.types, strict=True)
            ]
        slots = self.contents.cells.slot_types
        return pa.schema(
            [*columns, *(pa.field(f"s{place}", type_) for place, type_ in slots.items())]
        )

    @cached_property
    def result_schema(self) -> pa.Schema:
        columns = [*key_fields(self.keys), pa.field("frame_id", pa.int64())]
        columns += [pa.field(name, self.bound_type) for name in self.bound_names]
        columns += self.kind.own_fields
        columns += [pa.field(name, pa.int64()) for name in ("n", "n_missing")]
        columns.append(pa.field("status", pa.string()))
        results = enumerate(self.contents.types[self.hidden :])
        return pa.schema([*columns, *(pa.field(f"r{place}", type_) for place, type_ in results)])

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of state, all of them by key."""
        return (PENDING, KEYS, OPEN_CELLS, LONGEST)

    @property
    def rests(self) -> bool:
        """True if nothing happens to a key without a row of it, whatever punctuation passes."""
        plain = self.slots is None and int(self.record["reading"][0]) == POINT
        return plain and int(self.record["max_duration"][0]) < 0

    def telling_open(self) -> Self:
        """Return the same operator: frames always tell what is open."""
        return self

    def tidied(self, state: MemoryState) -> dict[str, pa.Table]:
        """Return all that is kept, each table as a whole."""
        return {name: state.whole(name) for name in self.tables if state.buckets(name)}

    def open_counts(self, changes: Changes) -> Mapping[ChunkKey, int]:
        """Return how many frames are open in each changed chunk."""
        return self.memory.open_counts(changes)

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The columns with the bounds of a frame."""
        return ("frame_start", "frame_end")

    @property
    def hidden(self) -> int:
        """The number of calls, the first ones, that serve the framing and are not reported."""
        return 0

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return (self.key_names,)

    @property
    def may_refuse(self) -> bool:
        """True if a row may be refused because of another row."""
        return self.ties.refuses

    def route(self, rows: pa.Table) -> Routed:
        """Return rows with their place and the columns that their kind reads (map side)."""
        admitted = self.admission.admit(rows, self._without_place(rows))
        read = self.kind.read(admitted.rows) if self.combined is None else {}
        # Rows that tie and stop a stream are refused after a restart with another ``ties=``.
        originals = self.combined is None
        partial = admitted.partial(self.row_schema, read, with_originals=originals)
        return admitted.routed(partial, admitted.originals(self.key_names))

    def _without_place(self, rows: pa.Table) -> npt.NDArray[np.object_] | None:
        """Return why rows are refused: no end (``until``), or no place along a region."""
        if self.kind.until is not None:
            on = to_ticks(rows["on"].combine_chunks(), self.axis)
            until = to_ticks(rows["until"].combine_chunks(), self.axis)
            none = (until.refusal != 0) | (until.order < on.order)
            return np.where(none, "no_until", "").astype(object)
        refusal = self.kind.without_place(rows)
        return None if refusal is None else np.where(refusal[0], refusal[1], "").astype(object)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        if not partials:
            return self.row_schema.empty_table()
        return pa.concat_tables(partials, promote_options="default")

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (only,) = inputs
        punctuation, arrived = only.punctuation, self.merge(only.partials)
        late = is_late(arrived, self.key_names, punctuation)
        arrived = arrived.filter(pa.array(~late)) if late.any() else arrived
        remembered = self.memory.load(state)
        pool, read = self._pool(state, arrived, punctuation)
        kept = self._kept(state)
        keyed = KeyedTables.of(self.key_names, [remembered, pool, kept])
        arranged = self._arranged(keyed, remembered, pool, punctuation)
        now = StepContext(state, keyed, remembered, kept, arranged, punctuation)
        results, changes, since = self._framed(now)
        if self.longest:
            so_far = LongestSoFar(self.axis, self.key_names, self.result_schema, self.buckets)
            results, kept_longest = so_far.after(state, results, punctuation.ended)
            changes |= kept_longest
        refused = arranged.refused
        gone = 0 if refused is None else refused.num_rows
        counts = RowCounts(
            used=arrived.num_rows - gone,
            late=int(late.sum()),
            late_rows=self.admission.late_among(only.rows, self.key_names, punctuation),
            fallen=None if refused is None else self._tied(refused),
        )
        return Step(
            results=results,
            changes=hold(state, arranged.waiting, read) | changes,
            rows=(counts,),
            open_counts=self.open_counts(changes),
            open=_opened(keyed, self._earliest_start(now, since)),
        )

    def _earliest_start(self, now: StepContext, since: Ints) -> Ints:
        """Return where the next frame of each key may begin if that is before the punctuation.

        With a schedule a row waits until its slot is complete, even if the punctuation has passed
        the row itself.
        """
        if now.ended:
            return np.full(len(now.keyed), EVER)
        waiting = now.arranged.waiting
        if self.slots is None or not waiting.num_rows:
            return since
        key = find_keys(waiting.select(self.key_names), now.keyed.keys)
        earliest = since.copy()
        np.minimum.at(earliest, key, ints(waiting["order"]))
        return earliest

    def _tied(self, refused: pa.Table) -> pa.Table:
        return self.admission.without_place(refused, np.full(refused.num_rows, "tie", object))

    def _pool(
        self, state: State, arrived: pa.Table, punctuation: Punctuation
    ) -> tuple[pa.Table, Sequence[int]]:
        """Return the rows that arrived and the waiting rows of chunks that may have a final row."""
        everything = punctuation.ended or self.slots is not None
        chunks = due(state, EVER if everything else punctuation.latest)
        held = [state.read(PENDING, chunk) for chunk in chunks]
        return pa.concat_tables([arrived, *held], promote_options="default"), chunks

    def _kept(self, state: State) -> pa.Table:
        """Return the kept cells of open frames, with their keys."""
        return self.contents.load(state)

    def _arranged(
        self, keyed: KeyedTables, remembered: pa.Table, pool: pa.Table, punctuation: Punctuation
    ) -> OrderedBatch:
        _, complete = punctuation.of(keyed.keys)
        # No row is that low, and from here on lengths can be subtracted without leaving 64 bits.
        complete = np.where(complete == NEVER, NEVER, np.maximum(complete, -self.axis.limit))
        slot = until = None
        if self.slots is not None:
            slot = self.memory.whole(keyed, remembered, "slot")
            if punctuation.ended and punctuation.largest is not None:
                until = int(self.slots.of(np.array([punctuation.largest]))[0]) + 1
        reached = KnownUpTo(complete, punctuation.ended, slot, until)
        before = self._last_real(keyed, remembered)
        looked_at = before, self._rows_before(keyed, remembered)
        return self.sequencer.arrange(pool, keyed.numbers[1], len(keyed), reached, *looked_at)

    def _rows_before(self, keyed: KeyedTables, remembered: pa.Table) -> pa.Table | None:
        """Return the last row of each key, if conditions look back at it."""
        return None

    def _last_real(self, keyed: KeyedTables, remembered: pa.Table) -> pa.Table | None:
        """Return each key's last real row: the columns that a condition on missing rows reads.

        ``came`` is true for keys that have one. A key is remembered from its first real row on,
        because missing rows wait for the next real one.
        """
        if not isinstance(self.missing, Bridge):
            return None
        names = self.missing.names
        came = np.zeros(len(keyed), np.bool_)
        came[keyed.numbers[0]] = True
        columns = {name: self.memory.spread(keyed, remembered, name) for name in names}
        return pa.table({**columns, "came": pa.array(came)})

    def _framed(self, now: StepContext) -> tuple[pa.Table, Changes, Ints]:
        """Return the frames that are certain now, changes of state, and where open frames began."""
        records = self.memory.records(now.keyed, now.remembered)
        rows = self.certainty.to_the_end(now, self._coded(now, records), records)
        frames, own = self._walk(now, rows, records)
        frames, reported = self.certainty.with_quiet(now, frames, records, now.arranged.horizon)
        joined = None
        if self.calls:
            kept_of = now.keyed.numbers[2]
            joined = JoinedCells.of(self.contents, len(now.keyed), now.kept, kept_of, rows)
        results = self._results(now.keyed, frames, joined)
        since = self._since(records)
        if now.ended:
            return results, forget(now.state, KEYS, OPEN_CELLS), since
        changes: Changes = {}
        changed = (np.diff(rows.starts) > 0) | reported
        buckets = KeyBuckets.of(now.keyed, self.key_names, changed, self.buckets)
        if joined is not None:
            cells, opened = self.contents.kept(joined, records)
            changes |= buckets.write(now.state, OPEN_CELLS, cells, opened)
        records["low"] = records["high"] = np.where(is_open(records), -1, 0)
        table = self.memory.table(now.keyed, records, self._also(now) | own)
        known = records["previous"] != NEVER
        seen = table.filter(pa.array(known))
        changes |= buckets.write(now.state, KEYS, seen, np.flatnonzero(known))
        return results, changes, since

    @property
    def _reports_between_rows(self) -> bool:
        """True if open frames are reported between rows; with a schedule, rows come soon enough."""
        return self.slots is None and self.record["reading"][0] != POINT

    def _since(self, records: np.ndarray) -> Ints:
        """Return where the next frame of each key begins, as far as that is known, else EVER."""
        opened = is_open(records)
        if not self.record["liberal"][0]:
            return np.where(opened, records["first"], EVER)
        # Liberal bounds: the row before the open frame, else the last row that may bound one.
        before = np.where(opened, records["before"], records["edge"])
        return np.where(before == NEVER, np.where(opened, records["first"], EVER), before)

    def _walk(
        self, now: StepContext, rows: OrderedRows, records: np.ndarray
    ) -> tuple[np.ndarray, dict[str, pa.Array]]:
        """Return the frames found, and what else is remembered about keys besides the record."""
        return walked(self.record, rows, records, now.ended), {}

    def _coded(self, now: StepContext, records: np.ndarray) -> OrderedRows:
        """Replace values that do not fit 64 bits by ranks; keys' last values are ranked too."""
        rows = now.arranged.rows
        if not self.kind.by_code:
            return rows
        last = self.memory.spread(now.keyed, now.remembered, "code")
        both = pa.concat_arrays([last, rows.table["code"].combine_chunks()])
        codes = tie_ranks(both)
        records["at_last"] = codes[: len(now.keyed)]
        own = codes[len(now.keyed) :]
        if rows.source is not None:
            own = np.where(rows.source >= 0, own[rows.source], 0) if len(own) else rows.source * 0
        return replace(rows, columns={**rows.columns, "whole": own})

    def _also(self, now: StepContext) -> dict[str, pa.Array]:
        """Return what is remembered besides the record: each key's last slot and last real row."""
        also: dict[str, pa.Array] = {}
        if self.slots is not None:
            also["slot"] = pa.array(now.arranged.slot)
        names = ["code"] if self.kind.by_code else []
        names += self.missing.names if isinstance(self.missing, Bridge) else []
        row = now.arranged.last_real
        row = np.where(row >= 0, row + len(now.keyed), np.arange(len(now.keyed)))
        for name in names:
            old = self.memory.spread(now.keyed, now.remembered, name)
            both = pa.concat_arrays([old, now.arranged.rows.table[name].combine_chunks()])
            also[name] = both.take(pa.array(row))
        return also

    def _results(
        self, keyed: KeyedTables, frames: np.ndarray, joined: JoinedCells | None
    ) -> pa.Table:
        frames = self._chosen(frames)
        columns = self._bounds(keyed, frames)
        if joined is not None:
            low, high = joined.stretch(frames["key"], frames["low"], frames["high"])
            columns += self.contents.of_stretches(joined.cells, low, high)[self.hidden :]
        return self._reported(columns, frames)

    def _reported(self, columns: list[pa.Array], frames: np.ndarray) -> pa.Table:
        """Return frames as a table; if only the longest is wanted, with what decides about it."""
        if self.longest:
            return with_held_bounds(columns, frames, self.result_schema)
        return pa.Table.from_arrays(columns, schema=self.result_schema)

    def _chosen(self, frames: np.ndarray) -> np.ndarray:
        return longest(frames, self.axis) if self.longest else frames

    def _bounds(self, keyed: KeyedTables, frames: np.ndarray) -> list[pa.Array]:
        """Return the columns of frames: key, id, bounds, numbers of rows, and status."""
        column = {name: np.ascontiguousarray(frames[name]) for name in frames.dtype.names or ()}
        keys = keyed.keys.take(pa.array(column["key"]))
        columns = [values.combine_chunks() for values in keys.columns]
        columns.append(pa.array(column["id"]))
        columns += [from_order(column[b], self.axis, self.bound_type) for b in ("start", "end")]
        columns += self.kind.own_columns(frames)
        columns += [pa.array(column[name]) for name in ("n", "missed")]
        columns.append(pa.array(_STATUS).take(pa.array(column["status"])))
        return columns


def _opened(keyed: KeyedTables, since: Ints) -> Open:
    """Return the keys with an open frame."""
    some = since != EVER
    return Open(keyed.keys.filter(pa.array(some)), since[some])


def walked(asked: np.ndarray, rows: OrderedRows, records: np.ndarray, ended: bool) -> np.ndarray:
    """Return the frames that the framing function finds in rows; update the records."""
    place = np.zeros(2, np.int64)
    room = np.zeros(max(1024, len(rows) // 8), FOUND)
    parts: list[np.ndarray] = []
    keys, columns = len(rows.starts) - 1, rows.kernel_columns
    while place[0] < keys:
        n = walk(asked, columns, int(ended), records, room, place)
        parts.append(room[:n].copy())
    return np.concatenate(parts) if parts else room[:0]
