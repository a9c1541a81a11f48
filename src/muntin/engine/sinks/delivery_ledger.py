"""What was delivered: the position of every sink, its dead letters, and why it stopped.

A position says what comes next: of which epoch and micro-batch, which member, and how many rows of
that member's answer are done. It moves after a delivery. If the process dies in between, a sink
gets the same answer again, under the same key; the ledger has it once. So the ledger need not wait
for the disk: it survives the process, and a machine that loses power repeats the last deliveries.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muntin.engine.sqlite_file import open_sqlite

_TABLES = (
    "CREATE TABLE IF NOT EXISTS positions (sink INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, "
    "micro_batch INTEGER NOT NULL, member INTEGER NOT NULL, rows INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS letters (number INTEGER PRIMARY KEY AUTOINCREMENT, "
    "sink INTEGER NOT NULL, key TEXT NOT NULL, row TEXT NOT NULL, reason TEXT NOT NULL, "
    "at REAL NOT NULL)",
    "CREATE INDEX IF NOT EXISTS letters_by_sink ON letters (sink)",
    "CREATE TABLE IF NOT EXISTS stopped (sink INTEGER PRIMARY KEY, reason TEXT NOT NULL)",
)


@dataclass(frozen=True, order=True)
class LogPosition:
    """What a sink gets next; positions are ordered as answers are."""

    epoch: int
    micro_batch: int
    member: int = 0
    rows: int = 0


@dataclass(frozen=True)
class DeadLetter:
    """A row that a trigger could not deliver: its key, the row as JSON, the reason, the time."""

    number: int
    key: str
    row: str
    reason: str
    at: float


class DeliveryLedger:
    """The positions of all sinks of a home, for all threads of the engine's process."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = open_sqlite(path, _TABLES)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def position(self, sink: int) -> LogPosition | None:
        """Return the position of a sink; None if it has none yet."""
        rows = self._run(
            "SELECT epoch, micro_batch, member, rows FROM positions WHERE sink = ?", (sink,)
        )
        return LogPosition(*rows[0]) if rows else None

    def move(self, sink: int, position: LogPosition) -> None:
        """Set the position of a sink: everything before it is delivered."""
        self._run(_MOVE, _moved(sink, position))

    def bury(self, sink: int, position: LogPosition, key: str, row: str, reason: str) -> None:
        """Keep a row that cannot be delivered, and move on to the next, as one transaction."""
        with self._lock, self._connection:
            self._connection.execute("BEGIN")
            self._connection.execute(
                "INSERT INTO letters (sink, key, row, reason, at) VALUES (?, ?, ?, ?, ?)",
                (sink, key, row, reason, time.time()),
            )
            self._connection.execute(_MOVE, _moved(sink, position))

    def letters(self, sink: int) -> list[DeadLetter]:
        """Return the dead letters of a sink, the oldest first."""
        rows = self._run(
            "SELECT number, key, row, reason, at FROM letters WHERE sink = ? ORDER BY number",
            (sink,),
        )
        return [DeadLetter(*row) for row in rows]

    def remove_letter(self, number: int) -> None:
        """Remove a dead letter: it was delivered after all, or nobody wants it."""
        self._run("DELETE FROM letters WHERE number = ?", (number,))

    def forget_letters(self, sink: int, before: float) -> None:
        """Remove the dead letters of a sink that are older than a time."""
        self._run("DELETE FROM letters WHERE sink = ? AND at < ?", (sink, before))

    def stop(self, sink: int, reason: str) -> None:
        """Note that a sink stopped itself, and why."""
        self._run("INSERT OR REPLACE INTO stopped VALUES (?, ?)", (sink, reason))

    def stopped(self, sink: int) -> str | None:
        """Return why a sink stopped itself; None if it did not."""
        rows = self._run("SELECT reason FROM stopped WHERE sink = ?", (sink,))
        return str(rows[0][0]) if rows else None

    def resume(self, sink: int) -> None:
        """Note that a sink goes on."""
        self._run("DELETE FROM stopped WHERE sink = ?", (sink,))

    def remove(self, sink: int) -> None:
        """Forget a sink that is dropped."""
        for table in ("positions", "letters", "stopped"):
            self._run(f"DELETE FROM {table} WHERE sink = ?", (sink,))

    def _run(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(statement, tuple(values)).fetchall()


_MOVE = "INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?, ?)"


def _moved(sink: int, position: LogPosition) -> tuple[int, ...]:
    return (sink, position.epoch, position.micro_batch, position.member, position.rows)
