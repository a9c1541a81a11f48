"""Answers that stand in a shard until somebody asks: those of queries with ``answer="partial"``.

The operator of such a query runs as always. Its answers stay in the shard, for each key the newest,
instead of going to the commit and into the result log. A program whose number of asks has risen
lets the shard report them, in one micro-batch: the first that runs the program. So does a program
that is not partial any more: what stands then is reported with the first answers that do not wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from muntin.operators.protocol import Changes, State
from muntin.operators.shared.asking.newest import certain_in
from muntin.operators.shared.program import QueryProgram

#: The table of a shard's state that has the answers, all queries in one chunk.
STANDING = "standing"
_COLUMNS = pa.schema([("member", pa.int64()), ("told", pa.int64()), ("answers", pa.large_binary())])


@dataclass(frozen=True)
class Standing:
    """The newest answers of a query in a shard, and the last ask that it was told."""

    told: int = 0
    answers: pa.Table | None = None

    def added(self, program: QueryProgram, answers: pa.Table, micro_batch: int) -> Standing:
        """Return what stands when a micro-batch has made more answers."""
        new = certain_in(answers, micro_batch)
        together = new if self.answers is None else pa.concat_tables([self.answers, new])
        return replace(self, answers=program.newest.of(together))


@dataclass
class StandingAnswers:
    """What stands in a shard, before and after a micro-batch."""

    programs: Mapping[int, QueryProgram]
    before: Mapping[int, Standing]
    now: dict[int, Standing] = field(default_factory=dict)
    leaving: Mapping[int, QueryProgram] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State, programs: Mapping[int, QueryProgram]) -> StandingAnswers:
        """Read what stands; that of queries which are gone, or made otherwise, is left out."""
        before = {
            row["member"]: Standing(row["told"], _table(row["answers"]))
            for bucket in state.buckets(STANDING)
            for row in state.read(STANDING, bucket).to_pylist()
        }
        partial = {m: p for m, p in programs.items() if p.answer == "partial"}
        kept = {member: before.get(member, Standing()) for member in partial}
        leaving = {m: p for m, p in programs.items() if m in before and p.answer == "eager"}
        return cls(partial, before, kept, leaving)

    def add(self, member: int, answers: pa.Table, micro_batch: int) -> None:
        """Let answers stand that a micro-batch has made."""
        program = self.programs[member]
        self.now[member] = self.now[member].added(program, answers, micro_batch)

    def told(self) -> dict[int, pa.Table]:
        """Return the answers of queries that are asked now, once for each ask."""
        told = {}
        for member, program in self.programs.items():
            standing = self.now[member]
            if program.asked > standing.told:
                self.now[member] = replace(standing, told=program.asked)
                if standing.answers is not None:
                    told[member] = standing.answers
        return told

    def left(self, made: Mapping[int, pa.Table], micro_batch: int) -> dict[int, pa.Table]:
        """Return the answers of queries that wait no more: what stood, and what is made now."""
        left = {}
        for member, program in self.leaving.items():
            standing = self.before[member]
            if member in made:
                standing = standing.added(program, made[member], micro_batch)
            if standing.answers is not None:
                left[member] = standing.answers
        return left

    def changes(self) -> Changes:
        """Return the change of the state, if there is one."""
        now = {m: s for m, s in self.now.items() if s != Standing()}
        same = now.keys() == self.before.keys() and all(now[m] is self.before[m] for m in now)
        if same:
            return {}
        rows = [
            {"member": member, "told": standing.told, "answers": _bytes(standing.answers)}
            for member, standing in sorted(now.items())
        ]
        return {(STANDING, 0): pa.Table.from_pylist(rows, _COLUMNS) if rows else None}


def _bytes(table: pa.Table | None) -> bytes | None:
    if table is None:
        return None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _table(content: bytes | None) -> pa.Table | None:
    return None if content is None else pa.ipc.open_stream(content).read_all()
