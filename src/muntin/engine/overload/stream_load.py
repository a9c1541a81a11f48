"""The load of a stream: how long its micro-batches take, and how late its answers come.

Figures of the clock are never decided by in a task. They are measured here, in the driver, and a
decision that is made by them is pinned to the micro-batches after it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muntin.engine.overload.batch_times import BatchTimes, TimedBatch
from muntin.specs.lengths import Duration, parse_length

#: What sources call that which waits, in the order in which it is looked for.
_WAITING = ("maxOffsetsBehindLatest", "avgOffsetsBehindLatest", "numFilesOutstanding")
_MICROSECONDS, _MILLISECONDS = 1_000_000, 1_000
#: A micro-batch that begins later than so many seconds after the one before was not waited for.
_BREAK = 0.5


@dataclass
class StreamLoad:
    """Measures the micro-batches of a stream, and the delay of its answers at delivery.

    The delay of an answer is the time from the earliest arrival of the rows that completed it: the
    rows of a micro-batch arrived after those of the one before it were taken [AU-3, AV-14]. The
    time that a window waits for its own end is no delay.
    """

    interval: float = 0.0
    times: BatchTimes = field(default_factory=BatchTimes)
    delays: dict[int, float] = field(default_factory=dict)
    gap: float = 0.0
    _began: float | None = None
    _committed: float = 0.0

    def start(self, trigger: Mapping[str, Any] | None) -> None:
        """Note that a streaming query begins: what came before waited for it, not for work."""
        self.interval, self._began = interval_of(trigger), None
        self.times.restart()

    def commit(
        self, number: int, began: float, rows: int, answered: Iterable[int], report: Any = None
    ) -> None:
        """Note that a micro-batch is committed.

        Args:
            number: Its number.
            began: When it began, in seconds since 1970.
            rows: The rows that its tasks read.
            answered: The members with answers.
            report: Spark's report about the micro-batch before it.
        """
        now, before = time.time(), self._began
        self.times.take(TimedBatch(number, rows, now - began, waiting_after(report), began))
        # Without a break, rows came since the micro-batch before took its own.
        busy = before is not None and began - self._committed <= max(_BREAK, self.interval)
        earliest = before if busy and before is not None else began - self.interval
        self.gap = began - earliest
        self.delays |= dict.fromkeys(answered, max(0.0, now - earliest))
        self._began, self._committed = began, now

    def delay(self, member: int) -> float | None:
        """Return the delay of the last answers of a member, in seconds; None before any."""
        return self.delays.get(member)


def began_at(checkpoint: Path, micro_batch: int) -> float:
    """Return when a micro-batch began, in seconds since 1970, as its checkpoint has it.

    A micro-batch that is repeated began when it was run first.
    """
    try:
        _, metadata, *_ = (checkpoint / "offsets" / str(micro_batch)).read_text().splitlines()
        return float(json.loads(metadata)["batchTimestampMs"]) / _MILLISECONDS
    except (OSError, ValueError, KeyError):  # no file of this machine, or of another Spark
        return time.time()


def waiting_after(report: Any) -> int | None:
    """Return what waits in the sources after a micro-batch; None if they do not tell."""
    sources = () if report is None else report.sources
    waiting = [found for source in sources if (found := _waiting(source)) is not None]
    return sum(waiting) if waiting else None


def _waiting(source: Any) -> int | None:
    metrics: Mapping[str, str] = source.metrics or {}
    for name in _WAITING:
        if name in metrics:
            return round(float(metrics[name]))
    return None


def interval_of(trigger: Mapping[str, Any] | None) -> float:
    """Return the seconds between two micro-batches that a trigger asks for; 0 without.

    >>> interval_of({"processingTime": "2 seconds"}), interval_of(None)
    (2.0, 0.0)
    """
    if trigger is None or "processingTime" not in trigger:
        return 0.0
    length = parse_length("trigger", str(trigger["processingTime"]))
    assert isinstance(length, Duration)  # Spark reads it as one
    return length.micros / _MICROSECONDS
