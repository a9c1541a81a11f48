"""Threads for calls of the engine: none of them runs in the event loop.

Calls that wait (for a command, for rows) have threads of their own, so that a hundred people who
wait keep nobody from asking.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from muntin.server.problems import HttpError

T = TypeVar("T")

#: Threads for calls, and for calls that wait; and how many may queue for a thread.
CALLS, WAITS, QUEUED = 16, 64, 200


class Threads:
    """Runs calls in threads; refuses more than it can take."""

    def __init__(self, calls: int = CALLS, waits: int = WAITS, queued: int = QUEUED) -> None:
        self._calls = _Pool("muntin-call", calls, calls + queued)
        self._waits = _Pool("muntin-wait", waits, waits)

    async def run(self, call: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Return what a call returns."""
        return await self._calls.run(partial(call, *arguments, **named))

    async def wait(self, call: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Return what a call returns that may wait for long."""
        return await self._waits.run(partial(call, *arguments, **named))

    def close(self) -> None:
        """Take no more calls; those at work go on."""
        self._calls.close()
        self._waits.close()


class _Pool:
    """A number of threads, and a number of calls that may be under way."""

    def __init__(self, name: str, threads: int, most: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = most
        self._under_way = 0

    async def run(self, call: Callable[[], T]) -> T:
        if self._under_way >= self._most:
            raise HttpError(
                503,
                f"{self._most} calls are under way already",
                "try again in a second",
                {"Retry-After": "1"},
            )
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, call)
        finally:
            self._under_way -= 1

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
