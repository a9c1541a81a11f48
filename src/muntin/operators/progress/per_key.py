"""A punctuation for every key: order holds within keys, whatever the others do.

A shard keeps one row for every key that is ahead of the stream's own punctuation, for ever if the
stream has none: a key that was forgotten and comes back with old rows would not be late.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.grouping import greatest_of_keys
from muntin.kernels.ticks import to_ticks
from muntin.operators.common.buckets import BucketedTable, key_buckets
from muntin.operators.common.columns import key_fields
from muntin.operators.progress.progress import (
    AdvancedShard,
    ObservedRows,
    Progress,
    ProgressMessages,
    punctuation,
)
from muntin.operators.progress.slack import Punctuator
from muntin.operators.progress.tracks import Moved, Quiet, Tracks
from muntin.operators.protocol import Changes, State
from muntin.specs.axis import Axis

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
