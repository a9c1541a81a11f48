"""Versions of a stream: which members it has, and what each version changes.

A version is begun by a transaction that notes what it changes, then its file is written, then it
is recorded with the digest of the file. A process that dies in between finds the same version
begun, with the same change, whatever was logged since: that is for the version after it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from muntin.engine.registry_database import RegistryDatabase
from muntin.engine.registry_records import RUNNING, TAP, VersionChange, VersionMember
from muntin.errors import EngineError
from muntin.operators.shared.as_json import from_json, to_json
from muntin.specs.overload import OverloadDecision


class StreamVersions:
    """The versions of all streams, kept in the registry's database."""

    def __init__(self, database: RegistryDatabase) -> None:
        self._database = database

    def next(self, stream: str) -> VersionChange | None:
        """Return the version that is begun, or begin one if anything has changed since the last."""
        with self._database.transaction():
            last = self._database.row(
                "SELECT * FROM versions WHERE stream = ? ORDER BY number DESC LIMIT 1", (stream,)
            )
            if last is not None and last["digest"] is None:
                return _read(stream, last["number"], last["change"])
            if not self._has_changed(stream):
                return None
            change = self._change(stream, 1 if last is None else last["number"] + 1)
            self._begin(change)
            return change

    def record(self, stream: str, number: int, digest: str) -> None:
        with self._database.transaction():
            version = self._database.row(
                "SELECT digest FROM versions WHERE stream = ? AND number = ?", (stream, number)
            )
            if version is None or version["digest"] not in (None, digest):
                there = "not begun" if version is None else f"recorded as {version['digest']}"
                raise EngineError(f"version {number} of {stream!r} is {there}, not as {digest}")
            # The change is in the version's file now.
            self._database.run(
                "UPDATE versions SET digest = ?, change = '' WHERE stream = ? AND number = ?",
                (digest, stream, number),
            )

    def newest(self, stream: str) -> tuple[int, str] | None:
        row = self._database.row(
            "SELECT number, digest FROM versions WHERE stream = ? AND digest IS NOT NULL "
            "ORDER BY number DESC LIMIT 1",
            (stream,),
        )
        return None if row is None else (row["number"], row["digest"])

    def members(self, stream: str) -> list[VersionMember]:
        rows = self._database.rows(
            "SELECT member, program, paused FROM versioned WHERE stream = ? ORDER BY member",
            (stream,),
        )
        return [VersionMember(row["member"], row["program"], bool(row["paused"])) for row in rows]

    def _has_changed(self, stream: str) -> bool:
        changed = self._database.row(
            "SELECT 1 FROM commands WHERE stream = ?1 AND version IS NULL "
            "UNION ALL SELECT 1 FROM streams WHERE name = ?1 AND dirty",
            (stream,),
        )
        return changed is not None

    def _change(self, stream: str, number: int) -> VersionChange:
        """Return how the members that should run now differ from those of the last version."""
        before = {member.number: member for member in self.members(stream)}
        now = {member.number: member for member in self._running(stream)}
        stay = before.keys() & now.keys()
        commands = self._database.rows(
            "SELECT seq FROM commands WHERE stream = ? AND version IS NULL ORDER BY seq", (stream,)
        )
        return VersionChange(
            stream,
            number,
            added={n: now[n].program for n in now if n not in before},
            changed={
                n: now[n].program for n in sorted(stay) if now[n].program != before[n].program
            },
            removed=tuple(sorted(before.keys() - now.keys())),
            paused=tuple(
                n for n in now if now[n].paused and not (n in before and before[n].paused)
            ),
            resumed=tuple(n for n in now if n in before and before[n].paused > now[n].paused),
            commands=tuple(row["seq"] for row in commands),
            overload=self._overload(stream),
        )

    def decision(self, stream: str) -> OverloadDecision:
        """Return what the queries of a stream may spend, as it was decided last."""
        row = self._database.row("SELECT decision FROM decisions WHERE stream = ?", (stream,))
        decision = OverloadDecision() if row is None else from_json(row["decision"])
        assert isinstance(decision, OverloadDecision)
        return decision

    def _overload(self, stream: str) -> str | None:
        """Return what the members that should run now may spend, as JSON; None for no limit."""
        marks = ", ".join("?" * len(RUNNING))
        rows = self._database.rows(
            "SELECT number, id, program FROM members JOIN queries USING (ordinal) "
            f"WHERE status IN ({marks}) AND stream = ? AND emit <> ?",
            (*RUNNING, stream, TAP),
        )
        decision = self.decision(stream)
        least = 0.0
        if decision.kept < 1:  # else no program need be read
            least = max((_least_share(row["program"]) for row in rows), default=1.0)
        pinned = decision.pinned({row["number"]: row["id"] for row in rows}, least)
        return None if pinned.is_none else to_json(pinned)

    def _running(self, stream: str) -> list[VersionMember]:
        marks = ", ".join("?" * len(RUNNING))
        rows = self._database.rows(
            "SELECT number, program, status FROM members JOIN queries USING (ordinal) "
            f"WHERE status IN ({marks}) AND stream = ? ORDER BY number",
            (*RUNNING, stream),
        )
        return [
            VersionMember(row["number"], row["program"], row["status"] == "paused") for row in rows
        ]

    def _begin(self, change: VersionChange) -> None:
        run, stream, number = self._database.run, change.stream, change.number
        run("INSERT INTO versions VALUES (?, ?, ?, NULL)", (stream, number, _written(change)))
        run(
            "UPDATE commands SET version = ? WHERE stream = ? AND version IS NULL", (number, stream)
        )
        run("UPDATE streams SET dirty = 0 WHERE name = ?", (stream,))
        for member in change.removed:
            run("DELETE FROM versioned WHERE stream = ? AND member = ?", (stream, member))
        for member, program in {**change.added, **change.changed}.items():
            run(
                "INSERT INTO versioned VALUES (?1, ?2, ?3, 0) "
                "ON CONFLICT (stream, member) DO UPDATE SET program = ?3",
                (stream, member, program),
            )
        for paused, members in ((True, change.paused), (False, change.resumed)):
            for member in members:
                run(
                    "UPDATE versioned SET paused = ? WHERE stream = ? AND member = ?",
                    (paused, stream, member),
                )


def _written(change: VersionChange) -> str:
    """Return what a version changes, as JSON."""
    parts = {
        "added": {str(member): program for member, program in change.added.items()},
        "changed": {str(member): program for member, program in change.changed.items()},
        "removed": change.removed,
        "paused": change.paused,
        "resumed": change.resumed,
        "commands": change.commands,
        "overload": change.overload,
    }
    return json.dumps(parts)


def _read(stream: str, number: int, text: str) -> VersionChange:
    parts = json.loads(text)
    return VersionChange(
        stream,
        number,
        _by_member(parts["added"]),
        _by_member(parts["changed"]),
        tuple(parts["removed"]),
        tuple(parts["paused"]),
        tuple(parts["resumed"]),
        tuple(parts["commands"]),
        parts.get("overload"),
    )


def _by_member(programs: Mapping[str, str]) -> dict[int, str]:
    return {int(member): program for member, program in programs.items()}


def _least_share(program: str) -> float:
    """Return the share of the rows that a query needs; all of them if it does not say."""
    qos = from_json(program).qos
    return 1.0 if qos is None else float(qos.least_share)
