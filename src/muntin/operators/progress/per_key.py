"""A punctuation for every key, or the least over the values of a column.

A shard keeps one row for every key that is ahead of the stream's own punctuation, for ever if the
stream has none: a key that was forgotten and comes back with old rows would not be late.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.grouping import find_keys, greatest_of_keys
from muntin.kernels.ticks import to_ticks
from muntin.operators.common.arrow_columns import ints, key_fields
from muntin.operators.common.buckets import BucketedTable, key_buckets
from muntin.operators.progress.progress import (
    AdvancedShard,
    ObservedRows,
    Progress,
    ProgressMessages,
    punctuation,
)
from muntin.operators.progress.slack import Punctuator
from muntin.operators.protocol import Changes, State
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class Quiet:
    """What becomes of a quiet one, in ticks and in microseconds; neither means it is waited for."""

    follow: int | None = None
    clock: int | None = None

    def reach(self, own: Ints, heard: Ints, progress: Progress) -> Ints:
        """Up to where each is complete: by its own rows, or as the furthest pulls it along."""
        lead = progress.lead
        if lead is None:
            return own
        if self.clock is not None and progress.clock is not None and progress.since is not None:
            # Who was last heard of before the clock first ticked counts from there.
            since = np.where(heard == NEVER, progress.since, heard)
            silent = progress.clock - since >= self.clock
            own = np.where(silent, np.maximum(own, lead), own)
        if self.follow is not None:
            own = np.maximum(own, max(lead - self.follow, NEVER + 1))
        return own


@dataclass(frozen=True)
class Tracks:
    """One row for each: its name, its own punctuation, and the clock when it was last heard of.

    Whether one is silent follows from the clock, so a silent one costs no write.
    """

    names: pa.Table
    own: Ints
    heard: Ints

    @classmethod
    def of(cls, table: pa.Table) -> Tracks:
        names = table.drop_columns(["own", "heard"])
        return cls(names, ints(table["own"]), ints(table["heard"]))

    @classmethod
    def unheard(cls, names: pa.Table) -> Tracks:
        never = np.full(names.num_rows, NEVER)
        return cls(names, never, never)

    def table(self) -> pa.Table:
        made = self.names.append_column("own", pa.array(self.own))
        return made.append_column("heard", pa.array(self.heard))

    def with_unheard(self, names: pa.Table) -> Tracks:
        """With those that are not here yet."""
        new = names.filter(pa.array(find_keys(names, self.names) < 0))
        if new.num_rows == 0:
            return self
        never = np.full(new.num_rows, NEVER)
        return Tracks(
            pa.concat_tables([self.names, new]),
            np.append(self.own, never),
            np.append(self.heard, never),
        )

    def advance(
        self, names: pa.Table, reached: Ints, quiet: Quiet, before: Progress, after: Progress
    ) -> Moved:
        """Take in how far some have come by their own rows."""
        known = self.with_unheard(names)
        was = quiet.reach(known.own, known.heard, before).copy()
        was[len(self.own) :] = NEVER  # nothing was known of those that are new
        place = find_keys(names, known.names)
        own, heard = known.own.copy(), known.heard.copy()
        own[place] = np.maximum(was[place], reached)
        heard[place] = NEVER if after.clock is None else after.clock
        moved = Tracks(known.names, own, heard)
        return Moved(moved, place, was, quiet.reach(own, heard, after))


@dataclass(frozen=True)
class Moved:
    """Tracks after a micro-batch: whose rows came, and each one's punctuation before and after."""

    tracks: Tracks
    place: Ints
    before: Ints
    after: Ints


KEYS = "punctuator:keys"


@dataclass(frozen=True)
class PerKeyPunctuator(Punctuator):
    """Each key is ``slack`` ticks behind its own largest; ``quiet`` says who pulls it along."""

    axis: Axis
    keys: tuple[pa.DataType, ...]
    quiet: Quiet = field(default_factory=Quiet)

    def observe(self, rows: pa.Table) -> ObservedRows:
        ticks = to_ticks(rows["on"].combine_chunks(), self.axis)
        placed = ticks.refusal == 0
        names = self.names_of(rows)
        if not placed.all():
            names = names.filter(pa.array(placed))
        return ObservedRows(rows, keyed=told_by(names, ticks.tick[placed]))

    def names_of(self, rows: pa.Table) -> pa.Table:
        fields = key_fields(self.keys)
        return rows.select([f.name for f in fields]).cast(pa.schema(fields))

    def advance(self, state: State, progress: Progress, heard: ProgressMessages) -> AdvancedShard:
        after = progress.after(heard, self.slack)
        if self.quiet.follow is not None and after.lead is not None:
            after = after.reaching(max(after.lead - self.quiet.follow, NEVER + 1))
        buckets = state.buckets(KEYS)
        held = [state.read(KEYS, bucket) for bucket in buckets]
        if not held and not heard.keyed:
            return AdvancedShard(after, punctuation(progress, after))
        names, reached = self._heard(heard, held)
        tracks = Tracks.of(pa.concat_tables(held)) if held else Tracks.unheard(names.slice(0, 0))
        moved = tracks.advance(names, reached, self.quiet, progress, after)
        by_key = self._ahead(moved, progress, after)
        changes = self._remember(state, moved, after)
        return AdvancedShard(after, punctuation(progress, after, by_key), changes)

    def _heard(self, heard: ProgressMessages, held: list[pa.Table]) -> tuple[pa.Table, Ints]:
        """The keys whose rows came, and up to where each is complete by them."""
        if not heard.keyed:
            return held[0].slice(0, 0).drop_columns(["own", "heard"]), np.empty(0, np.int64)
        told = pa.concat_tables(heard.keyed)
        names, ticks = greatest_of_keys(told.drop_columns(["tick"]), told["tick"].to_numpy())
        return names, ticks - (self.slack or 0)

    def _ahead(self, moved: Moved, before: Progress, after: Progress) -> pa.Table | None:
        """The keys that are further than the stream itself."""
        ahead = (moved.before > _tick(before.reached)) | (moved.after > _tick(after.reached))
        if not ahead.any():
            return None
        table = moved.tracks.names.append_column("before", pa.array(moved.before))
        return table.append_column("after", pa.array(moved.after)).filter(pa.array(ahead))

    def _remember(self, state: State, moved: Moved, after: Progress) -> Changes:
        """Write the buckets of keys whose rows came, and those that are mostly out of date."""
        table = moved.tracks.table()
        bucket = key_buckets(table, moved.tracks.names.column_names)
        # Where the clock counts, a key behind the stream may yet be pulled further than it.
        forget = self.quiet.clock is None
        kept = (moved.tracks.own > _tick(after.reached)) | (not forget)
        touched = set(np.unique(bucket[moved.place]).tolist())
        table_of_keys = BucketedTable(state, KEYS)
        return table_of_keys.write(table, bucket, touched, kept, sparse=state.buckets(KEYS))


def told_by(names: pa.Table, ticks: Ints) -> pa.Table | None:
    """What the shards of keys hear: the greatest tick of each."""
    if len(ticks) == 0:
        return None
    names, ticks = greatest_of_keys(names, ticks)
    return names.append_column("tick", pa.array(ticks))


def _tick(tick: int | None) -> int:
    return NEVER if tick is None else tick


VALUES = "punctuator:values"


@dataclass(frozen=True)
class PerValuePunctuator(Punctuator):
    """The least, over the values seen and those expected, of what each is complete up to."""

    axis: Axis
    expected: pa.Table
    quiet: Quiet = field(default_factory=Quiet)

    def observe(self, rows: pa.Table) -> ObservedRows:
        ticks = to_ticks(rows["on"].combine_chunks(), self.axis)
        placed = ticks.refusal == 0
        names = rows.select(self.expected.column_names).cast(self.expected.schema)
        if not placed.all():
            names = names.filter(pa.array(placed))
        return ObservedRows(rows, everywhere=told_by(names, ticks.tick[placed]))

    def advance(self, state: State, progress: Progress, heard: ProgressMessages) -> AdvancedShard:
        after = progress.after(heard, self.slack)
        held = [state.read(VALUES, bucket) for bucket in state.buckets(VALUES)]
        tracks = Tracks.of(held[0]) if held else Tracks.unheard(self.expected)
        told = pa.concat_tables(heard.everywhere) if heard.everywhere else self._nothing
        names, ticks = greatest_of_keys(told.drop_columns(["tick"]), told["tick"].to_numpy())
        moved = tracks.with_unheard(self.expected).advance(
            names, ticks - (self.slack or 0), self.quiet, progress, after
        )
        least = int(moved.after.min()) if len(moved.after) else NEVER
        after = after.reaching(None if least == NEVER else least)
        changes = {(VALUES, 0): moved.tracks.table()} if names.num_rows else {}
        return AdvancedShard(after, punctuation(progress, after), changes)

    @property
    def _nothing(self) -> pa.Table:
        empty = self.expected.slice(0, 0)
        return empty.append_column("tick", pa.array(np.empty(0, np.int64)))
