"""Who is called when a micro-batch of a stream is committed and its answers can be read."""

from __future__ import annotations

import threading
from collections.abc import Callable

#: Called with the stream, the epoch and the micro-batch, in the thread that commits: it returns at
#: once and raises nothing.
CommitListener = Callable[[str, int, int], None]


class CommitListeners:
    """Calls listeners in the order in which they were added.

    >>> seen = []
    >>> listeners = CommitListeners(lambda *commit: seen.append(commit))
    >>> remove = listeners.add(lambda stream, epoch, micro_batch: seen.append(micro_batch))
    >>> listeners("traffic", 1, 7)
    >>> remove(); listeners("traffic", 1, 8)
    >>> seen
    [('traffic', 1, 7), 7, ('traffic', 1, 8)]
    """

    def __init__(self, *first: CommitListener) -> None:
        self._listeners = first
        self._lock = threading.Lock()

    def add(self, listener: CommitListener) -> Callable[[], None]:
        """Add a listener; return what removes it."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def remove() -> None:
            with self._lock:
                self._listeners = tuple(own for own in self._listeners if own is not listener)

        return remove

    def __call__(self, stream: str, epoch: int, micro_batch: int) -> None:
        for listener in self._listeners:
            listener(stream, epoch, micro_batch)
