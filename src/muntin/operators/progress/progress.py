"""What a shard remembers of a stream's progress, and what a micro-batch tells it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from muntin.operators.protocol import ChunkKey, Punctuation


@dataclass(frozen=True)
class ObservedRows:
    """What the map side makes of some rows.

    ``rows`` are data, ``everywhere`` goes to every shard, ``keyed`` (with columns ``k0..``) to the
    shards of its keys, and ``punctuations`` counts the rows that are punctuation.
    """

    rows: pa.Table
    everywhere: pa.Table | None = None
    keyed: pa.Table | None = None
    punctuations: int = 0


@dataclass(frozen=True)
class ProgressMessages:
    """What a micro-batch says: largest ticks of the tasks, control rows, and what was observed."""

    seen: Sequence[int | None] = ()
    told: Sequence[int | None] = ()
    clock: Sequence[int | None] = ()
    ended: bool = False
    everywhere: Sequence[pa.Table] = ()
    keyed: Sequence[pa.Table] = ()


@dataclass(frozen=True)
class Progress:
    """How far a stream has come, in ticks; small, because it is written in every micro-batch.

    ``reached`` is the punctuation of the whole stream and ``lead`` the largest value minus the
    slack. Both are kept, not derived, so that they never go back: not by a larger slack after a
    restart either. ``clock`` is the latest and ``since`` the first tick of the clock.
    """

    largest: int | None = None
    reached: int | None = None
    lead: int | None = None
    clock: int | None = None
    since: int | None = None
    ended: bool = False

    def after(self, heard: ProgressMessages, slack: int | None) -> Progress:
        """With what a micro-batch says, except what the rule itself concludes."""
        largest = greatest([self.largest, *heard.seen])
        clock = greatest([self.clock, *heard.clock])
        lead = None if slack is None or largest is None else largest - slack
        return Progress(
            largest=largest,
            reached=greatest([self.reached, *heard.told]),
            lead=greatest([self.lead, lead]),
            clock=clock,
            since=clock if self.since is None else self.since,
            ended=self.ended or heard.ended,
        )

    def reaching(self, tick: int | None) -> Progress:
        """Complete up to a tick as well."""
        return replace(self, reached=greatest([self.reached, tick]))


@dataclass(frozen=True)
class AdvancedShard:
    """Where a micro-batch leaves a shard, and what changes in what the rule remembers."""

    progress: Progress
    punctuation: Punctuation
    changes: Mapping[ChunkKey, pa.Table | None] = field(default_factory=dict)


def punctuation(before: Progress, after: Progress, by_key: pa.Table | None = None) -> Punctuation:
    """What operators are told of a step from one progress to the next."""
    return Punctuation(
        before=before.reached,
        after=after.reached,
        largest=after.largest,
        ended=after.ended,
        over=before.ended,
        by_key=by_key,
    )


def greatest(values: Iterable[int | None]) -> int | None:
    """The greatest value that there is."""
    return max((value for value in values if value is not None), default=None)
