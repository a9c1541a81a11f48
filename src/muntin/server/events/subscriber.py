"""A subscriber: one stream of events of a page, with all the queries that it watches.

The events are:

``hello``
    The first one. Its id is where the subscriber begins.
``rows``
    ``{"query", "generation", "micro_batch", "rows"}``: answers, in the order in which they were
    committed.
``skipped``
    ``{"rows", "queries", "reason"}``: how many rows were left out, of all queries and of each, and
    why; null where nobody knows any more how many there were.
``status``
    ``{"at", "streams", "queries"}``: what changes about streams and queries, about once a second.
``close``
    ``{"reason"}``: the last one. ``stopping``: the server stops. ``session``: the session is over.
    ``overflow``: the subscriber was too slow, and asked to be closed then.

The id of every event says all that has come before it. Whoever connects again with it, as
``Last-Event-ID`` or ``last_event_id=``, gets what followed: nothing twice, and nothing left out.

What happens when more than ``queue_rows`` rows wait for a subscriber is its own choice, by
``overflow=``. ``skip``: the oldest are left out, and a ``skipped`` event counts them. ``wait``:
they wait in the result log, as long as it retains them. ``close``: it is closed, and can come
again.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from muntin.errors import ArgumentError, UnknownQueryError
from muntin.server.events.event_ids import EventId, Place
from muntin.server.events.feed import Backlog, Pending, skipped
from muntin.server.events.hub import EventHub
from muntin.server.events.watched import Watched

Overflow = Literal["skip", "wait", "close"]
#: Seconds of silence after which a comment keeps the connection open.
_PING_EVERY = 15.0
_PING = b": still here\n\n"
#: The queries that one subscriber can watch.
MOST_WATCHED = 500


@dataclass
class Subscriber:
    """What one page watches, and how far it is.

    Args:
        hub: What feeds it.
        watched: The queries.
        known: How far it is.
        status: Whether it gets status events.
        overflow: What happens when too many rows wait for it.
        queue_rows: How many rows may wait.
        valid: Returns whether the caller may still watch.
        gone: Returns whether the connection is closed.
    """

    hub: EventHub
    watched: frozenset[Watched]
    known: EventId
    status: bool = False
    overflow: Overflow = "skip"
    queue_rows: int = 10_000
    valid: Callable[[], bool] = lambda: True
    gone: Callable[[], Awaitable[bool]] | None = None
    _caught_up: bool = False
    _status_at: float = 0.0
    _sent_at: float = field(default_factory=time.monotonic)

    async def events(self) -> AsyncIterator[bytes]:
        """Yield events until the server stops, the session ends, or the subscriber is gone."""
        self.hub.enter()
        try:
            yield self._named("hello", {"overflow": self.overflow, "queue_rows": self.queue_rows})
            while (reason := self._over()) is None:
                missing = await self._missing()
                async for event in self._sent(missing):
                    self._sent_at = time.monotonic()
                    yield event
                if self.overflow == "close" and self._too_many(missing):
                    reason = "overflow"
                    break
                self._caught_up = True
                async for event in self._between():
                    yield event
                if self.gone is not None and await self.gone():
                    return
                if not missing.rows:
                    await self.hub.wait(self._pause())
            yield self._named("close", {"reason": reason})
        finally:
            self.hub.leave()

    def _over(self) -> str | None:
        if self.hub.closing:
            return "stopping"
        return None if self.valid() else "session"

    async def _missing(self) -> Backlog:
        if not self.watched:
            return Backlog()
        try:
            return await self.hub.missing(self.watched, self.known)
        except UnknownQueryError:  # it was dropped, and its day is over
            return Backlog()

    def _too_many(self, missing: Backlog) -> bool:
        return self._caught_up and missing.count > self.queue_rows

    async def _sent(self, missing: Backlog) -> AsyncIterator[bytes]:
        """Yield what is missing, or what the policy leaves of it."""
        if self.overflow == "close" and self._too_many(missing):
            return
        lost = dict(missing.forgotten or {})
        if lost:
            for stream, place in lost.values():
                self._go_to(stream, max(self.known.places[stream], place))
            yield self._skipped(None, dict.fromkeys(lost), "not retained")
        pending = missing.rows
        if self.overflow == "skip" and missing.count > self.queue_rows:
            pending, counts = skipped(missing, self.queue_rows)
            for own in _left_out(missing.rows, pending):
                self._go_to(own.stream, own.place)
            self.hub.skipped_rows += sum(counts.values())
            yield self._skipped(sum(counts.values()), counts, "too slow")
        for own in pending:
            left: Pending | None = own
            while left is not None:
                before = left
                event, left = await self.hub.event(before)
                self._go_to(own.stream, before.place if left is None else _before(left))
                self.hub.sent_rows += before.rows - (0 if left is None else left.rows)
                yield self._with_id(event)

    async def _between(self) -> AsyncIterator[bytes]:
        """Yield the status if it is time for it, and what keeps the connection open."""
        now = time.monotonic()
        if self.status and now >= self._status_at:
            self._status_at = now + self.hub.status_every
            self._sent_at = now
            yield self._with_id(await self.hub.status())
        elif now - self._sent_at >= _PING_EVERY:
            self._sent_at = now
            yield _PING

    def _pause(self) -> float:
        now = time.monotonic()
        until = self._sent_at + _PING_EVERY
        return min(until, self._status_at if self.status else until) - now

    def _go_to(self, stream: str, place: Place) -> None:
        self.known = self.known.with_place(stream, place)

    def _skipped(self, rows: int | None, queries: Mapping[str, int | None], reason: str) -> bytes:
        return self._named("skipped", {"rows": rows, "queries": dict(queries), "reason": reason})

    def _named(self, name: str, data: Mapping[str, object]) -> bytes:
        event = f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
        return self._with_id(event)

    def _with_id(self, event: bytes) -> bytes:
        return b"id: %s\n%s" % (str(self.known).encode(), event)


def _before(left: Pending) -> Place:
    """Return the place before what is left of an answer."""
    return Place(left.epoch, left.micro_batch, left.member.number, left.first)


def _left_out(before: tuple[Pending, ...], after: tuple[Pending, ...]) -> list[Pending]:
    """Return, by stream, the last answer of which rows are left out, as far as they are."""
    first = {(own.stream, own.epoch, own.micro_batch, own.member.number): own for own in after}
    left: dict[str, Pending] = {}
    for own in before:
        kept = first.get((own.stream, own.epoch, own.micro_batch, own.member.number))
        cut = own.rows if kept is None else kept.first - own.first
        if cut:
            left[own.stream] = Pending(
                *(own.stream, own.epoch, own.micro_batch, own.member), own.first, cut
            )
    return [*left.values()]


def read_watched(text: str) -> frozenset[Watched]:
    """Return the queries of a list with commas."""
    words = [word for word in text.split(",") if word]
    if len(words) > MOST_WATCHED:
        raise ArgumentError("queries", len(words), f"one page watches at most {MOST_WATCHED}")
    return frozenset(Watched.of(word) for word in words)
