"""Following a query: its answers as an iterator, as they are committed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from muntin.engine.result_log import MICRO_BATCH

#: Seconds between two looks: short after an answer, longer while none comes.
_SHORTEST, _LONGEST = 0.05, 0.5


class FollowedQuery(Protocol):
    """A query whose answers can be read."""

    @property
    def status(self) -> str: ...
    def results(self, after: int = -1) -> pa.Table: ...


def follow(query: FollowedQuery, after: int, timeout: float | None) -> Iterator[pa.Table]:
    """Yield the answers of the micro-batches after one, each time that there are new ones.

    It ends when the query has ended or was dropped, or when nothing came for ``timeout`` seconds.
    """
    pause, silent = _SHORTEST, time.monotonic()
    while True:
        over = query.status in ("dropped", "ended")
        found = query.results(after)
        if found.num_rows:
            after = found[MICRO_BATCH][-1].as_py()
            yield found
            pause, silent = _SHORTEST, time.monotonic()
            continue
        if over or (timeout is not None and time.monotonic() - silent >= timeout):
            return
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
