"""The queries of a home as commands leave them: finding, searching, and their status."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import cast

from muntin.engine.registry_database import RegistryDatabase, Row
from muntin.engine.registry_records import RUNNING, STATUSES, TAP, QueryRecord, Status
from muntin.engine.sinks.sink_call import SinkCall, SinkRecord, from_text, to_text
from muntin.errors import ArgumentError, EngineError, UnknownQueryError

LIVE: tuple[Status, ...] = (*RUNNING, "filling", "quarantined")
RECORD = "SELECT * FROM members JOIN queries USING (ordinal)"
#: The generations that are a query's current ones: not beside it, not refused.
CURRENT = "staged = 0 AND NOT (status = 'dropped' AND dropped IS NULL)"


class QueryTable:
    """The queries of a home and their generations, which are the members of streams."""

    def __init__(self, database: RegistryDatabase) -> None:
        self._database = database

    def live(self, stream: str) -> list[QueryRecord]:
        """Return the members of a stream that run, wait to begin, are paused or quarantined."""
        marks = ", ".join("?" * len(LIVE))
        where = f"stream = ? AND status IN ({marks}) ORDER BY number"
        return [
            record_of(row)
            for row in self._database.rows(f"{RECORD} WHERE {where}", (stream, *LIVE))
        ]

    def find(self, name: str, generation: int | None = None) -> QueryRecord | None:
        """Return a query by its name, or by its id, which a dropped one keeps; None if unknown.

        Without ``generation`` it is the current one.
        """
        which = "generation = ?2" if generation is not None else f"?2 IS NULL AND {CURRENT}"
        rows = self._database.rows(
            f"{RECORD} WHERE ((folded = casefold(?1) AND dropped IS NULL) OR id = ?1) AND {which} "
            "ORDER BY id = ?1, generation DESC LIMIT 1",
            (name, generation),
        )
        return record_of(rows[0]) if rows else None

    def get(self, name: str, generation: int | None = None) -> QueryRecord:
        """Return a query as :meth:`find` does; raise :class:`UnknownQueryError` if unknown."""
        query = self.find(name, generation)
        if query is None:
            names = self._database.rows("SELECT name FROM queries WHERE dropped IS NULL")
            raise UnknownQueryError(name, [row["name"] for row in names if row["name"]])
        return query

    def member(self, number: int) -> QueryRecord:
        """Return the generation with a member's number."""
        row = self._database.row(f"{RECORD} WHERE number = ?", (number,))
        if row is None:
            raise UnknownQueryError(f"member {number}")
        return record_of(row)

    def made_by(self, seq: int) -> QueryRecord | None:
        """Return the generation that a command made, or that it let take its query's place."""
        row = self._database.row(f"{RECORD} WHERE command = ?", (seq,))
        return None if row is None else record_of(row)

    def generations(self, query_id: str) -> list[QueryRecord]:
        """Return all generations of a query, the first one first."""
        rows = self._database.rows(f"{RECORD} WHERE id = ? ORDER BY generation", (query_id,))
        return [record_of(row) for row in rows]

    def search(
        self,
        *,
        name: str | None = None,
        owner: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        stream: str | None = None,
        dropped: bool = False,
    ) -> list[QueryRecord]:
        """Return the current generations of queries that fit all that is given.

        ``name`` is a part of the name, ``text`` a part of the name, description or SQL text; case
        does not matter in these two. [Aurora 2.4, Fjords 3.1]
        """
        words = "coalesce(name, '') || char(10) || description || char(10) || text"
        rows = self._database.rows(
            f"{RECORD} WHERE {CURRENT} AND (?1 IS NULL OR instr(folded, casefold(?1))) "
            "AND (?2 IS NULL OR owner = ?2) "
            "AND (?3 IS NULL OR ?3 IN (SELECT value FROM json_each(tags))) "
            f"AND (?4 IS NULL OR instr(casefold({words}), casefold(?4))) "
            "AND (?5 IS NULL OR stream = ?5) AND (?6 OR dropped IS NULL) AND emit <> 'tap' "
            "AND generation = (SELECT max(generation) FROM members AS others "
            f"WHERE others.ordinal = members.ordinal AND {CURRENT}) ORDER BY ordinal",
            (name, owner, tag, text, stream, dropped),
        )
        return [record_of(row) for row in rows]

    def expired(self, now: float | None = None) -> list[QueryRecord]:
        """Return all generations of queries that were dropped longer ago than their ``retain``.

        Their answers are to be forgotten, and then :meth:`set_forgotten` called.
        """
        now = time.time() if now is None else now
        where = "dropped + retain <= ? AND NOT forgotten ORDER BY number"
        return [record_of(row) for row in self._database.rows(f"{RECORD} WHERE {where}", (now,))]

    def set_forgotten(self, query_ids: Iterable[str]) -> None:
        """Note that the answers of dropped queries are forgotten."""
        with self._database.transaction():
            for query_id in query_ids:
                self._database.run("UPDATE queries SET forgotten = 1 WHERE id = ?", (query_id,))

    def rename(self, query_id: str, name: str) -> None:
        """Give a query a name: a preview that is kept."""
        with self._database.transaction():
            query = self.get(query_id)
            check_no_tap(query, "named")
            self._check_name(name)
            self._database.run(
                "UPDATE queries SET name = ?, folded = casefold(?1) WHERE id = ?", (name, query.id)
            )

    def set_status(self, number: int, status: Status, *, reason: str | None = None) -> None:
        """Set the status of a member without a command, such as ``ended`` at its ``until``."""
        if status not in STATUSES:
            raise ArgumentError("status", status, f"it is one of {', '.join(STATUSES)}")
        with self._database.transaction():
            stream = self.member(number).stream
            self._database.run(
                "UPDATE members SET status = ?, reason = ? WHERE number = ?",
                (status, reason, number),
            )
            self._database.run("UPDATE streams SET dirty = 1 WHERE name = ?", (stream,))

    def set_program(self, number: int, program: str) -> None:
        """Set the program of a member; it is in force with the stream's next version."""
        with self._database.transaction():
            stream = self.member(number).stream
            self._database.run("UPDATE members SET program = ? WHERE number = ?", (program, number))
            self._database.run("UPDATE streams SET dirty = 1 WHERE name = ?", (stream,))

    # Sinks

    @property
    def identity(self) -> str:
        """What tells this home from others, in the keys of what its sinks deliver."""
        row = self._database.row("SELECT text FROM identity")
        assert row is not None
        return str(row["text"])

    def add_sink(
        self, query_id: str, call: SinkCall, first: tuple[int, int] = (0, 0)
    ) -> SinkRecord:
        """Add a sink or trigger to a query; it gets answers from an epoch and micro-batch on."""
        with self._database.transaction():
            query = self.get(query_id)
            if any(sink.call.name == call.name for sink in self.sinks(query_id=query.id)):
                what = f"a trigger {call.name!r}" if call.name else "a sink"
                raise EngineError(f"query {query.name or query.id!r} has {what} already")
            number = self._database.insert(
                "INSERT INTO sinks (ordinal, name, call, epoch, micro_batch) "
                "VALUES (?, ?, ?, ?, ?)",
                (int(query.id.removeprefix("q")), call.name, to_text(call), *first),
            )
        return SinkRecord(number, query.id, query.stream, call, first)

    def drop_sink(self, number: int) -> None:
        """Remove a sink; what it wrote stays."""
        self._database.run("DELETE FROM sinks WHERE number = ?", (number,))

    def sinks(self, stream: str | None = None, query_id: str | None = None) -> list[SinkRecord]:
        """Return the sinks of queries whose answers are not forgotten, of a stream or a query."""
        rows = self._database.rows(
            "SELECT number, id, stream, call, epoch, micro_batch FROM sinks "
            "JOIN queries USING (ordinal) WHERE NOT forgotten AND (?1 IS NULL OR stream = ?1) "
            "AND (?2 IS NULL OR id = ?2) ORDER BY number",
            (stream, query_id),
        )
        return [
            SinkRecord(
                row["number"],
                row["id"],
                row["stream"],
                from_text(row["call"]),
                (row["epoch"], row["micro_batch"]),
            )
            for row in rows
        ]

    def _check_name(self, name: str | None) -> None:
        taken = None if name is None else self.find(name)
        if taken is not None:
            where = "the id" if taken.id == name else "the name"
            raise ArgumentError(
                "name", name, f"it is {where} of query {taken.id}; change or drop that one first"
            )


def check_no_tap(query: QueryRecord, done: str) -> None:
    """Raise if what is to be done to a query is to be done to a tap."""
    if query.emit == TAP:
        raise EngineError(f"{query.id} is a tap and cannot be {done}; it can only be removed")


def record_of(row: Row) -> QueryRecord:
    began = row["since_batch"] is not None
    return QueryRecord(
        id=row["id"],
        number=row["number"],
        name=row["name"],
        generation=row["generation"],
        stream=row["stream"],
        text=row["text"],
        program=row["program"],
        owner=row["owner"],
        description=row["description"],
        tags=tuple(json.loads(row["tags"])),
        status=cast(Status, row["status"]),
        start=row["start"],
        until=row["until"],
        emit=row["emit"],
        every=row["every"],
        created=row["created"],
        staged=bool(row["staged"]),
        since=(row["since_batch"], row["since_epoch"]) if began else None,
        reason=row["reason"],
        retain=row["retain"],
    )
