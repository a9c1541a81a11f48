"""A punctuation for every key, or the least punctuation over the values of a column.

A shard keeps one row for every key that is ahead of the punctuation of the stream. If the stream
has no punctuation, the rows are kept for ever: old rows of a forgotten key would not be late.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.grouping import find_keys, greatest_of_keys
from muntin.kernels.ticks import to_ticks
from muntin.operators.common.buckets import BucketedTable, key_buckets
from muntin.operators.progress.progress import (
    AdvancedShard,
    ObservedRows,
    Progress,
    ProgressMessages,
    Punctuator,
    punctuation,
)
from muntin.operators.protocol import Changes, State, ints, key_fields
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class Quiet:
    """The rule for quiet keys, whose rows do not come.

    A quiet key follows the lead of the stream at a distance of ``follow`` ticks, or reaches it once
    it has been silent for ``clock`` microseconds. With neither, the stream waits for the key.
    """

    follow: int | None = None
    clock: int | None = None

    def reach(self, own: Ints, heard: Ints, progress: Progress) -> Ints:
        """Return up to where each key is complete, by its own rows or by this rule."""
        lead = progress.lead
        if lead is None:
            return own
        if self.clock is not None and progress.clock is not None and progress.since is not None:
            # A key without rows since the clock began is silent since its first tick.
            since = np.where(heard == NEVER, progress.since, heard)
            silent = progress.clock - since >= self.clock
            own = np.where(silent, np.maximum(own, lead), own)
        if self.follow is not None:
            own = np.maximum(own, max(lead - self.follow, NEVER + 1))
        return own


@dataclass(frozen=True)
class Tracks:
    """One row per key: its name, its own punctuation, and the clock when its rows last came.

    Whether a key is silent is computed from the clock, so nothing is written for silent keys.
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
        table = self.names.append_column("own", pa.array(self.own))
        return table.append_column("heard", pa.array(self.heard))

    def with_unheard(self, names: pa.Table) -> Tracks:
        """Return the tracks with a row for each name that has none yet."""
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
        """Return the tracks after rows came: ``reached`` is where they bring each of ``names``."""
        known = self.with_unheard(names)
        reached_before = quiet.reach(known.own, known.heard, before).copy()
        reached_before[len(self.own) :] = NEVER  # new keys had no punctuation
        place = find_keys(names, known.names)
        own, heard = known.own.copy(), known.heard.copy()
        own[place] = np.maximum(reached_before[place], reached)
        heard[place] = NEVER if after.clock is None else after.clock
        moved = Tracks(known.names, own, heard)
        return Moved(moved, place, reached_before, quiet.reach(own, heard, after))


@dataclass(frozen=True)
class Moved:
    """Tracks after a micro-batch.

    ``place`` has the places of the keys whose rows came, ``before`` and ``after`` the punctuation
    of each key.
    """

    tracks: Tracks
    place: Ints
    before: Ints
    after: Ints


KEYS = "punctuator:keys"


@dataclass(frozen=True)
class PerKeyPunctuator(Punctuator):
    """The punctuation of each key is ``slack`` ticks below the key's largest value.

    ``quiet`` is the rule for keys whose rows do not come.
    """

    axis: Axis
    keys: tuple[pa.DataType, ...]
    quiet: Quiet = field(default_factory=Quiet)

    @property
    def announced_keys(self) -> tuple[pa.DataType, ...]:
        return self.keys

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
        if not held and not heard.keyed and not heard.announced_keys:
            return AdvancedShard(after, punctuation(progress, after))
        names, reached = self._heard(heard, held)
        tracks = Tracks.of(pa.concat_tables(held)) if held else Tracks.unheard(names.slice(0, 0))
        moved = tracks.advance(names, reached, self.quiet, progress, after)
        by_key = self._ahead(moved, progress, after)
        changes = self._remember(state, moved, after)
        return AdvancedShard(after, punctuation(progress, after, by_key), changes)

    def _heard(self, heard: ProgressMessages, held: list[pa.Table]) -> tuple[pa.Table, Ints]:
        """Return the keys that were heard of, and up to where that makes each key complete.

        Rows make a key complete up to the slack below them, control rows up to what they say.
        """
        if not heard.keyed and not heard.announced_keys:
            return held[0].slice(0, 0).drop_columns(["own", "heard"]), np.empty(0, np.int64)
        messages = pa.concat_tables([*heard.keyed, *heard.announced_keys])
        ticks = messages["tick"].to_numpy().copy()
        ticks[: sum(table.num_rows for table in heard.keyed)] -= self.slack or 0
        return greatest_of_keys(messages.drop_columns(["tick"]), ticks)

    def _ahead(self, moved: Moved, before: Progress, after: Progress) -> pa.Table | None:
        """Return the keys ahead of the stream with their punctuation; None if there are none."""
        ahead = (moved.before > _tick(before.reached)) | (moved.after > _tick(after.reached))
        if not ahead.any():
            return None
        table = moved.tracks.names.append_column("before", pa.array(moved.before))
        return table.append_column("after", pa.array(moved.after)).filter(pa.array(ahead))

    def _remember(self, state: State, moved: Moved, after: Progress) -> Changes:
        """Write the buckets of keys whose rows came, and buckets that have become sparse."""
        table = moved.tracks.table()
        bucket = key_buckets(table, moved.tracks.names.column_names)
        # With a clock, a key below the punctuation of the stream may still overtake it.
        forget = self.quiet.clock is None
        kept = (moved.tracks.own > _tick(after.reached)) | (not forget)
        touched = set(np.unique(bucket[moved.place]).tolist())
        table_of_keys = BucketedTable(state, KEYS)
        return table_of_keys.write(table, bucket, touched, kept, sparse=state.buckets(KEYS))


def told_by(names: pa.Table, ticks: Ints) -> pa.Table | None:
    """Return the largest tick of each key as a message; None if there are no ticks."""
    if len(ticks) == 0:
        return None
    names, ticks = greatest_of_keys(names, ticks)
    return names.append_column("tick", pa.array(ticks))


def _tick(tick: int | None) -> int:
    return NEVER if tick is None else tick


VALUES = "punctuator:values"


@dataclass(frozen=True)
class PerValuePunctuator(Punctuator):
    """The punctuation is the least over all values that were seen or are expected."""

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
        messages = pa.concat_tables(heard.everywhere) if heard.everywhere else self._nothing
        names, ticks = greatest_of_keys(
            messages.drop_columns(["tick"]), messages["tick"].to_numpy()
        )
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
