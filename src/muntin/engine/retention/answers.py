"""How long answers can be read: those of live queries, and those of queries that were dropped.

Dead letters go with the answers of live queries.

Answers go a time after they were written, those of dropped queries a time after the drop. A sink
that has not delivered an answer yet holds back the answers of its query, also if it has stopped
itself: it goes on where it was, or is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from muntin.engine.registry import Registry
from muntin.engine.result_log import ResultLog
from muntin.engine.sinks.delivery_ledger import LogPosition

#: Seconds between two looks at what is old; a tenth of a shorter retention.
_LOOK = 60.0


@dataclass
class AnswerRetention:
    """Forgets the old answers of a stream.

    Args:
        stream: Its name.
        registry: Knows the queries and when they were dropped.
        seconds: How long answers of live queries can be read; None for ever.
        positions: Returns what the slowest sink of each query, by its id, is to get next.
        log: Returns the result log of an epoch; None if it has none.
        forget_letters: Forgets the dead letters of a stream's sinks before a time.
    """

    stream: str
    registry: Registry
    seconds: float | None
    positions: Callable[[str], Mapping[str, LogPosition]]
    log: Callable[[int], ResultLog | None]
    forget_letters: Callable[[str, float], None] = lambda stream, before: None
    _next: float = field(default=0.0, init=False)

    def forget_if_due(self, epoch: int) -> None:
        """Forget what is old, unless that was done just now."""
        now = time.time()
        if now < self._next:
            return
        self._next = now + (_LOOK if self.seconds is None else min(_LOOK, self.seconds / 10))
        self.forget(epoch, now)

    def forget(self, epoch: int, now: float) -> None:
        """Forget the answers that are old at a time, of all epochs up to one."""
        logs = {number: self.log(number) for number in range(1, epoch + 1)}
        self._forget_dropped([log for log in logs.values() if log is not None], now)
        if self.seconds is None:
            return
        self.forget_letters(self.stream, now - self.seconds)
        held = self._held()
        for number, log in logs.items():
            if log is not None:
                self._forget_old(number, log, held, now - self.seconds)

    def _forget_dropped(self, logs: list[ResultLog], now: float) -> None:
        expired = [one for one in self.registry.expired(now) if one.stream == self.stream]
        if not expired:
            return
        for log in logs:
            log.forget(members=[record.number for record in expired])
        self.registry.set_forgotten({record.id for record in expired})

    def _held(self) -> dict[int, LogPosition]:
        """Return the members whose answers sinks still want, and from where on."""
        return {
            generation.number: position
            for query_id, position in self.positions(self.stream).items()
            for generation in self.registry.generations(query_id)
        }

    def _forget_old(
        self, epoch: int, log: ResultLog, held: Mapping[int, LogPosition], before: float
    ) -> None:
        wanted = {member: place for member, place in held.items() if place.epoch <= epoch}
        log.forget(written_before=before, besides=[*wanted])
        for member, place in wanted.items():
            if place.epoch == epoch:
                log.forget(written_before=before, before=place.micro_batch, members=[member])
