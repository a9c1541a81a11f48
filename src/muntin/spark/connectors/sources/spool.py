"""Lines that come only once, from a pipe or a socket, kept as files that Spark can read again.

A micro-batch that fails is read a second time, and two queries may read the same lines; a pipe has
them once. So a thread writes the lines to a folder, one file at a time. A file becomes visible in
one step when it is large or old enough. Spark's file source does the rest.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from muntin.errors import SpoolError

#: A file is finished when it has this many bytes, or is this many seconds old.
MOST_BYTES, MOST_SECONDS = 4 * 2**20, 0.5
#: A line may have this many bytes: without an end it would fill the memory.
MOST_LINE = 64 * 2**20
#: A write that fails is tried again for so many seconds; meanwhile nothing more is read.
PATIENCE, PAUSE = 30.0, 0.2
#: Reads at least one byte and at most the given number; no byte is the end.
Read = Callable[[int], bytes]


@dataclass(eq=False)
class Spool:
    """A folder of files with whole lines, written by a thread until its input ends.

    Every line that is read comes into the folder. If that is impossible, :meth:`is_over` raises and
    says how many lines are missing.
    """

    folder: Path
    read: Read
    _over: threading.Event = field(default_factory=threading.Event)
    _failed: SpoolError | None = None

    def start(self) -> None:
        """Write in a thread that does not keep the process alive."""
        self.folder.mkdir(parents=True, exist_ok=True)
        threading.Thread(target=self._work, name=f"spool {self.folder.name}", daemon=True).start()

    def is_over(self) -> bool:
        """Return whether the input has ended and all of it is visible; raise if lines are lost."""
        if self._failed is not None:
            raise self._failed
        return self._over.is_set()

    def run(self) -> None:
        """Write until the input ends; raise if lines could not be written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._work()
        self.is_over()

    def _work(self) -> None:
        pending = _Pending(self.folder)
        closer = threading.Thread(target=self._close_old, args=(pending,), daemon=True)
        closer.start()
        try:
            while self._failed is None and (data := self._next()):
                pending.add(data)
                if pending.is_full():
                    self._kept(pending, lambda: pending.publish(older_than=0))
            self._kept(pending, pending.finish)
        except SpoolError as error:
            self._failed = error
        finally:
            self._over.set()

    def _next(self) -> bytes:
        """Return what comes next. An input that breaks has ended; what came before it counts."""
        try:
            return self.read(2**16)
        except OSError:
            return b""

    def _close_old(self, pending: _Pending) -> None:
        """Publish lines that wait in an open file while no others come."""
        while not self._over.wait(MOST_SECONDS / 2):
            try:
                self._kept(pending, lambda: pending.publish(older_than=MOST_SECONDS))
            except SpoolError as error:
                self._failed = error
                return

    def _kept(self, pending: _Pending, write: Callable[[], None]) -> None:
        """Write lines; try again while that fails, and raise when patience is over."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return write()
            except OSError as error:
                if time.monotonic() > until or self._failed is not None:
                    raise SpoolError(pending.line_count(), self.folder.name, error) from error
            time.sleep(PAUSE)


class _Pending:
    """The lines that have come and are not visible yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._buffer = bytearray()
        self._since = 0.0
        # Names increase even if the clock went back, or the folder is of an earlier run.
        self._last = max((int(file.stem) for file in folder.glob("[0-9]*.txt")), default=0)

    def add(self, data: bytes) -> None:
        """Take in what was read."""
        with self._lock:
            if not self._buffer:
                self._since = time.monotonic()
            self._buffer += data
            if len(self._buffer) - self._buffer.rfind(b"\n") > MOST_LINE:
                raise SpoolError(1, self._folder.name, OSError(f"it has over {MOST_LINE:,} bytes"))

    def is_full(self) -> bool:
        """Return whether what is here makes a file."""
        return len(self._buffer) >= MOST_BYTES

    def line_count(self) -> int:
        """Return how many lines are not visible, the last of which may have no end."""
        with self._lock:
            unended = bool(self._buffer) and not self._buffer.endswith(b"\n")
            return self._buffer.count(b"\n") + unended

    def publish(self, older_than: float) -> None:
        """Make all whole lines visible, unless they came only just now."""
        with self._lock:
            end = self._buffer.rfind(b"\n") + 1
            if end and time.monotonic() - self._since >= older_than:
                self._put(bytes(self._buffer[:end]))
                del self._buffer[:end]
                self._since = time.monotonic()

    def finish(self) -> None:
        """Make the rest visible; the last line may have no end."""
        with self._lock:
            if self._buffer:
                self._put(bytes(self._buffer))
                self._buffer.clear()

    def _put(self, lines: bytes) -> None:
        # Names in the order of time, because Spark sorts files by times, which may be equal.
        self._last = max(self._last + 1, time.time_ns())
        name = f"{self._last:020d}.txt"
        hidden = self._folder / f".{name}"
        with hidden.open("wb") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(self._folder / name)


@dataclass(frozen=True)
class SpoolCleanup:
    """Removes the files of a spool that every query has read for good.

    Spark's own ``cleanSource`` removes a file when one query has read it. Here several queries read
    the same lines: every query over them, and the one that keeps malformed lines. ``metric`` is the
    metric in which queries report the last file they have read.
    """

    folder: Path
    metric: str

    def remove(self, queries: Sequence[StreamingQuery]) -> int:
        """Remove the files that all of these queries have committed; return how many.

        No other query may ever read them.
        """
        bounds = []
        for query in queries:
            reports = query.recentProgress
            if not reports:
                return 0  # it may read this spool, and has read nothing yet
            if any(source.description == self._described for source in reports[-1].sources):
                bounds.append(self._read(query))
        last = min(bounds, default="")
        read = [file for file in self.folder.glob("*.txt") if file.name <= last]
        for file in read:
            file.unlink(missing_ok=True)
        return len(read)

    @property
    def _described(self) -> str:
        return f"FileStreamSource[file:{self.folder.absolute()}]"

    def _read(self, query: StreamingQuery) -> str:
        """Return the last file that a query will never read again; empty if there is none.

        Files become visible in the order of their names, but listing a folder takes a moment: a
        listing may have a file and lack the one before it. The next listing has both. So the files
        of a micro-batch count only when a later one is whole, too. Spark reports a micro-batch
        after it is committed, and never reads it again from then on.
        """
        reports = query.recentProgress
        newest = max(report.batchId for report in reports)
        rows = [r.observedMetrics.get(self.metric) for r in reports if r.batchId < newest]
        return max((row["last"] for row in rows if row is not None and row["last"]), default="")
