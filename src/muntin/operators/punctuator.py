"""Where punctuation is made: from the progress of the rows and from control messages.

The one place that does; operators only read what comes out of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muntin.operators.protocol import Punctuation


@dataclass(frozen=True)
class Progress:
    """What a shard remembers of the stream's progress, in ticks."""

    largest: int | None = None
    told: int | None = None
    ended: bool = False


@dataclass(frozen=True)
class Punctuator:
    """``slack`` ticks behind the largest value seen; None follows control messages alone."""

    slack: int | None

    def advance(
        self,
        progress: Progress,
        seen: Iterable[int | None],
        told: Iterable[int | None],
        ended: bool,
    ) -> tuple[Progress, Punctuation]:
        """Take in what a micro-batch says; the punctuation takes effect at its end."""
        after = replace(
            progress,
            largest=_greatest([progress.largest, *seen]),
            told=_greatest([progress.told, *told]),
            ended=progress.ended or ended,
        )
        return after, Punctuation(
            before=self._value(progress),
            after=self._value(after),
            largest=after.largest,
            ended=after.ended,
            over=progress.ended,
        )

    def _value(self, progress: Progress) -> int | None:
        if self.slack is None or progress.largest is None:
            return progress.told
        return _greatest([progress.told, progress.largest - self.slack])


def _greatest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
