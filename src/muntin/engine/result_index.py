"""Which micro-batches have answers of which members: an index of the result log, in SQLite.

It is made from the files of the log and can be made again. So its transactions need not be on disk
at once; one that is lost is missing whole, and the log finds that a file is not in the index.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from muntin.engine.sqlite_file import open_sqlite

_TABLES = (
    "CREATE TABLE IF NOT EXISTS files (micro_batch INTEGER PRIMARY KEY, written REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS answers (member INTEGER, micro_batch INTEGER, rows INTEGER, "
    "PRIMARY KEY (member, micro_batch)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS answers_by_file ON answers (micro_batch)",
)
#: Members are given as a JSON list, because a statement has a limit of values.
_THESE = "member IN (SELECT value FROM json_each(?1))"


@dataclass(frozen=True)
class OldAnswers:
    """Which answers are forgotten: of micro-batches before a number, or written before a time.

    ``members`` are those whose answers go, all of them if it is None; those of ``besides`` stay.
    """

    before: int | None = None
    written_before: float | None = None
    members: Sequence[int] | None = None
    besides: Sequence[int] = ()

    @property
    def where(self) -> str:
        """The condition in SQL."""
        parts = ["TRUE"]
        if self.members is not None:
            parts.append("member IN (SELECT value FROM json_each(:members))")
        if self.before is not None:
            parts.append("micro_batch < :before")
        if self.written_before is not None:
            parts.append("micro_batch IN (SELECT micro_batch FROM files WHERE written < :written)")
        if self.besides:
            parts.append("member NOT IN (SELECT value FROM json_each(:besides))")
        return " AND ".join(parts)

    @property
    def values(self) -> dict[str, object]:
        """The values of the condition."""
        return {
            "members": json.dumps([*(self.members or ())]),
            "before": self.before,
            "written": self.written_before,
            "besides": json.dumps([*self.besides]),
        }


class ResultIndex:
    """The index of one result log, for all threads of a process."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = open_sqlite(path, _TABLES)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def add(self, micro_batch: int, written: float, counts: Sequence[tuple[int, int]]) -> None:
        """Add a file: when it was written, and how many rows each member has in it."""
        with self._lock, self._connection:
            self._connection.execute("BEGIN")
            self._connection.execute("INSERT INTO files VALUES (?, ?)", (micro_batch, written))
            self._connection.executemany(
                "INSERT INTO answers VALUES (?, ?, ?)",
                [(member, micro_batch, rows) for member, rows in counts],
            )

    def remove(self, micro_batch: int) -> None:
        """Remove a file that is not there any more."""
        with self._lock, self._connection:
            self._connection.execute("BEGIN")
            for table in ("answers", "files"):
                self._connection.execute(
                    f"DELETE FROM {table} WHERE micro_batch = ?", (micro_batch,)
                )

    def last_of(self, which: OldAnswers) -> dict[int, int]:
        """Return the last micro-batch of each member among some answers."""
        statement = (
            f"SELECT member, max(micro_batch) FROM answers WHERE {which.where} GROUP BY member"
        )
        with self._lock:
            return dict(self._connection.execute(statement, which.values).fetchall())

    def forget(self, which: OldAnswers) -> list[int]:
        """Remove answers; return the micro-batches whose files have forgotten answers now."""
        with self._lock, self._connection:
            self._connection.execute("BEGIN")
            touched = self._connection.execute(
                f"SELECT DISTINCT micro_batch FROM answers WHERE {which.where}", which.values
            ).fetchall()
            self._connection.execute(f"DELETE FROM answers WHERE {which.where}", which.values)
        return sorted(micro_batch for (micro_batch,) in touched)

    def batches(self) -> list[int]:
        """Return the micro-batches of all files."""
        rows = self._rows("SELECT micro_batch FROM files ORDER BY micro_batch")
        return [micro_batch for (micro_batch,) in rows]

    def last_file(self) -> int:
        """Return the last micro-batch of all files; -1 if there is none."""
        ((last,),) = self._rows("SELECT coalesce(max(micro_batch), -1) FROM files")
        return last

    def has(self, micro_batch: int) -> bool:
        """Return whether the file of a micro-batch is in the index."""
        return bool(self._rows("SELECT 1 FROM files WHERE micro_batch = ?", (micro_batch,)))

    def batches_without_answers(self) -> list[int]:
        """Return the micro-batches whose answers are all forgotten."""
        rows = self._rows(
            "SELECT micro_batch FROM files WHERE micro_batch NOT IN "
            "(SELECT micro_batch FROM answers)"
        )
        return [micro_batch for (micro_batch,) in rows]

    def members_of(self, micro_batch: int) -> list[int]:
        """Return the members that have answers in a micro-batch."""
        statement = "SELECT member FROM answers WHERE micro_batch = ? ORDER BY member"
        return [member for (member,) in self._rows(statement, (micro_batch,))]

    def batches_of(
        self, members: Iterable[int], after: int, upto: int | None
    ) -> list[tuple[int, list[int]]]:
        """Return micro-batches with answers of some members, each with those that it has."""
        rows = self._rows(
            f"SELECT micro_batch, member FROM answers WHERE {_THESE} AND micro_batch > ?2 "
            "AND (?3 IS NULL OR micro_batch <= ?3) ORDER BY micro_batch, member",
            (json.dumps([*members]), after, upto),
        )
        found: defaultdict[int, list[int]] = defaultdict(list)
        for micro_batch, member in rows:
            found[micro_batch].append(member)
        return [*found.items()]

    def counts(
        self, members: Iterable[int], after: int, upto: int | None
    ) -> list[tuple[int, int, int]]:
        """Return micro-batch, member and number of rows of answers, by micro-batch and member."""
        found = self._rows(
            f"SELECT micro_batch, member, rows FROM answers WHERE {_THESE} AND micro_batch > ?2 "
            "AND (?3 IS NULL OR micro_batch <= ?3) ORDER BY micro_batch, member",
            (json.dumps([*members]), after, upto),
        )
        return [(micro_batch, member, rows) for micro_batch, member, rows in found]

    def before_newest(self, members: Iterable[int], rows: int) -> int:
        """Return the micro-batch after which members have at least so many rows; -1 if never."""
        counted = 0
        found = self._rows(
            f"SELECT micro_batch, sum(rows) FROM answers WHERE {_THESE} "
            "GROUP BY micro_batch ORDER BY micro_batch DESC LIMIT ?2",
            (json.dumps([*members]), rows),
        )
        for micro_batch, answered in found:
            counted += answered
            if counted >= rows:
                return micro_batch - 1
        return -1

    def last(self, members: Iterable[int], upto: int | None) -> int | None:
        """Return the last micro-batch up to one with an answer of some members."""
        ((last,),) = self._rows(
            "SELECT max((SELECT max(micro_batch) FROM answers WHERE member = value "
            "AND (?2 IS NULL OR micro_batch <= ?2))) FROM json_each(?1)",
            (json.dumps([*members]), upto),
        )
        return last

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[int, ...]]:
        with self._lock:
            return self._connection.execute(statement, tuple(values)).fetchall()
