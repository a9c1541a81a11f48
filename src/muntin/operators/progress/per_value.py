"""Order within each value of some columns: the stream is as far as the least of them.

A punctuation needs a row from every sensor [Window-ids 7.2]. Values are not keys: a key's rows
may come from many of them, so every shard hears of every value and keeps all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER
from muntin.kernels.grouping import greatest_of_keys
from muntin.kernels.ticks import to_ticks
from muntin.operators.progress.per_key import told_by
from muntin.operators.progress.progress import (
    AdvancedShard,
    ObservedRows,
    Progress,
    ProgressMessages,
    punctuation,
)
from muntin.operators.progress.slack import Punctuator
from muntin.operators.progress.tracks import Quiet, Tracks
from muntin.operators.protocol import State
from muntin.specs.axis import Axis

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
