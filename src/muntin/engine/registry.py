"""The registry: the log of commands, and the queries as the commands leave them.

A command and what it changes are one transaction, on disk before anything else happens. A command
is logged, comes into a version of its stream (:mod:`muntin.engine.stream_versions`), and is
acknowledged by the micro-batch in which it is in force, or refused. [PSoup 3, Fjords 3]
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from muntin.engine.query_table import LIVE, RECORD, QueryTable, check_no_tap
from muntin.engine.registry_database import RegistryDatabase, Row
from muntin.engine.registry_records import (
    KINDS,
    RETAIN,
    RUNNING,
    Acknowledgement,
    Kind,
    LoggedCommand,
    QueryRecord,
    Registration,
    Status,
    VersionChange,
    VersionMember,
)
from muntin.engine.sinks.sink_call import SinkCall
from muntin.engine.stream_versions import StreamVersions
from muntin.errors import ArgumentError, EngineError
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.program import AnswerMode
from muntin.specs.overload import OverloadDecision
from muntin.specs.summaries import StreamSummary

#: What a command does: it is called with its sequence number, the query and the details.
Effect = Callable[[int, QueryRecord, Mapping[str, object]], None]


class Registry(QueryTable):
    """The commands and queries of a home, for all threads of the engine's process."""

    def __init__(self, home: str | Path) -> None:
        super().__init__(RegistryDatabase(Path(home) / "registry.db"))
        self._versions = StreamVersions(self._database)
        self._effects: dict[Kind, Effect] = {
            "pause": self._pause,
            "resume": self._resume,
            "drop": self._drop,
            "quarantine": self._quarantine,
        }

    def close(self) -> None:
        """Close the file; what was logged stays."""
        self._database.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let several changes be one: all of them are on disk after the block, or none."""
        with self._database.transaction():
            yield

    # Commands

    def log(
        self, stream: str, kind: Kind, query_id: str | None, details: Mapping[str, object]
    ) -> int:
        """Log a command with its effect on the queries; return its sequence number.

        ``create_stream`` makes the stream. ``pause``, ``resume``, ``drop`` and ``quarantine``
        (``details["reason"]``) change the status of a query; the resumption of a quarantined query
        is its next generation. ``end`` and ``invoke`` are only noted. ``register`` and ``change``
        are :meth:`add` and :meth:`add_generation`.
        """
        if kind not in KINDS:
            raise ArgumentError("kind", kind, f"it is one of {', '.join(KINDS)}")
        if kind in ("register", "change"):
            raise ArgumentError("kind", kind, "use add() and add_generation(), which log it")
        with self._database.transaction():
            if kind == "create_stream":
                self._make_stream(stream, details)
            else:
                self._check_stream(stream)
            seq = self._log(stream, kind, query_id, details)
            effect = self._effects.get(kind)
            if effect is not None:
                effect(seq, self.get(str(query_id)), details)
        return seq

    def commands(
        self, after: int = 0, *, stream: str | None = None, version: int | None = None
    ) -> list[LoggedCommand]:
        """Return the commands after a sequence number, of a stream and a version if named."""
        rows = self._database.rows(
            "SELECT * FROM commands WHERE seq > ? AND (?2 IS NULL OR stream = ?2) "
            "AND (?3 IS NULL OR version = ?3) ORDER BY seq",
            (after, stream, version),
        )
        return [_command(row) for row in rows]

    def unacknowledged(self, stream: str, version: int) -> list[LoggedCommand]:
        """Return the commands up to a version that are neither acknowledged nor refused."""
        rows = self._database.rows(
            "SELECT * FROM commands WHERE stream = ? AND version <= ? "
            "AND seq NOT IN (SELECT seq FROM acknowledgements) ORDER BY seq",
            (stream, version),
        )
        return [_command(row) for row in rows]

    def acknowledge(
        self,
        seq: int,
        *,
        micro_batch: int,
        epoch: int,
        punctuation: int | None,
        filled: str,
        how: str,
    ) -> None:
        """Note that a command is in force since a micro-batch; what is noted first stays."""
        with self._database.transaction():
            values = (seq, micro_batch, epoch, punctuation, filled, how)
            if not self._database.run(
                "INSERT OR IGNORE INTO acknowledgements "
                "(seq, micro_batch, epoch, punctuation, filled, how) VALUES (?, ?, ?, ?, ?, ?)",
                values,
            ):
                return
            self._database.run(
                "UPDATE members SET since_batch = ?, since_epoch = ?, status = "
                "CASE status WHEN 'registered' THEN 'active' ELSE status END "
                "WHERE command = ? AND since_batch IS NULL AND status <> 'dropped'",
                (micro_batch, epoch, seq),
            )

    def refuse(self, seq: int, reason: str) -> None:
        """Note why a command did not come into force, and undo what it began."""
        with self._database.transaction():
            if not self._database.run(
                "INSERT OR IGNORE INTO acknowledgements (seq, refused) VALUES (?, ?)", (seq, reason)
            ):
                return
            row = self._database.row(f"{RECORD} WHERE command = ?", (seq,))
            if row is None:
                return
            self.set_status(row["number"], "dropped", reason=reason)
            if row["generation"] == 1:
                self._forget_name(row["ordinal"])
            command = self._database.row("SELECT details FROM commands WHERE seq = ?", (seq,))
            assert command is not None
            for number, status in json.loads(command["details"]).get("before", {}).items():
                self.set_status(int(number), status)

    def acknowledgement(self, seq: int) -> Acknowledgement | None:
        """Return what came of a command, or None if that is not known yet."""
        row = self._database.row("SELECT * FROM acknowledgements WHERE seq = ?", (seq,))
        return None if row is None else Acknowledgement(**row)

    # Streams

    def streams(self) -> dict[str, dict[str, object]]:
        """Return the details with which each stream was created, by name."""
        rows = self._database.rows("SELECT name, details FROM streams ORDER BY rowid")
        return {row["name"]: json.loads(row["details"]) for row in rows}

    def epoch(self, stream: str) -> int:
        """Return the number of the stream's epoch; 0 before the first."""
        row = self._database.row("SELECT max(number) FROM epochs WHERE stream = ?", (stream,))
        return 0 if row is None or row[0] is None else int(row[0])

    def begin_epoch(self, stream: str) -> int:
        """Begin the next epoch, for a new checkpoint; return its number."""
        with self._database.transaction():
            number = self.epoch(stream) + 1
            self._database.run("INSERT INTO epochs VALUES (?, ?, ?)", (stream, number, _now()))
        return number

    # Queries

    def add(
        self,
        stream: str,
        name: str | None,
        text: str,
        program: str,
        *,
        owner: str | None = None,
        description: str = "",
        tags: Sequence[str] = (),
        start: str = "now",
        until: str | None = None,
        emit: str = "final",
        every: str | None = None,
        retain: float = RETAIN,
        sinks: Sequence[SinkCall] = (),
    ) -> Registration:
        """Log the registration of a query, with a new id, and its sinks and triggers."""
        with self._database.transaction():
            self._check_stream(stream)
            self._check_name(name)
            ordinal = self._database.insert(
                "INSERT INTO queries (name, folded, stream, owner, description, tags, retain) "
                "VALUES (?, casefold(?1), ?, ?, ?, ?, ?)",
                (name, stream, owner, description, json.dumps([*tags]), retain),
            )
            seq = self._log(stream, "register", f"q{ordinal}", {"name": name})
            asked = (text, program, start, until, emit, every)
            number = self._add_member(seq, ordinal, 1, asked)
            for call in sinks:
                self.add_sink(f"q{ordinal}", call)
            return Registration(seq, self.member(number))

    def add_generation(
        self,
        query_id: str,
        text: str,
        program: str,
        *,
        start: str | None = None,
        until: str | None = None,
        emit: str | None = None,
        every: str | None = None,
        staged: bool = False,
        beside: bool = False,
    ) -> Registration:
        """Log the next generation of a query, in place of the current one or, staged, beside it.

        What is not given stays as in the current generation. One that runs ``beside`` it stays
        until :meth:`apply` or :meth:`discard` is called.
        """
        with self._database.transaction():
            query = self.get(query_id)
            check_no_tap(query, "changed")
            self._check_live(query, "changed")
            before = {} if staged else {str(query.number): query.status}
            details = {"before": before, "staged": staged, "beside": beside}
            seq = self._log(query.stream, "change", query.id, details)
            asked = (
                *(text, program, start or query.start, until or query.until),
                *(emit or query.emit, every or query.every),
            )
            number = self._next_generation(seq, query, asked, staged=staged)
            return Registration(seq, self.member(number))

    def apply(self, query_id: str) -> int:
        """Log that the staged generation takes the place of the current one."""
        with self._database.transaction():
            query, staged = self.get(query_id), self._staged(query_id)
            details = {"applied": staged.generation, "before": {str(query.number): query.status}}
            seq = self._log(query.stream, "change", query.id, details)
            # It is the query's own only from now on: what it answered before was beside it.
            self._database.run(
                "UPDATE members SET staged = 0, command = ?, since_batch = NULL, "
                "since_epoch = NULL WHERE number = ?",
                (seq, staged.number),
            )
            if query.status == "paused":
                self.set_status(staged.number, "paused")
            self._end_before(query, staged.generation)
        return seq

    def discard(self, query_id: str) -> int:
        """Log that the staged generation is dropped."""
        with self._database.transaction():
            staged = self._staged(query_id)
            details = {"discarded": staged.generation}
            seq = self._log(staged.stream, "change", staged.id, details)
            self.set_status(staged.number, "dropped", reason="discarded")
        return seq

    def is_beside(self, number: int) -> bool:
        """Return whether a staged generation waits for :meth:`apply` or :meth:`discard`."""
        row = self._database.row(
            "SELECT details FROM members JOIN commands ON seq = command WHERE number = ? "
            "AND staged",
            (number,),
        )
        return row is not None and bool(json.loads(row["details"]).get("beside"))

    def ask(self, number: int) -> int:
        """Log that a member's answer is asked for; its next version tells it."""
        with self._database.transaction():
            query = self.member(number)
            self._check_live(query, "asked")
            seq = self._log(query.stream, "invoke", query.id, {"member": number})
            program = replace(from_json(query.program), asked=seq)
            self.set_program(number, to_json(program))
        return seq

    def choose(self, number: int, answer: AnswerMode) -> int:
        """Log that the answers of a member are made in another way from the next version on."""
        with self._database.transaction():
            query = self.member(number)
            details = {"member": number, "answer": answer}
            seq = self._log(query.stream, "answer", query.id, details)
            program = replace(from_json(query.program), answer=answer)
            self.set_program(number, to_json(program))
        return seq

    # Overload

    def decide(self, stream: str, decision: OverloadDecision) -> int:
        """Log what the queries of a stream may spend from the next version on."""
        text = to_json(decision)
        with self._database.transaction():
            self._check_stream(stream)
            seq = self._log(stream, "overload", None, {"decision": text})
            self._database.run(
                "INSERT INTO decisions VALUES (?1, ?2) "
                "ON CONFLICT (stream) DO UPDATE SET decision = ?2",
                (stream, text),
            )
        return seq

    def decision(self, stream: str) -> OverloadDecision:
        """Return what the queries of a stream may spend, as it was decided last."""
        return self._versions.decision(stream)

    def add_summary(self, stream: str, name: str, summary: StreamSummary) -> int:
        """Log a summary of an input of a stream, under a name of its own."""
        with self._database.transaction():
            for known in self.streams():
                if name.casefold() in {own.casefold() for own in self.summaries(known)}:
                    raise ArgumentError("name", name, f"there is a summary {name} of {known}")
            details = {"name": name, "summary": to_json(summary)}
            return self.log(stream, "summary", None, details)

    def summaries(self, stream: str) -> dict[str, StreamSummary]:
        """Return the summaries of a stream by name."""
        return {
            str(command.details["name"]): from_json(str(command.details["summary"]))
            for command in self.commands(stream=stream)
            if command.kind == "summary"
        }

    # Previews

    def set_end(self, query_id: str, ends: float | None) -> None:
        """Let a query drop itself at a time of the clock; None lets it stay."""
        with self._database.transaction():
            ordinal = int(self.get(query_id).id.removeprefix("q"))
            self._database.run("DELETE FROM previews WHERE ordinal = ?", (ordinal,))
            if ends is not None:
                self._database.run("INSERT INTO previews VALUES (?, ?)", (ordinal, ends))

    def is_preview(self, query_id: str) -> bool:
        """Return whether a query drops itself."""
        found = self._database.row(
            "SELECT 1 FROM previews JOIN queries USING (ordinal) WHERE id = ?", (query_id,)
        )
        return found is not None

    def drop_ended_previews(self, stream: str, now: float | None = None) -> None:
        """Log a drop of each query of a stream whose time is over."""
        rows = self._database.rows(
            "SELECT id FROM previews JOIN queries USING (ordinal) WHERE stream = ? AND ends <= ? "
            "AND dropped IS NULL",
            (stream, time.time() if now is None else now),
        )
        for row in rows:
            self.log(stream, "drop", row["id"], {"reason": "the time of the preview is over"})

    # Versions

    def next_version(self, stream: str) -> VersionChange | None:
        """Begin the next version of a stream; None if nothing has changed.

        Until :meth:`record_version` is called for it, every call returns the same version.
        """
        return self._versions.next(stream)

    def record_version(self, stream: str, number: int, digest: str) -> None:
        """Note that the file of a version exists, with its digest."""
        self._versions.record(stream, number, digest)

    def newest_version(self, stream: str) -> tuple[int, str] | None:
        """Return the number and the digest of the newest recorded version."""
        return self._versions.newest(stream)

    def version_members(self, stream: str) -> list[VersionMember]:
        """Return all members of the newest version, which may not be recorded yet."""
        return self._versions.members(stream)

    # What commands do

    def _log(
        self, stream: str, kind: Kind, query_id: str | None, details: Mapping[str, object]
    ) -> int:
        return self._database.insert(
            "INSERT INTO commands (stream, kind, query_id, details, at) VALUES (?, ?, ?, ?, ?)",
            (stream, kind, query_id, json.dumps(details, sort_keys=True), _now()),
        )

    def _make_stream(self, name: str, details: Mapping[str, object]) -> None:
        if self._database.row("SELECT 1 FROM streams WHERE name = ?", (name,)) is not None:
            raise EngineError(f"there is a stream {name!r} already; use it, or another name")
        text = json.dumps(details, sort_keys=True)
        self._database.run("INSERT INTO streams VALUES (?, ?, 0)", (name, text))

    def _check_stream(self, name: str) -> None:
        if self._database.row("SELECT 1 FROM streams WHERE name = ?", (name,)) is None:
            known = ", ".join(self.streams()) or "none"
            raise EngineError(f"there is no stream {name!r}; the streams are: {known}")

    def _check_live(self, query: QueryRecord, done: str) -> None:
        if query.status not in LIVE:
            raise EngineError(
                f"query {query.name or query.id!r} is {query.status}: it cannot be {done}"
            )

    def _add_member(
        self,
        seq: int,
        ordinal: int,
        generation: int,
        asked: Sequence[object],
        status: Status = "registered",
        *,
        staged: bool = False,
    ) -> int:
        return self._database.insert(
            "INSERT INTO members (text, program, start, until, emit, every, ordinal, generation, "
            "status, created, staged, command) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*asked, ordinal, generation, status, _now(), staged, seq),
        )

    def _next_generation(
        self, seq: int, query: QueryRecord, asked: Sequence[object], *, staged: bool = False
    ) -> int:
        generation = len(self.generations(query.id)) + 1
        if not staged:
            self._end_before(query, generation)
        paused = query.status == "paused" and not staged
        ordinal = int(query.id.removeprefix("q"))
        status: Status = "paused" if paused else "registered"
        return self._add_member(seq, ordinal, generation, asked, status, staged=staged)

    def _end_before(self, query: QueryRecord, generation: int) -> None:
        self.set_status(query.number, "ended", reason=f"generation {generation} followed")

    def _staged(self, query_id: str) -> QueryRecord:
        staged = [query for query in self.generations(query_id) if query.staged]
        live = [query for query in staged if query.status in LIVE]
        if not live:
            raise EngineError(f"query {query_id} has no staged generation; stage(sql) makes one")
        return live[-1]

    def _forget_name(self, ordinal: int) -> None:
        self._database.run(
            "UPDATE queries SET dropped = ? WHERE ordinal = ? AND dropped IS NULL",
            (time.time(), ordinal),
        )

    def _pause(self, seq: int, query: QueryRecord, details: Mapping[str, object]) -> None:
        self._check_live(query, "paused")
        if query.status == "quarantined":
            raise EngineError(f"query {query.name or query.id!r} is quarantined: {query.reason}")
        self.set_status(query.number, "paused")

    def _resume(self, seq: int, query: QueryRecord, details: Mapping[str, object]) -> None:
        self._check_live(query, "resumed")
        if query.status == "paused":
            self.set_status(query.number, "registered" if query.since is None else "active")
        elif query.status == "quarantined":
            asked = (
                *(query.text, query.program, query.start, query.until),
                *(query.emit, query.every),
            )
            self._next_generation(seq, query, asked)

    def _drop(self, seq: int, query: QueryRecord, details: Mapping[str, object]) -> None:
        if query.status == "dropped":
            raise EngineError(f"query {query.id} is dropped already")
        for member in self.generations(query.id):
            self.set_status(member.number, "dropped", reason=member.reason)
        self._forget_name(int(query.id.removeprefix("q")))

    def _quarantine(self, seq: int, query: QueryRecord, details: Mapping[str, object]) -> None:
        member = details.get("member", query.number)
        assert isinstance(member, int)
        # The query may have been dropped or changed since the micro-batch that it failed in.
        if self.member(member).status in RUNNING:
            self.set_status(member, "quarantined", reason=str(details.get("reason", "")))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _command(row: Row) -> LoggedCommand:
    values = {**row, "kind": cast(Kind, row["kind"]), "details": json.loads(row["details"])}
    return LoggedCommand(**values)
