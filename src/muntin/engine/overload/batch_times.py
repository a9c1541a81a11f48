"""How long the micro-batches of a stream take, as a line over their rows [AV-28].

Starting and committing a micro-batch takes a time of its own, and every row adds to it. Both are
fitted to what was measured; nothing in an answer depends on them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

#: So many micro-batches are remembered, the newest ones.
_REMEMBERED = 128
#: A line is fitted if the largest micro-batch has so many times the rows of the smallest.
_SPREAD = 1.5
#: A micro-batch is predicted from at least so many that were measured.
FEWEST = 3


@dataclass(frozen=True)
class TimedBatch:
    """A micro-batch that is over: its number, its rows, and how many seconds it took.

    ``waiting`` is the number of rows or files that its source still has; None if the source does
    not tell. ``began`` is the time of the clock, in seconds since 1970.
    """

    number: int
    rows: int
    seconds: float
    waiting: int | None = None
    began: float = 0.0


@dataclass(frozen=True)
class TimeLine:
    """A line: ``fixed`` seconds for each micro-batch, and ``per_row`` seconds for each row."""

    fixed: float
    per_row: float

    def seconds(self, rows: float) -> float:
        """Return how long a micro-batch with so many rows takes."""
        return self.fixed + self.per_row * rows

    @property
    def capacity(self) -> float:
        """The rows a second that large micro-batches come to; infinite if rows take no time."""
        return 1 / self.per_row if self.per_row > 0 else float("inf")

    def steady(self, rate: float, interval: float = 0.0) -> float | None:
        """Return how long micro-batches take in the long run; None if they grow without end.

        A micro-batch has the rows that came since the one before it began. If micro-batches are
        begun every ``interval`` seconds, it is the time of one with the rows of so long.
        """
        if interval:
            return self.seconds(rate * interval)
        load = rate * self.per_row
        return self.fixed / (1 - load) if load < 1 else None


def fitted(measured: Sequence[TimedBatch]) -> TimeLine | None:
    """Return the line through micro-batches; None if too few were measured.

    Where the rows of all are alike, all of their time is counted as time of the rows.
    """
    own = [batch for batch in measured if batch.rows > 0]
    if len(own) < FEWEST:
        return None
    rows = [float(batch.rows) for batch in own]
    times = [batch.seconds for batch in own]
    if max(rows) < _SPREAD * min(rows):
        return TimeLine(0.0, median(t / n for t, n in zip(times, rows, strict=True)))
    middle_rows, middle_time = sum(rows) / len(rows), sum(times) / len(times)
    together = sum((n - middle_rows) * (t - middle_time) for n, t in zip(rows, times, strict=True))
    per_row = together / sum((n - middle_rows) ** 2 for n in rows)
    fixed = middle_time - per_row * middle_rows
    if fixed >= 0 and per_row > 0:
        return TimeLine(fixed, per_row)
    # Nothing takes less than no time, and no row takes none: the best line through the origin.
    return TimeLine(0.0, median(t / n for t, n in zip(times, rows, strict=True)))


@dataclass
class BatchTimes:
    """Remembers the newest micro-batches of a stream."""

    measured: list[TimedBatch] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, batch: TimedBatch) -> bool:
        """Remember a micro-batch; return whether it was new."""
        with self._lock:
            if self.measured and batch.number <= self.measured[-1].number:
                return False
            self.measured.append(batch)
            del self.measured[:-_REMEMBERED]
        return True

    def restart(self) -> None:
        """Forget numbers, because micro-batches are numbered from 0 again."""
        with self._lock:
            self.measured = [TimedBatch(-1, b.rows, b.seconds) for b in self.measured]

    @property
    def line(self) -> TimeLine | None:
        """The line through them; the first one of a process, which starts workers, is left out."""
        with self._lock:
            own = self.measured[1:] if len(self.measured) > FEWEST else [*self.measured]
        return fitted(own)

    @property
    def usual(self) -> float | None:
        """How many seconds a micro-batch usually takes; None if too few were measured."""
        with self._lock:
            times = [batch.seconds for batch in self.measured if batch.rows]
        return median(times) if len(times) >= FEWEST else None

    @property
    def json(self) -> list[dict[str, object]]:
        """What was measured, as plain data."""
        with self._lock:
            return [asdict(batch) for batch in self.measured]
