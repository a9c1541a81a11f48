"""How far long commands are: one changing line on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from muntin.spark.queries.progress import RunProgress

#: A command that is quicker than this shows nothing. Also the seconds between two lines of JSON.
QUIET_SECONDS = 1.0
#: Seconds between two lines where standard error is a file, in which lines stay.
FILE_SECONDS = 10.0
_DRAWN_SECONDS = 0.2


class CommandProgress:
    """Prints how far a command is, on standard error: standard output is for results."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self._json = as_json
        self._shown = 0
        self._last = time.monotonic()
        self._silent = quiet
        self._drawn = not as_json and sys.stderr.isatty()
        self._lock = threading.RLock()

    def show(self, query: str, progress: RunProgress) -> None:
        """Show how a query is going, unless something was shown only just now."""
        now = time.monotonic()
        if self._silent or now - self._last < (_DRAWN_SECONDS if self._drawn else self._pause):
            return
        self._last = now
        if self._json:
            _echo_json({"query": query, **progress.as_dict()})
        else:
            self._write(line_of(progress))

    def clear(self) -> None:
        """Remove the line, before something else is printed."""
        if self._shown:
            click.echo("\r" + " " * self._shown + "\r", nl=False, err=True)
            self._shown = 0

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Print results in this context: no line of progress comes between them."""
        with self._lock:
            self.clear()
            yield

    @property
    def _pause(self) -> float:
        """Seconds between two lines."""
        return QUIET_SECONDS if self._json or self._drawn else FILE_SECONDS

    def _write(self, line: str) -> None:
        if not self._lock.acquire(blocking=False):
            return  # results are being printed
        try:
            if not self._drawn:
                click.echo(line, err=True)
                return
            # A line that is wider than the terminal would stay there.
            line = line[: shutil.get_terminal_size().columns - 1]
            click.echo("\r" + line.ljust(self._shown), nl=False, err=True)
            self._shown = len(line)
        finally:
            self._lock.release()

    @contextmanager
    def during(self, task: str, look: Callable[[], RunProgress] | None = None) -> Iterator[None]:
        """Show a task and how long it has taken; ``look`` returns how it is going."""
        if self._silent:
            yield
            return
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(task, look, done), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()
            self.clear()

    def _tick(
        self, task: str, look: Callable[[], RunProgress] | None, done: threading.Event
    ) -> None:
        began = time.monotonic()
        while not done.wait(self._pause):
            seconds = round(time.monotonic() - began)
            progress = None if look is None else look()
            if self._json:
                counts = {} if progress is None else progress.as_dict()
                _echo_json({"doing": task, "seconds": seconds, **counts})
                continue
            parts = [f"{task} ... {length_of(seconds)}"]
            if progress is not None:
                parts.append(line_of(progress) if progress.rows else _tasks(progress))
            self._write("  ".join(filter(None, parts)))


def _echo_json(progress: dict[str, object]) -> None:
    click.echo(json.dumps({"progress": progress}), err=True)


def line_of(progress: RunProgress) -> str:
    """Return how a run is going, in one line.

    >>> from muntin.spark.queries.progress import RunProgress, Tasks
    >>> line_of(RunProgress(rows=12000, rate=3456.7, late=3, open=40, lag=75.2))
    '12,000 rows  3,457 rows/s  open 40  late 3  lag 1m15s'
    >>> line_of(RunProgress(rows=7, rate=1, results=None, tasks=Tasks(3, 8)))
    '7 rows  1 rows/s  3 of 8 tasks (38%)'
    """
    parts = [f"{progress.rows:,} rows", f"{progress.rate:,.0f} rows/s", _tasks(progress)]
    if progress.largest is not None:
        parts.append(f"at {progress.largest}")
    if progress.complete is not None:
        parts.append(f"complete to {progress.complete}")
    for name in ("open", "results", "late", "refused", "malformed"):
        count = getattr(progress, name)
        if count:
            parts.append(f"{name} {count:,}")
    if progress.lag is not None:
        parts.append(f"lag {length_of(progress.lag)}")
    return "  ".join(filter(None, parts))


def _tasks(progress: RunProgress) -> str:
    """Return how far the stages are that Spark works on; empty if that is not known."""
    tasks = progress.tasks
    if tasks is None or not tasks.all:
        return ""
    return f"{tasks.done} of {tasks.all} tasks ({tasks.done / tasks.all:.0%})"


def length_of(seconds: float) -> str:
    """Return a length of time as short text.

    >>> [length_of(s) for s in (3.2, 75, 7300, 200000)]
    ['3s', '1m15s', '2h01m', '2d07h']
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86_400}d{whole % 86_400 // 3600:02d}h"
