"""Lines that come once, from a pipe or a socket, kept as small files that Spark can read again.

A micro-batch that fails is read a second time, and two queries may want the same lines; a pipe has
them once. So a thread writes what comes to a folder: a file at a time, closed when it is large or
old enough and moved into sight in one step. Spark's file source does the rest.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

#: A file is finished when it has so many bytes, or when it is so many seconds old.
MOST_BYTES, MOST_SECONDS = 4 * 2**20, 0.5
#: Reads what is there, at least one byte, up to so many; nothing at the end.
Read = Callable[[int], bytes]


@dataclass(eq=False)
class Spool:
    """A folder of files with whole lines, written by a thread until its input ends."""

    folder: Path
    read: Read
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin, and go on in a thread that does not keep the process alive."""
        self.folder.mkdir(parents=True, exist_ok=True)
        threading.Thread(target=self.run, name=f"spool {self.folder.name}", daemon=True).start()

    def is_over(self) -> bool:
        """Whether the input has ended and everything that came is in sight."""
        return self._over.is_set()

    def run(self) -> None:
        """Write until the input ends."""
        self.folder.mkdir(parents=True, exist_ok=True)
        pending = _Pending(self.folder)
        closer = threading.Thread(target=self._close_old, args=(pending,), daemon=True)
        closer.start()
        try:
            # An input that breaks has ended: what came before is worth as much.
            with suppress(OSError):
                while data := self.read(2**16):
                    pending.add(data)
        finally:
            pending.finish()
            self._over.set()

    def _close_old(self, pending: _Pending) -> None:
        """A line must not wait in an open file for the next one."""
        while not self._over.wait(MOST_SECONDS / 2):
            pending.publish(older_than=MOST_SECONDS)


class _Pending:
    """What has come and is not in sight yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._buffer = bytearray()
        self._since = 0.0
        # Names go up also where the clock went back, or the folder is of an earlier run.
        self._last = max((int(file.stem) for file in folder.glob("[0-9]*.txt")), default=0)

    def add(self, data: bytes) -> None:
        with self._lock:
            if not self._buffer:
                self._since = time.monotonic()
            self._buffer += data
            full = len(self._buffer) >= MOST_BYTES
        if full:
            self.publish(older_than=0)

    def publish(self, older_than: float) -> None:
        """Put all whole lines in sight, unless they came only just now."""
        with self._lock:
            end = self._buffer.rfind(b"\n") + 1
            if end and time.monotonic() - self._since >= older_than:
                self._put(bytes(self._buffer[:end]))
                del self._buffer[:end]
                self._since = time.monotonic()

    def finish(self) -> None:
        """Put the rest in sight; a last line may have no end."""
        with self._lock:
            if self._buffer:
                self._put(bytes(self._buffer))
                self._buffer.clear()

    def _put(self, lines: bytes) -> None:
        # Names in the order of time: Spark takes files by their times, which may be equal.
        self._last = max(self._last + 1, time.time_ns())
        name = f"{self._last:020d}.txt"
        hidden = self._folder / f".{name}"
        with hidden.open("wb") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(self._folder / name)
