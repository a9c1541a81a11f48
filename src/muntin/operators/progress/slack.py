"""Slack by length: the punctuation is so far behind the largest value seen."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from muntin.operators.progress.progress import (
    AdvancedShard,
    ObservedRows,
    Progress,
    ProgressMessages,
    punctuation,
)
from muntin.operators.protocol import State


@dataclass(frozen=True)
class Punctuator:
    """``slack`` ticks behind the largest value seen; None follows control messages alone.

    The other rules are made from this one.
    """

    slack: int | None

    def observe(self, rows: pa.Table) -> ObservedRows:
        """Map side: every task tells its largest tick anyway, and that is all this rule needs."""
        return ObservedRows(rows)

    @property
    def in_batch(self) -> Punctuator:
        """What a batch does of it: nothing, because its end is its only punctuation."""
        return Punctuator(None)

    def advance(self, state: State, progress: Progress, heard: ProgressMessages) -> AdvancedShard:
        """Take in what a micro-batch says; the punctuation takes effect at its end."""
        after = progress.after(heard, self.slack)
        after = after.reaching(after.lead)
        return AdvancedShard(after, punctuation(progress, after))
