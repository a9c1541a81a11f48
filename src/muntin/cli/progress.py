"""How far long commands are: one changing line on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

#: A command that is quicker than this shows nothing; machines get a line that often.
QUIET_SECONDS = 1.0
#: Where standard error is a file, lines stay: one that often tells enough.
FILE_SECONDS = 10.0
_DRAWN_SECONDS = 0.2

#: Says how something stands, in plain values.
Look = Callable[[], dict[str, Any]]


class CommandProgress:
    """Where a command says how far it is. Results go to standard output, this does not."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self._json = as_json
        self._shown = 0
        self._last = time.monotonic()
        self._silent = quiet
        self._drawn = not as_json and sys.stderr.isatty()

    def show(self, standing: dict[str, Any]) -> None:
        """Show how it stands, unless something was shown only just now."""
        now = time.monotonic()
        if self._silent or now - self._last < (_DRAWN_SECONDS if self._drawn else self._often):
            return
        self._last = now
        if self._json:
            click.echo(json.dumps({"progress": standing}), err=True)
        else:
            self._write(line_of(standing))

    def clear(self) -> None:
        """Take the line away, before something else is printed."""
        if self._shown:
            click.echo("\r" + " " * self._shown + "\r", nl=False, err=True)
            self._shown = 0

    @property
    def _often(self) -> float:
        """Seconds between two lines that say for how long something has been done."""
        return QUIET_SECONDS if self._json or self._drawn else FILE_SECONDS

    def _write(self, line: str) -> None:
        if not self._drawn:
            click.echo(line, err=True)
            return
        padded = line.ljust(self._shown)
        click.echo("\r" + padded, nl=False, err=True)
        self._shown = len(line)

    @contextmanager
    def during(self, what: str, look: Look | None = None) -> Iterator[None]:
        """Say what is being done and for how long, and how it stands where somebody can look."""
        if self._silent:
            yield
            return
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(what, look, done), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()
            self.clear()

    def _tick(self, what: str, look: Look | None, done: threading.Event) -> None:
        began = time.monotonic()
        while not done.wait(self._often):
            passed = round(time.monotonic() - began)
            standing = {} if look is None else look()
            if self._json:
                said = {"doing": what, "seconds": passed, **standing}
                click.echo(json.dumps({"progress": said}), err=True)
            else:
                counts = line_of(standing) if standing.get("rows") else tasks_of(standing)
                self._write("  ".join(filter(None, [f"{what} ... {length_of(passed)}", counts])))


def line_of(standing: dict[str, Any]) -> str:
    """How a query stands, in one line.

    >>> line_of({"rows": 12000, "rate": 3456.7, "late": 3, "open": 40, "lag": 75.2})
    '12,000 rows  3,457 rows/s  open 40  late 3  lag 1m15s'
    """
    said = [f"{standing['rows']:,} rows", f"{standing['rate']:,.0f} rows/s"]
    if tasks_of(standing):
        said.append(tasks_of(standing))
    if standing.get("largest") is not None:
        said.append(f"at {standing['largest']}")
    if standing.get("complete") is not None:
        said.append(f"complete to {standing['complete']}")
    for name in ("open", "results", "late", "refused", "malformed"):
        if standing.get(name):
            said.append(f"{name} {standing[name]:,}")
    if standing.get("lag") is not None:
        said.append(f"lag {length_of(standing['lag'])}")
    return "  ".join(said)


def tasks_of(standing: dict[str, Any]) -> str:
    """How far the stages are that Spark works on.

    >>> tasks_of({"tasks_done": 3, "tasks": 8})
    '3 of 8 tasks (38%)'
    """
    if not standing.get("tasks"):
        return ""
    done, of = standing["tasks_done"], standing["tasks"]
    return f"{done} of {of} tasks ({done / of:.0%})"


def length_of(seconds: float) -> str:
    """A length of time, short.

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
