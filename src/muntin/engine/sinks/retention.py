"""How long the answers of live queries and dead letters are kept.

What a sink has not got yet stays, however old it is. Answers of queries that were dropped have a
time of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from muntin.engine.result_log import ResultLog
from muntin.engine.sinks.deliveries import Deliveries

#: Seconds between two looks at what is too old.
_EVERY = 60.0


@dataclass
class Retention:
    """Forgets what is older than some seconds, when micro-batches are committed.

    Args:
        seconds: How long answers and dead letters are kept.
        deliveries: Knows what sinks still need.
        log: Returns the log of a stream and an epoch; None if there is none.
        every: Seconds between two looks.
    """

    seconds: float
    deliveries: Deliveries
    log: Callable[[str, int], ResultLog | None]
    every: float = _EVERY
    _looked: dict[str, float] = field(default_factory=dict)

    def after_commit(self, stream: str, epoch: int, now: float | None = None) -> None:
        """Forget what is too old of a stream, unless somebody looked a short while ago."""
        now = time.time() if now is None else now
        if now - self._looked.get(stream, 0.0) < self.every:
            return
        self._looked[stream] = now
        oldest = now - self.seconds
        needed = self.deliveries.needed_from(stream)
        for number in range(1, epoch + 1):
            log = self.log(stream, number)
            if log is None:
                continue
            before = None
            if needed is not None and needed.epoch <= number:
                before = needed.micro_batch if needed.epoch == number else 0
            log.forget(before=before, written_before=oldest)
        self.deliveries.forget_letters(oldest)
