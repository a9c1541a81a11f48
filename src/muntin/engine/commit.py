"""Committing a micro-batch of a stream: what its shards report becomes answers for everybody.

Everything here may happen twice, because Spark repeats a micro-batch that it did not see committed.
So each step leaves what is there: the file of answers is written once, an acknowledgement is noted
once, and the next micro-batch is pinned once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from muntin.engine.kept_rows import KeptProgress
from muntin.operators.shared.asking.newest import CERTAIN_IN
from muntin.operators.shared.program import COMPLETE, COMPLETENESS, COMPLETENESS_BY
from muntin.operators.shared.row_filters import by_member
from muntin.spark.exchange.messages import decode
from muntin.spark.exchange.network_driver import CHOSEN, COSTS, STREAM


@dataclass(frozen=True)
class StreamProgress:
    """How far a stream is after a micro-batch, in ticks, and which version it ran."""

    version: int = 0
    largest: int | None = None
    reached: int | None = None
    ended: bool = False
    rows: int = 0
    shed: int = 0


@dataclass
class MemberCounts:
    """Rows of a member: those it used, refused and shed, and those of its answers.

    ``shed_by`` has the shed rows by policy and reason. ``waiting`` are those that wait now until
    there is room.
    """

    used: int = 0
    refused: int = 0
    late: int = 0
    between: int = 0
    answers: int = 0
    shed: int = 0
    waiting: int = 0
    shed_by: dict[str, int] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add what a shard reports."""
        self.used += row["used"] or 0
        self.late += row["late"] or 0
        self.refused += (row["refused"] or 0) + (row["late"] or 0)
        self.between += row["between"] or 0
        self.answers += row["rows"] or 0
        self.shed += row["shed"] or 0
        self.waiting += row["waiting"] or 0
        for policy, reason, rows in json.loads(row["shed_by"] or "[]"):
            self.add_shed(f"{policy}: {reason}", rows)

    def add_shed(self, why: str, rows: int) -> None:
        """Add rows that were shed to those with the same policy and reason."""
        self.shed_by[why] = self.shed_by.get(why, 0) + rows

    def take(self, later: MemberCounts) -> None:
        """Add the counts of a later micro-batch; what waited then is what waits now."""
        for name in ("used", "refused", "late", "between", "answers", "shed"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        for why, rows in later.shed_by.items():
            self.add_shed(why, rows)
        self.waiting = later.waiting


@dataclass(frozen=True)
class BatchReport:
    """What all shards report about a micro-batch.

    ``answered`` are the queries that made answers, also those whose answers stay in the shards.
    """

    progress: StreamProgress
    answers: Mapping[int, pa.Table]
    counts: Mapping[int, MemberCounts]
    failed: Mapping[int, str] = field(default_factory=dict)
    kept: KeptProgress = field(default_factory=lambda: KeptProgress(None, None, None, None))
    shards: int | None = None
    costs: Sequence[pa.Table] = ()
    answered: frozenset[int] = frozenset()


def read_reports(reports: Sequence[pa.Table], before: StreamProgress | None = None) -> BatchReport:
    """Bring the reports of the shards of a micro-batch together.

    A micro-batch without any row, such as an empty file, runs no shard. The stream is then where it
    was ``before``.
    """
    tables: dict[int, list[pa.Table]] = {}
    counts: dict[int, MemberCounts] = {}
    failed: dict[int, str] = {}
    streams: list[Mapping[str, Any]] = []
    costs: list[pa.Table] = []
    answered: set[int] = set()
    for report in reports:
        for row in report.to_pylist():
            member = row["member"]
            if member == STREAM:
                streams.append(row)
                continue
            if member == COSTS:
                costs.append(decode(row["payload"]))
                continue
            if member == CHOSEN:
                for own, answer in by_member(decode(row["payload"])):
                    tables.setdefault(own, []).append(answer)
                    chosen = counts.setdefault(own, MemberCounts())
                    chosen.used += answer.num_rows
                    chosen.answers += answer.num_rows
                continue
            counts.setdefault(member, MemberCounts()).add(row)
            if row["made"]:
                answered.add(member)
            if row["failed"] is not None:
                failed.setdefault(member, row["failed"])
            elif row["payload"] is not None:
                tables.setdefault(member, []).append(decode(row["payload"]))
    answers = {
        member: of_all_shards(parts) for member, parts in tables.items() if member not in failed
    }
    progress = _progress(streams, before or StreamProgress())
    shards = int(streams[0]["shards"] or 1) if streams else None
    kept = _kept(streams, progress)
    # What stood in the shards and was asked for now is no new answer.
    answered |= {
        member for member, table in answers.items() if CERTAIN_IN not in table.schema.names
    }
    return BatchReport(
        progress, answers, counts, failed, kept, shards, costs, answered=frozenset(answered)
    )


def of_all_shards(parts: Sequence[pa.Table]) -> pa.Table:
    """Return the answers of a query from all shards.

    Only those that stood in a shard until now say in which micro-batch they became certain.
    """
    alike = all(part.schema.equals(parts[0].schema) for part in parts)
    return pa.concat_tables(parts, promote_options="none" if alike else "default")


def _kept(streams: Sequence[Mapping[str, int | None]], now: StreamProgress) -> KeptProgress:
    """Return what history must know of the progress of the stream."""
    if not streams:
        return KeptProgress(
            now.reached, now.reached, now.largest, now.largest, now.ended, now.ended
        )
    first = streams[0]
    return KeptProgress(
        before=first.get("before"),
        after=now.reached,
        largest_before=first.get("largest_before"),
        largest=now.largest,
        over=bool(first.get("over")),
        ended=now.ended,
        rows=now.rows,
    )


def _progress(
    streams: Sequence[Mapping[str, int | None]], before: StreamProgress
) -> StreamProgress:
    """Return the progress of the stream, which every shard has; together they read all rows.

    Those that were shed before any query saw them are counted by themselves.
    """
    if not streams:
        return replace(before, rows=0, shed=0)
    first = streams[0]
    return StreamProgress(
        version=int(first["rows"] or 0),
        largest=first["largest"],
        reached=first["reached"],
        ended=bool(first["ended"]),
        rows=sum(int(row["used"] or 0) for row in streams),
        shed=sum(int(row["shed"] or 0) for row in streams),
    )


def with_complete(answers: pa.Table, flat: pa.Table) -> pa.Table:
    """Return answers that Spark made, with ``complete`` if each of them is one row of ``flat``.

    If Spark chose among the rows, an answer is complete only if all of them are, and as complete as
    the least complete of them.
    """
    if COMPLETE in answers.column_names:
        return answers
    about = [name for name in (COMPLETENESS, COMPLETENESS_BY) if name in flat.column_names]
    about = [name for name in about if name not in answers.column_names]
    if answers.num_rows == flat.num_rows:
        for name in (COMPLETE, *about):
            answers = answers.append_column(name, flat[name])
        return answers
    least = {
        COMPLETE: pc.all(flat[COMPLETE]),
        **{name: pc.min(flat[name]) for name in about},
    }
    for name, value in least.items():
        answers = answers.append_column(name, pa.repeat(value, answers.num_rows))
    return answers
