"""Frames that look back at rows: such rows are held and read again together with new ones.

Overlapping frames are of this kind: a scheme picks them from the frames that begin at every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import EVER, Ints
from muntin.kernels.frames.overlapping_fast import candidates_in_one_pass, in_one_pass
from muntin.kernels.frames.records import FOUND, NEVER
from muntin.kernels.frames.schemes import (
    choose_adjacent,
    choose_advancing,
    choose_all,
    choose_cover,
)
from muntin.kernels.frames.walk import candidates
from muntin.kernels.grouping import KeyedTables, by_key_and_order
from muntin.operators.frames.key_memory import KEYS, KeyBuckets, KeyMemory, StepContext
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.ordered_rows import OrderedRows, spread
from muntin.operators.protocol import Changes, State, forget, key_fields

HELD = "held"
#: The columns that only held rows have.
_OWN = {"what": pa.uint8(), "gap": pa.uint8(), "came": pa.bool_(), "stands": pa.int64()}


@dataclass(frozen=True)
class FoundFrames:
    """The frames found in held and new rows.

    ``needed`` is the first row of each key that must be held. ``also`` is remembered about keys.
    """

    found: np.ndarray
    needed: Ints
    also: dict[str, Ints]


@dataclass(frozen=True)
class HeldRowFrames(FrameOperator):
    """Frames found in held and new rows; subclasses find them and decide which rows are held."""

    @property
    def tables(self) -> tuple[str, ...]:
        return (*super().tables, HELD)

    @property
    def rests(self) -> bool:
        return False  # punctuation decides which rows are needed

    @property
    def remembered_names(self) -> tuple[str, ...]:
        """The columns that are remembered about each key, whole numbers."""
        return ()

    @cached_property
    def memory(self) -> KeyMemory:
        also = super().memory.also
        own = tuple(pa.field(name, pa.int64()) for name in self.remembered_names)
        return KeyMemory(tuple(key_fields(self.keys)), (*also, *own))

    @cached_property
    def held_schema(self) -> pa.Schema:
        rows = [f for f in self.framed_schema if f.name not in ("tick", *self.ties.names)]
        return pa.schema([*rows, *(pa.field(name, type_) for name, type_ in _OWN.items())])

    def find_frames(
        self,
        rows: OrderedRows,
        memory: dict[str, Ints],
        keys: KeyedTables,
        complete: Ints,
        ended: bool,
    ) -> FoundFrames:
        """Return the frames that are certain now; some of the rows were held before."""
        raise NotImplementedError

    def _kept(self, state: State) -> pa.Table:
        chunks = [state.read(HELD, bucket) for bucket in sorted(state.buckets(HELD))]
        return pa.concat_tables([self.held_schema.empty_table(), *chunks])

    def _framed(self, now: StepContext) -> tuple[pa.Table, Changes, Ints]:
        both, key, rows = self._gathered(now)
        records = self.memory.records(now.keyed, now.remembered)
        rows = self.certainty.to_the_end(now, rows, records)
        memory = {n: self.memory.whole(now.keyed, now.remembered, n) for n in self.remembered_names}
        outcome = self.find_frames(rows, memory, now.keyed, self._next_rows_from(now), now.ended)
        frames = self._numbered(outcome.found, records)
        results = self._results_of(now.keyed, frames, rows)
        since = self._held_since(rows, outcome.needed)
        if now.ended:
            return results, forget(now.state, KEYS, HELD), since
        changed = (np.diff(now.arranged.rows.starts) > 0) | (outcome.needed > rows.starts[:-1])
        records["previous"][changed] = 0  # marks keys that were seen
        buckets = KeyBuckets.of(now.keyed, self.key_names, changed, self.buckets)
        held = np.arange(both.num_rows) >= outcome.needed[key]
        changes = buckets.write(now.state, HELD, both.filter(pa.array(held)), key[held])
        also = {name: pa.array(outcome.also[name]) for name in self.remembered_names}
        known = records["previous"] != NEVER
        table = self.memory.table(now.keyed, records, self._also(now) | also)
        seen = table.filter(pa.array(known))
        changes |= buckets.write(now.state, KEYS, seen, np.flatnonzero(known))
        return results, changes, since

    def _next_rows_from(self, now: StepContext) -> Ints:
        """Return for each key the order below which no later row lies; NEVER if none is known."""
        return self.certainty.complete(now)

    def _held_since(self, rows: OrderedRows, needed: Ints) -> Ints:
        """Return where the next frames begin: at a held row, or before it if bounds are liberal."""
        earlier = np.maximum(needed - 1, rows.starts[:-1])
        first = earlier if self.record["liberal"][0] else needed
        held = np.append(rows.order, EVER)[np.minimum(first, len(rows))]
        return np.where(needed < rows.starts[1:], held, EVER)

    def _gathered(self, now: StepContext) -> tuple[pa.Table, Ints, OrderedRows]:
        """Return held and new rows in order as they are held, their keys, and the kernels' rows."""
        new = now.arranged.rows
        new_key = np.repeat(np.arange(len(now.keyed)), np.diff(new.starts))
        both = pa.concat_tables([now.kept, self._as_held(now.keyed, new, new_key)])
        key = np.concatenate([now.keyed.numbers[2], new_key])
        place, starts = by_key_and_order(key, both["order"].to_numpy(), len(now.keyed))
        both, key = both.take(pa.array(place)), key[place]
        return both, key, self._rows(both, starts)

    def _as_held(self, keyed: KeyedTables, rows: OrderedRows, key: Ints) -> pa.Table:
        """Return new rows in the form in which they are held; missing rows have null values."""
        source = np.arange(len(rows)) if rows.source is None else rows.source
        table = rows.table if rows.source is None else spread(rows.table, source)
        columns = {name: table[name] for name in table.column_names}
        keys = keyed.keys.take(pa.array(key))
        columns |= {name: keys[name] for name in keys.column_names}
        columns |= {"order": pa.array(rows.order), "what": pa.array(rows.what)}
        gap = rows.gap if len(rows.gap) else np.zeros(len(rows), np.uint8)
        columns |= {"gap": pa.array(gap), "came": pa.array(source >= 0)}
        covers = rows.read("reach") if self.slots is not None else np.ones(len(rows), np.int64)
        columns |= {"stands": pa.array(covers)}
        return pa.table({name: columns[name] for name in self.held_schema.names})

    def _rows(self, held: pa.Table, starts: Ints) -> OrderedRows:
        came = held["came"].to_numpy(zero_copy_only=False)
        source = None
        table = held
        if not came.all():
            source = np.where(came, np.cumsum(came) - 1, -1)
            table = held.filter(pa.array(came))
        order, row_kinds, gap = (
            np.ascontiguousarray(held[name].to_numpy()) for name in ("order", "what", "gap")
        )
        gap = gap if self.sequencer.interval else gap[:0]
        covers = {"reach": held["stands"].to_numpy()} if self.slots is not None else {}
        return OrderedRows(starts, order, row_kinds, table, source, gap, covers)

    def _numbered(self, frames: np.ndarray, records: np.ndarray) -> np.ndarray:
        """Return frames with the next ids of their keys."""
        key = frames["key"]
        counts = np.bincount(key, minlength=len(records)) if len(key) else np.zeros(len(records))
        first = np.searchsorted(key, key)
        frames["id"] = records["next_id"][key] + np.arange(len(key)) - first
        records["next_id"] += counts.astype(np.int64)
        return frames

    def _results_of(self, keyed: KeyedTables, frames: np.ndarray, rows: OrderedRows) -> pa.Table:
        frames = self._chosen(frames)
        results = self._bounds(keyed, frames)
        if self.calls:
            places = rows.places
            low, high = places[frames["low"]], places[frames["high"]]
            cells = self.contents.lifted(rows.table)
            results += self.contents.of_stretches(cells, low, high)
        return self._reported(results, frames)


@dataclass(frozen=True)
class OverlappingFrames(HeldRowFrames):
    """Frames by a ``scheme`` [Frames 4.2]; ``overlap`` is that of adjacent frames, in ticks."""

    scheme: str = "unconstrained"
    overlap: int = 0

    @property
    def remembered_names(self) -> tuple[str, ...]:
        """The last row whose frame is decided, and how far frames reached until then."""
        return ("decided", "reached")

    @property
    def in_one_pass(self) -> bool:
        """True if every row is read once, and not once for each frame that it lies in."""
        return in_one_pass(self.record)

    def find_frames(
        self,
        rows: OrderedRows,
        memory: dict[str, Ints],
        keys: KeyedTables,
        complete: Ints,
        ended: bool,
    ) -> FoundFrames:
        key = np.repeat(np.arange(len(keys)), np.diff(rows.starts))
        over = rows.order <= memory["decided"][key]
        since = rows.starts[:-1] + np.bincount(key[over], minlength=len(keys))
        if self.scheme == "cover":
            since = rows.starts[:-1]
        candidate_frames = np.zeros(len(rows), FOUND)
        # The next adjacent frame starts before the end of the last one, reported or not.
        give_up = int(self.scheme != "adjacent")
        self._find_candidates(rows, ended, give_up, since, candidate_frames)
        chosen = np.zeros(len(rows), np.uint8)
        needed, reached = np.empty(len(keys), np.int64), memory["reached"].copy()
        self._choose(rows, since, candidate_frames, chosen, needed, reached)
        decided = memory["decided"].copy()
        moved = needed > rows.starts[:-1]
        decided[moved] = np.maximum(decided[moved], rows.order[needed[moved] - 1])
        place = np.flatnonzero(chosen)
        picked = candidate_frames[place]
        picked["key"] = key[place]
        return FoundFrames(picked, needed, {"decided": decided, "reached": reached})

    def _find_candidates(
        self, rows: OrderedRows, ended: bool, give_up: int, since: Ints, found: np.ndarray
    ) -> None:
        """Find the frame that begins at each row, as the kernel ``candidates`` describes it."""
        find = candidates_in_one_pass if self.in_one_pass else candidates
        find(self.record, rows.kernel_columns, int(ended), give_up, since, found)

    def _choose(
        self,
        rows: OrderedRows,
        since: Ints,
        candidate_frames: np.ndarray,
        chosen: npt.NDArray[np.uint8],
        needed: Ints,
        reached: Ints,
    ) -> None:
        match self.scheme:
            case "advancing":
                minimal = int(self.record["minimal"][0])
                choose_advancing(
                    rows.starts,
                    since,
                    rows.order,
                    candidate_frames,
                    minimal,
                    chosen,
                    needed,
                    reached,
                )
            case "adjacent":
                doubles, length = (
                    int(self.record["doubles"][0]),
                    self.overlap / 10**self.axis.digits,
                )
                columns = rows.starts, since, rows.order, rows.what, candidate_frames, doubles
                choose_adjacent(*columns, self.overlap, length, chosen, needed, reached)
            case "cover":
                cover_columns = rows.starts, rows.order, rows.what, candidate_frames
                choose_cover(*cover_columns, chosen, needed, reached)
            case "unconstrained":
                choose_all(rows.starts, since, candidate_frames, chosen, needed)
            case other:
                raise AssertionError(f"frames of the scheme {other} do not overlap")
