"""Opening a small SQLite file that can be made again from what it is about."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path


def open_sqlite(path: Path, tables: Sequence[str]) -> sqlite3.Connection:
    """Return a connection for all threads of a process; the tables are made if they are missing.

    The last transactions may be lost with the machine, not with the process.
    """
    # For the owner alone: there may be passwords in what is kept.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    for statement in tables:
        connection.execute(statement)
    return connection
