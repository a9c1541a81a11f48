"""The registry's tables, and transactions on them from several threads of one process."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from muntin.errors import EngineError

#: A home of another form is refused, never guessed at.
_FORM = 1
_TABLES = """
CREATE TABLE streams (name TEXT PRIMARY KEY, details TEXT NOT NULL, dirty INTEGER NOT NULL);
CREATE TABLE epochs (stream TEXT, number INTEGER, began TEXT, PRIMARY KEY (stream, number));
CREATE TABLE commands (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL, kind TEXT NOT NULL,
    query_id TEXT, details TEXT NOT NULL, at TEXT NOT NULL, version INTEGER
);
CREATE INDEX commands_by_version ON commands (stream, version);
CREATE TABLE acknowledgements (
    seq INTEGER PRIMARY KEY REFERENCES commands, micro_batch INTEGER, epoch INTEGER,
    punctuation INTEGER, filled TEXT, how TEXT, refused TEXT
);
-- A number is never used again, not even that of a row that was deleted: hence AUTOINCREMENT.
CREATE TABLE queries (
    ordinal INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT AS ('q' || ordinal) VIRTUAL,
    name TEXT, folded TEXT, stream TEXT NOT NULL REFERENCES streams, owner TEXT,
    description TEXT NOT NULL, tags TEXT NOT NULL, retain REAL NOT NULL, dropped REAL,
    forgotten INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX queries_by_name ON queries (folded) WHERE dropped IS NULL;
CREATE UNIQUE INDEX queries_by_id ON queries (id);
CREATE TABLE members (
    number INTEGER PRIMARY KEY AUTOINCREMENT, ordinal INTEGER NOT NULL REFERENCES queries,
    generation INTEGER NOT NULL, text TEXT NOT NULL, program TEXT NOT NULL, status TEXT NOT NULL,
    start TEXT NOT NULL, until TEXT, emit TEXT NOT NULL, every TEXT, created TEXT NOT NULL,
    staged INTEGER NOT NULL, since_batch INTEGER, since_epoch INTEGER, reason TEXT,
    command INTEGER NOT NULL REFERENCES commands, UNIQUE (ordinal, generation)
);
CREATE TABLE sinks (
    number INTEGER PRIMARY KEY AUTOINCREMENT, ordinal INTEGER NOT NULL REFERENCES queries,
    name TEXT NOT NULL, call TEXT NOT NULL, epoch INTEGER NOT NULL, micro_batch INTEGER NOT NULL,
    UNIQUE (ordinal, name)
);
CREATE TABLE identity (text TEXT NOT NULL);
CREATE INDEX members_by_status ON members (status);
CREATE INDEX members_by_command ON members (command);
-- A version is begun with what it changes, and recorded with the digest of its file.
CREATE TABLE versions (
    stream TEXT, number INTEGER, change TEXT NOT NULL, digest TEXT, PRIMARY KEY (stream, number)
);
-- The members of the newest version of each stream.
CREATE TABLE versioned (
    stream TEXT, member INTEGER, program TEXT NOT NULL, paused INTEGER NOT NULL,
    PRIMARY KEY (stream, member)
);
"""
#: Queries that drop themselves, and when, in seconds since 1970.
_PREVIEWS = (
    "CREATE TABLE IF NOT EXISTS previews (ordinal INTEGER PRIMARY KEY REFERENCES queries, "
    "ends REAL NOT NULL)"
)

#: The newest decision about overload of each stream.
_DECISIONS = (
    "CREATE TABLE IF NOT EXISTS decisions (stream TEXT PRIMARY KEY REFERENCES streams, "
    "decision TEXT NOT NULL)"
)

Row = sqlite3.Row


class RegistryDatabase:
    """A SQLite file that one process has open; every transaction is on disk when it returns."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # not for other users
        self._lock = threading.RLock()
        self._depth = 0
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = Row
        self._connection.create_function("casefold", 1, _casefold, deterministic=True)
        # A write-ahead log takes one write to disk a transaction; a rollback journal three.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._make_tables(path)
        self._connection.execute(_PREVIEWS)
        self._connection.execute(_DECISIONS)

    def _make_tables(self, path: Path) -> None:
        with self.transaction():
            (form,) = self._connection.execute("PRAGMA user_version").fetchone()
            if form == _FORM:
                return
            if form != 0:
                raise EngineError(
                    f"{path} has form {form} and this release of Muntin reads form {_FORM}; use "
                    "the release that made it, or another home="
                )
            for statement in _TABLES.split(";\n"):
                self._connection.execute(statement)
            identity = (secrets.token_hex(4),)
            self._connection.execute("INSERT INTO identity VALUES (?)", identity)
            self._connection.execute(f"PRAGMA user_version = {_FORM}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as one transaction, or as a part of the transaction around it."""
        with self._lock:
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._connection.execute("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                self._connection.execute("COMMIT")

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement that changes rows; return how many it changed."""
        with self.transaction():
            return self._connection.execute(statement, tuple(values)).rowcount

    def insert(self, statement: str, values: Sequence[object]) -> int:
        """Run an insert; return the number that the new row got."""
        with self.transaction():
            number = self._connection.execute(statement, tuple(values)).lastrowid
        assert number is not None
        return number

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a SELECT."""
        with self._lock:
            return self._connection.execute(statement, tuple(values)).fetchall()

    def row(self, statement: str, values: Sequence[object] = ()) -> Row | None:
        """Return the first row of a SELECT, or None."""
        rows = self.rows(statement, values)
        return rows[0] if rows else None

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            self._connection.close()


def _casefold(text: str | None) -> str | None:
    return None if text is None else text.casefold()
