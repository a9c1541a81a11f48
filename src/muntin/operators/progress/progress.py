"""The progress of a stream as a shard remembers it, the messages that advance it, and slack.

With slack, punctuation follows the largest value seen, at a length or a number of rows. The other
rules of disorder are subclasses of :class:`Punctuator`, in files of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints
from muntin.kernels.ticks import valid_ticks
from muntin.operators.protocol import ChunkKey, Punctuation, State
from muntin.specs.axis import Axis


@dataclass(frozen=True)
class ObservedRows:
    """The output of a punctuator's map side.

    ``rows`` are the data. ``everywhere`` is sent to every shard, ``keyed`` (with columns ``k0..``)
    to the shards of its keys. ``punctuations`` counts the rows that are punctuation.
    """

    rows: pa.Table
    everywhere: pa.Table | None = None
    keyed: pa.Table | None = None
    punctuations: int = 0


@dataclass(frozen=True)
class ProgressMessages:
    """The messages of a micro-batch about progress.

    ``seen`` has the largest ticks of the tasks. ``announced``, ``clock``, ``ended`` and
    ``announced_keys``, punctuation for single keys, come from control rows. ``everywhere`` and
    ``keyed`` come from the punctuator's map side.
    """

    seen: Sequence[int | None] = ()
    announced: Sequence[int | None] = ()
    clock: Sequence[int | None] = ()
    ended: bool = False
    everywhere: Sequence[pa.Table] = ()
    keyed: Sequence[pa.Table] = ()
    announced_keys: Sequence[pa.Table] = ()


@dataclass(frozen=True)
class Progress:
    """How far a stream has progressed, in ticks; small, because every micro-batch writes it.

    ``reached`` is the punctuation of the whole stream. ``lead`` is the largest value minus the
    slack. Both are stored and not derived, so that they never go back, even if a restart brings a
    larger slack. ``clock`` is the latest tick of the clock and ``since`` is its first.
    """

    largest: int | None = None
    reached: int | None = None
    lead: int | None = None
    clock: int | None = None
    since: int | None = None
    ended: bool = False

    def after(self, heard: ProgressMessages, slack: int | None) -> Progress:
        """Return the progress after a micro-batch, before the disorder rule is applied."""
        largest = greatest([self.largest, *heard.seen])
        clock = greatest([self.clock, *heard.clock])
        lead = None if slack is None or largest is None else largest - slack
        return Progress(
            largest=largest,
            reached=greatest([self.reached, *heard.announced]),
            lead=greatest([self.lead, lead]),
            clock=clock,
            since=clock if self.since is None else self.since,
            ended=self.ended or heard.ended,
        )

    def reaching(self, tick: int | None) -> Progress:
        """Return this progress with ``reached`` at or above a tick."""
        return replace(self, reached=greatest([self.reached, tick]))


@dataclass(frozen=True)
class AdvancedShard:
    """The progress and punctuation of a shard after a micro-batch, and changes of its state."""

    progress: Progress
    punctuation: Punctuation
    changes: Mapping[ChunkKey, pa.Table | None] = field(default_factory=dict)


def punctuation(before: Progress, after: Progress, by_key: pa.Table | None = None) -> Punctuation:
    """Return the punctuation of a step from one progress to the next."""
    return Punctuation(
        before=before.reached,
        after=after.reached,
        largest=after.largest,
        ended=after.ended,
        over=before.ended,
        by_key=by_key,
    )


def greatest(values: Iterable[int | None]) -> int | None:
    """Return the greatest value that is not None; None if there is none."""
    return max((value for value in values if value is not None), default=None)


@dataclass(frozen=True)
class Punctuator:
    """Punctuation ``slack`` ticks below the largest value seen.

    With ``slack`` None only control messages bring punctuation. The other rules are subclasses.
    """

    slack: int | None

    @property
    def announced_keys(self) -> tuple[pa.DataType, ...] | None:
        """The types of keys that control rows may punctuate; None if the rule knows no keys."""
        return None

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
