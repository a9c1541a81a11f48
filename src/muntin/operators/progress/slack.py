"""Slack: punctuation follows the largest value seen, at a length or a number of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.kernels.ticks import valid_ticks
from muntin.operators.progress.progress import (
    AdvancedShard,
    ObservedRows,
    Progress,
    ProgressMessages,
    punctuation,
)
from muntin.operators.protocol import State
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class Punctuator:
    """Punctuation ``slack`` ticks below the largest value seen.

    With ``slack`` None only control messages bring punctuation. The other rules are subclasses.
    """

    slack: int | None

    def observe(self, rows: pa.Table) -> ObservedRows:
        """Map side: return the rows, because every task sends its largest tick anyway."""
        return ObservedRows(rows)

    @property
    def in_batch(self) -> Punctuator:
        """The rule in a batch: no punctuation before the end of input."""
        return Punctuator(None)

    def advance(self, state: State, progress: Progress, heard: ProgressMessages) -> AdvancedShard:
        """Take in the messages of a micro-batch; the punctuation takes effect at its end."""
        after = progress.after(heard, self.slack)
        after = after.reaching(after.lead)
        return AdvancedShard(after, punctuation(progress, after))


TOP = "punctuator:ticks"


@dataclass(frozen=True)
class RowSlackPunctuator(Punctuator):
    """The punctuation is the least of the ``rows`` + 1 largest ticks.

    Tasks send that many ticks to every shard, and a shard keeps that many.
    """

    rows: int
    axis: Axis

    def observe(self, rows: pa.Table) -> ObservedRows:
        return ObservedRows(rows, pa.table({"tick": self._top(valid_ticks(rows["on"], self.axis))}))

    def advance(self, state: State, progress: Progress, heard: ProgressMessages) -> AdvancedShard:
        after = progress.after(heard, self.slack)
        held = [state.read(TOP, bucket) for bucket in state.buckets(TOP)]
        if not heard.everywhere:
            return AdvancedShard(after, punctuation(progress, after))
        ticks = pa.concat_tables([*held, *heard.everywhere])["tick"].to_numpy()
        top = self._top(ticks)
        if len(top) > self.rows:
            after = after.reaching(int(top.min()))
        changes = {(TOP, 0): pa.table({"tick": top})}
        return AdvancedShard(after, punctuation(progress, after), changes)

    def _top(self, ticks: Ints) -> Ints:
        least = len(ticks) - self.rows - 1
        return ticks if least <= 0 else np.partition(ticks, least)[least:]
