"""The hub: wakes subscribers when a micro-batch is committed, and works once for all of them.

Everything here runs in the event loop, except what it gives to threads.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from muntin.server.events.event_ids import EventId
from muntin.server.events.feed import AnswerFeed, Backlog, FedEngine, Pending
from muntin.server.events.watched import Watched
from muntin.server.problems import HttpError
from muntin.server.threads import Threads

T = TypeVar("T")

#: Seconds between two reports of the status, if few watch.
STATUS_EVERY = 1.0
#: The bytes of status a second that are sent to all subscribers together.
_STATUS_BYTES = 20_000_000
#: How many answers of the registry and the index are kept until the next commit.
_KEPT = 1_000


class EventHub:
    """Feeds subscribers.

    Args:
        engine: The engine whose commits wake them.
        feed: What reads its answers.
        threads: Where it is read.
        status: Returns what status events have.
        most: How many subscribers there can be.
    """

    def __init__(
        self,
        engine: FedEngine,
        feed: AnswerFeed,
        threads: Threads,
        status: Callable[[], Mapping[str, Any]],
        most: int,
    ) -> None:
        self._feed, self._threads, self._status = feed, threads, status
        self._most = most
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._commits = 0
        self._under_way: OrderedDict[Hashable, asyncio.Future[Any]] = OrderedDict()
        self._newest_status: tuple[float, bytes] = (0.0, b"")
        self.subscribers = 0
        self.closing = False
        self.sent_rows = 0
        self.skipped_rows = 0
        self._remove = engine.committed.add(self._committed)

    def close(self) -> None:
        """Let all subscribers come to their end."""
        self._remove()
        self.closing = True
        self._call(self._wake)

    def check_room(self) -> None:
        """Raise if there are too many subscribers."""
        if self.subscribers >= self._most:
            raise HttpError(
                503,
                f"{self._most:,} subscribers watch already",
                "try again later, or start the server with more, --subscribers",
                {"Retry-After": "5"},
            )

    def enter(self) -> None:
        """Count a subscriber."""
        self._loop = asyncio.get_running_loop()
        self.subscribers += 1

    def leave(self) -> None:
        """Count a subscriber that is gone."""
        self.subscribers -= 1

    async def begin(self, watched: frozenset[Watched], known: EventId) -> EventId:
        """Return where a subscriber begins."""
        return await self._threads.run(self._feed.begin, watched, known)

    async def missing(self, watched: frozenset[Watched], known: EventId) -> Backlog:
        """Return what a subscriber has not got; those at one place are answered together."""
        key = ("missing", watched, tuple(known.places.items()), self._commits)
        return await self._once(key, lambda: self._feed.missing(watched, known))

    async def event(self, pending: Pending) -> tuple[bytes, Pending | None]:
        """Return an event with rows, and what is left of them."""
        return await self._once(("event", pending), lambda: self._feed.event(pending))

    async def status(self) -> bytes:
        """Return the newest status as an event, made at most once in a while for all."""
        made, event = self._newest_status
        if time.monotonic() - made < self.status_every / 2:
            return event
        return await self._once(("status", made), self._made_status)

    @property
    def status_every(self) -> float:
        """Seconds between two reports of the status: longer if they are large, or go to many."""
        all_bytes = len(self._newest_status[1]) * max(1, self.subscribers)
        return max(STATUS_EVERY, all_bytes / _STATUS_BYTES)

    async def wait(self, seconds: float) -> None:
        """Wait until something is committed, at most so long."""
        try:
            await asyncio.wait_for(self._changed.wait(), max(0.0, seconds))
        except TimeoutError:
            return

    def _made_status(self) -> bytes:
        data = {"at": datetime.now(UTC).isoformat(), **self._status()}
        event = b"event: status\ndata: %s\n\n" % json.dumps(data, ensure_ascii=False).encode()
        self._newest_status = (time.monotonic(), event)
        return event

    async def _once(self, key: Hashable, work: Callable[[], T]) -> T:
        """Return what some work returns, which is done once for all who ask for it."""
        future = self._under_way.get(key)
        if future is None:
            future = asyncio.ensure_future(self._threads.run(work))
            self._under_way[key] = future
            while len(self._under_way) > _KEPT:
                self._under_way.popitem(last=False)
            future.add_done_callback(lambda done: self._forget_failed(key, done))
        # One who goes away must not cancel the work of the others.
        result: T = await asyncio.shield(future)
        return result

    def _forget_failed(self, key: Hashable, done: asyncio.Future[Any]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._under_way.pop(key, None)

    def _committed(self, stream: str, epoch: int, micro_batch: int) -> None:
        """Wake everybody; the thread that commits does not wait for it."""
        self._call(self._wake)

    def _call(self, call: Callable[[], None]) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(call)

    def _wake(self) -> None:
        self._commits += 1
        self._under_way.clear()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
