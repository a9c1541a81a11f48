"""Runs the rows of a timeline through a disorder rule in one shard, by micro-batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.kernels.arrays import NEVER
from muntin.operators.build import punctuator
from muntin.operators.progress.progress import Progress, ProgressMessages, Punctuator
from muntin.operators.protocol import MemoryState, Punctuation
from muntin.specs.axis import Axis, Domain
from muntin.specs.disorder import Disorder

AXIS = Axis(Domain.INTEGER)
#: A row: its ``on``, its key, the value of the column of ``each``, and whether it is a mark.
Row = tuple[int | None, str, str, bool]


def row(on: int | None, key: str = "a", q: str = "x", mark: bool = False) -> Row:
    return on, key, q, mark


@dataclass
class Shard:
    """The state of one shard: the rule, its tables and its progress."""

    rule: Punctuator
    state: MemoryState = field(default_factory=MemoryState)
    progress: Progress = field(default_factory=Progress)
    punctuations: int = 0
    data: int = 0

    def hears(
        self,
        *rows: Row,
        clock: int | None = None,
        told: int | None = None,
        keys: Mapping[str, int] | None = None,
    ) -> Punctuation:
        """Run one micro-batch, with its rows in two tasks; ``clock`` is in seconds.

        ``told`` is punctuation from outside, and ``keys`` that for single keys.
        """
        observed = [self.rule.observe(_table(part)) for part in (rows[::2], rows[1::2]) if part]
        seen = [on for on, _, _, mark in rows if on is not None and not mark]
        advanced = self.rule.advance(
            self.state,
            self.progress,
            ProgressMessages(
                seen=[max(seen, default=None)],
                announced=[told],
                clock=[None if clock is None else clock * 1_000_000],
                everywhere=[o.everywhere for o in observed if o.everywhere is not None],
                keyed=[o.keyed for o in observed if o.keyed is not None],
                announced_keys=[
                    pa.table({"k0": [key], "tick": [tick]}) for key, tick in (keys or {}).items()
                ],
            ),
        )
        self.progress = Progress(**vars(advanced.progress))
        self.state.apply(advanced.changes)
        self.punctuations += sum(o.punctuations for o in observed)
        self.data += sum(o.rows.num_rows for o in observed)
        return advanced.punctuation

    def restarted(self, disorder: Disorder) -> Shard:
        return Shard(rule_of(disorder), self.state, self.progress)

    @property
    def remembered(self) -> int:
        """How many rows of state the rule keeps."""
        return sum(chunk.num_rows for chunk in self.state.chunks.values())


def shard(disorder: Disorder) -> Shard:
    return Shard(rule_of(disorder))


def rule_of(disorder: Disorder) -> Punctuator:
    return punctuator(disorder, AXIS, (pa.string(),), (pa.string(),))


def of_keys(punctuation: Punctuation, *keys: str) -> list[int | None]:
    """Return up to where each key is complete after the micro-batch."""
    _, after = punctuation.of(pa.table({"k0": pa.array(keys, pa.string())}))
    return [None if tick == NEVER else tick for tick in after.tolist()]


def before_of_keys(punctuation: Punctuation, *keys: str) -> list[int | None]:
    before, _ = punctuation.of(pa.table({"k0": pa.array(keys, pa.string())}))
    return [None if tick == NEVER else tick for tick in before.tolist()]


def _table(rows: Sequence[Row]) -> pa.Table:
    return pa.table(
        {
            "on": pa.array([on for on, _, _, _ in rows], pa.int64()),
            "k0": pa.array([key for _, key, _, _ in rows], pa.string()),
            "v0": pa.array([q for _, _, q, _ in rows], pa.string()),
            "p": pa.array([mark for _, _, _, mark in rows], pa.bool_()),
        }
    )
