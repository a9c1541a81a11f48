"""All sinks and triggers of an engine: each delivers by itself, none waits for another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path

from muntin.engine.registry import Registry
from muntin.engine.result_log import ResultLog
from muntin.engine.sinks.delivery import PAUSE, Delivery
from muntin.engine.sinks.delivery_ledger import DeadLetter, DeliveryLedger, LogPosition
from muntin.engine.sinks.sink_call import SinkCall, SinkRecord
from muntin.engine.sinks.targets import RowTarget, Target
from muntin.errors import ArgumentError
from muntin.specs.secrets import without_secrets_in

#: How many sinks deliver at the same time.
_WORKERS = 16

#: Sinks whose rows end with the process: in the next one they get everything again.
_OF_THE_PROCESS = {"memory"}
#: Opens what receives answers, from a call and the name of its query.
OpenTarget = Callable[[SinkCall, str], Target]


@dataclass(frozen=True)
class SinkStatus:
    """How far a sink is: what comes next, what it delivered in this process, and what failed."""

    record: SinkRecord
    position: LogPosition
    delivered: int
    letters: int
    stopped: str | None


class Deliveries:
    """The sinks of all streams of a home.

    Args:
        registry: Knows the sinks and the generations of their queries.
        home: The folder of the engine.
        open_target: Opens what receives answers; raises if a call cannot work.
        log: Returns the result log of a stream's epoch; None if there is none.
        zone: The zone in which triggers' rows write times.
    """

    def __init__(
        self,
        registry: Registry,
        home: Path,
        open_target: OpenTarget,
        log: Callable[[str, int], ResultLog | None],
        *,
        zone: tzinfo = UTC,
        pause: float = PAUSE,
    ) -> None:
        self._registry, self._open, self._log = registry, open_target, log
        self._zone, self._pause = zone, pause
        self._ledger = DeliveryLedger(home / "deliveries.db")
        self._closed = False
        self._beginning = 0
        self._changed = threading.Condition()
        self._deliveries: dict[int, Delivery] = {}
        self._until: dict[str, LogPosition] = {}
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="muntin sink")

    def check(self, call: SinkCall, query: str) -> None:
        """Raise if a call cannot work, before anything is registered."""
        self._open(call, query)

    def deliver(self, stream: str, epoch: int, micro_batch: int) -> None:
        """Let the sinks of a stream deliver what is committed; return at once."""
        with self._changed:
            if self._closed:
                return
            self._until[stream] = LogPosition(epoch, micro_batch + 1)
            self._beginning += 1
            self._pool.submit(self._begin_all, stream)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what is committed is delivered, or cannot be; False if it takes longer."""
        with self._changed:
            return self._changed.wait_for(self._idle, timeout)

    def status(self, query_id: str | None = None) -> list[SinkStatus]:
        """Return how far the sinks are, those of a query or all."""
        return [
            SinkStatus(
                delivery.record,
                delivery.position,
                delivery.delivered,
                len(self._ledger.letters(delivery.record.number)),
                delivery.stopped,
            )
            for delivery in self._deliveries.values()
            if query_id in (None, delivery.record.query_id)
        ]

    def resume(self, number: int) -> None:
        """Let a sink that stopped itself go on where it was."""
        with self._changed:
            stopped = self._known(number)
            self._ledger.resume(number)
            self._begin(self._opened(stopped.record))

    def letters(self, number: int) -> list[DeadLetter]:
        """Return the dead letters of a trigger."""
        return self._ledger.letters(number)

    def redeliver(self, number: int) -> int:
        """Try the dead letters of a trigger again; return how many could be delivered."""
        with self._changed:
            delivery = self._known(number)
            self._changed.wait_for(lambda: not delivery.busy)
            delivery.busy = True
        try:
            return delivery.redeliver() if isinstance(delivery.target, RowTarget) else 0
        finally:
            self._ended(delivery)

    def needed_from(self, stream: str) -> dict[str, LogPosition]:
        """Return by query what its slowest sink gets next; queries without sinks are not there."""
        needed: dict[str, LogPosition] = {}
        for record in self._registry.sinks(stream):
            position = self._position(record)
            if position is not None:
                before = needed.get(record.query_id, position)
                needed[record.query_id] = min(before, position)
        return needed

    def _position(self, record: SinkRecord) -> LogPosition | None:
        """Return what a sink gets next; None if it begins again with what is there then."""
        delivery = self._deliveries.get(record.number)
        if delivery is not None:
            return delivery.position
        if record.call.connector.lower() in _OF_THE_PROCESS:
            return None
        return self._ledger.position(record.number) or LogPosition(*record.first)

    def forget_letters(self, stream: str, before: float) -> None:
        """Forget the dead letters of a stream's sinks that are older than a time."""
        for record in self._registry.sinks(stream):
            self._ledger.forget_letters(record.number, before)

    def drop(self, number: int) -> None:
        """Forget a sink that was dropped from the registry."""
        with self._changed:
            delivery = self._deliveries.pop(number, None)
            if delivery is not None:
                delivery.closing.set()
                self._changed.wait_for(lambda: not delivery.busy)
        self._ledger.remove(number)

    def close(self) -> None:
        """End deliveries; they go on in the next process where they are."""
        with self._changed:
            self._closed = True
            for delivery in self._deliveries.values():
                delivery.closing.set()
        self._pool.shutdown(wait=True)
        self._ledger.close()

    def _opened(self, record: SinkRecord) -> Delivery:
        query = self._registry.get(record.query_id)
        stopped = None
        try:
            target = self._open(record.call, query.name or query.id)
        except Exception as error:  # as if the sink had failed: the others go on
            target, stopped = _nobody(), f"it cannot be opened: {without_secrets_in(str(error))}"
        delivery = Delivery(
            record,
            target,
            self._ledger,
            lambda: self._registry.generations(record.query_id),
            lambda epoch: self._log(record.stream, epoch),
            self._registry.identity,
            self._zone,
            pause=self._pause,
        )
        delivery.stopped = stopped or delivery.stopped
        if record.call.connector.lower() in _OF_THE_PROCESS:
            delivery.position = LogPosition(*record.first)
        self._deliveries[record.number] = delivery
        return delivery

    def _begin_all(self, stream: str) -> None:
        """Begin the deliveries of a stream; not in the thread that commits, which has no time."""
        try:
            for record in self._registry.sinks(stream):
                with self._changed:
                    delivery = self._deliveries.get(record.number) or self._opened(record)
                    self._begin(delivery)
        finally:
            with self._changed:
                self._beginning -= 1
                self._changed.notify_all()

    def _begin(self, delivery: Delivery) -> None:
        if delivery.busy or delivery.stopped is not None or self._closed:
            return
        if delivery.position < self._until[delivery.record.stream]:
            delivery.busy = True
            self._pool.submit(self._run, delivery)

    def _run(self, delivery: Delivery) -> None:
        try:
            delivery.advance(self._until[delivery.record.stream])
        except Exception as error:  # of the log or the ledger, not of the sink
            delivery.stopped = f"{type(error).__name__}: {error}"
        self._ended(delivery)

    def _ended(self, delivery: Delivery) -> None:
        with self._changed:
            delivery.busy = False
            self._begin(delivery)
            self._changed.notify_all()

    def _idle(self) -> bool:
        return self._beginning == 0 and not any(
            delivery.busy for delivery in self._deliveries.values()
        )

    def _known(self, number: int) -> Delivery:
        if number not in self._deliveries:
            known = ", ".join(map(str, self._deliveries)) or "none"
            raise ArgumentError("number", number, f"the sinks that deliver are: {known}")
        return self._deliveries[number]


def _nobody() -> Target:
    """Return a target for a sink that could not be opened; nothing is delivered to it."""

    def refuse(row: str, key: str | None = None) -> None:
        raise NotImplementedError

    return RowTarget(refuse, 1)
