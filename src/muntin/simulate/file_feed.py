"""Simulated rows that arrive while you watch: files that appear in a folder as time goes by."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from muntin.errors import ArgumentError

#: Seconds for a file that is being written when the feed is closed.
_CLOSING = 10.0


@dataclass(frozen=True)
class Storm:
    """Some pieces arrive ``times`` as fast: those from ``first`` on, before ``end``."""

    first: int
    end: int
    times: int = 3


class FileFeed:
    """Writes pieces of a simulation as Parquet files, one after the other.

    The first piece is there at once, so that a stream can find its columns. The others come when
    the feed is started, one every ``every`` seconds, and faster in a storm.

    Args:
        pieces: The rows of each file.
        folder: Where the files appear; it is made if it is not there.
        every: Seconds between two files.
        storm: The pieces that arrive faster.

    >>> import tempfile, pyarrow as pa
    >>> folder = Path(tempfile.mkdtemp())
    >>> feed = FileFeed([pa.table({"x": [1]}), pa.table({"x": [2]})], folder, every=0.01)
    >>> feed.start()
    >>> feed.wait()
    >>> sorted(path.name for path in folder.iterdir())
    ['000000.parquet', '000001.parquet']
    """

    def __init__(
        self,
        pieces: Sequence[pa.Table],
        folder: Path,
        every: float = 1.0,
        storm: Storm | None = None,
    ) -> None:
        if not pieces:
            raise ArgumentError("pieces", pieces, "there must be at least one")
        if not every > 0:
            raise ArgumentError("every", every, "it is a number of seconds above zero")
        self._pieces, self._folder, self._every, self._storm = pieces, folder, every, storm
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="muntin-feed", daemon=True)
        folder.mkdir(parents=True, exist_ok=True)
        self.write(0)

    def start(self) -> None:
        """Let the other pieces arrive, in a thread."""
        self._thread.start()

    def wait(self) -> None:
        """Return when all pieces have arrived."""
        self._thread.join()

    def close(self) -> None:
        """Let no more pieces arrive."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSING)

    def pause_after(self, number: int) -> float:
        """Return the seconds from a piece to the next one."""
        storm = self._storm
        fast = storm is not None and storm.first <= number < storm.end
        return self._every / storm.times if storm is not None and fast else self._every

    def _run(self) -> None:
        for number in range(1, len(self._pieces)):
            if self._closed.wait(self.pause_after(number - 1)):
                return
            self.write(number)

    def write(self, number: int) -> None:
        """Let a piece arrive now."""
        # A file appears whole, since a stream looks for files all the time.
        hidden = self._folder / f".{number:06d}"
        pq.write_table(self._pieces[number], hidden)
        hidden.rename(self._folder / f"{number:06d}.parquet")
