"""What a query would share with those that are there, and what it would add to the state.

The network with the query is compared with the one without it. Nothing is registered, and no task
is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from muntin.engine.costs.state_estimate import ExpectedSizes, estimated, total_bytes
from muntin.engine.engine_stream import EngineStream
from muntin.engine.plan_query import PlannedQuery
from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.window_group import WindowGroup
from muntin.specs.axis import Axis
from muntin.specs.byte_sizes import written_bytes

_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Addition:
    """What a query would add if it were registered now.

    Attributes:
        stream: The stream that it reads.
        runs_as: What would run it.
        shared_with: The queries that it would share that with.
        same_predicate: The queries of the stream with the same WHERE; None without WHERE.
        new_edges: How far the new edges of panes lie apart, in words; none if all are there.
        new_accumulators: How many columns cells would get.
        state_bytes: The bytes by which the state may grow: an estimate.
        expected: What the estimate expects of the stream.
        used_bytes: The estimate of all queries that are there.
        budget: The bytes that ``mt.Engine(memory=)`` allows; None if there is no budget.
        filled: What it would be filled from: ``nothing`` or ``rows``.
        how: ``in place``, and what Spark would evaluate.
    """

    stream: str
    runs_as: str
    shared_with: tuple[str, ...]
    same_predicate: tuple[str, ...] | None
    new_edges: tuple[str, ...]
    new_accumulators: int
    state_bytes: int
    expected: ExpectedSizes
    used_bytes: int
    budget: int | None
    filled: str
    how: str

    @property
    def fits(self) -> bool:
        """Whether the budget for memory has room for it."""
        grows = self.budget is not None and self.state_bytes > 0
        return not grows or self.used_bytes + self.state_bytes <= (self.budget or 0)

    def __str__(self) -> str:
        others = ", ".join(self.shared_with) or "nobody"
        edges = " and ".join(self.new_edges) or "none"
        keys, rows = self.expected.keys, self.expected.rows
        lines = [
            f"a query over {self.stream}, not registered",
            f"  would run as: {self.runs_as}, shared with {others}",
            f"  rows that it takes: {self._rows}",
            f"  new edges of panes: {edges}",
            f"  new columns of cells: {self.new_accumulators}",
            f"  state: at most {written_bytes(self.state_bytes)} more, an estimate for {keys:,} "
            f"keys and {rows:,} rows a key",
            *self._memory,
            f"  would begin: {self.how}, filled from {self.filled}",
        ]
        return "\n".join(lines)

    @property
    def _rows(self) -> str:
        if self.same_predicate is None:
            return "all"
        shared = f"{', '.join(self.same_predicate)} take the same"
        return shared if self.same_predicate else "a new predicate"

    @property
    def _memory(self) -> list[str]:
        if self.budget is None:
            return []
        answer = "it fits" if self.fits else "it would be refused"
        return [
            f"  memory: {written_bytes(self.used_bytes)} of {written_bytes(self.budget)} are "
            f"taken; {answer}"
        ]


def addition(
    stream: EngineStream, planned: PlannedQuery, start: str, budget: int | None, used: int
) -> Addition:
    """Return what a planned query would share and add."""
    before = stream.planned_network()
    after = stream.planned_network(planned.program)
    program = after.programs[-1]
    group = next((g for g in after.groups.values() if program.member in g.members), None)
    name = "" if group is None else group.name
    if group is None:
        kind = "rows chosen"
        others = [other.member for other in before.filters.programs]
    else:
        kind = estimated(after, stream.sizes)[name].kind
        others = [member for member in group.members if member != program.member]
    old = before.groups.get(name)
    grown = total_bytes(after, stream.sizes) - total_bytes(before, stream.sizes)
    return Addition(
        stream=stream.name,
        runs_as=kind,
        shared_with=tuple(sorted(stream.names(others))),
        same_predicate=_same_predicate(stream, before, program),
        new_edges=tuple(_new_edges(old, group, stream.network.axis)),
        new_accumulators=_new_columns(old, group),
        state_bytes=max(0, grown),
        expected=stream.sizes,
        used_bytes=used,
        budget=budget,
        filled="nothing" if start == "now" else "rows",
        how=_how(planned),
    )


def _same_predicate(
    stream: EngineStream, network: QueryNetwork, program: QueryProgram
) -> tuple[str, ...] | None:
    predicate = program.inputs[0].predicate
    if predicate is None:
        return None
    same = [
        other.member
        for other in network.by_member.values()
        if (own := other.inputs[0].predicate) is not None and own.text == predicate.text
    ]
    return tuple(sorted(stream.names(same)))


def _new_edges(old: object, new: object, axis: Axis) -> list[str]:
    """Return how far edges lie apart that only the new group has, in words."""
    if not isinstance(new, WindowGroup):
        return []
    known = old.windows.members.edges.progressions if isinstance(old, WindowGroup) else []
    found = [
        slide
        for slide, phase in new.windows.members.edges.progressions
        if not any(slide % less == 0 and phase % less == rest for less, rest in known)
    ]
    return [f"every {_length(slide, axis)}" for slide in found]


def _length(ticks: int, axis: Axis) -> str:
    if not axis.domain.temporal:
        return f"{ticks / 10**axis.digits:g}"
    if str(axis.domain) == "date":
        return f"{ticks} days"
    return f"{ticks / _MICROSECONDS:g} seconds"


def _new_columns(old: object, new: object) -> int:
    if not isinstance(new, WindowGroup):
        return 0
    columns = set(new.windows.layout.lasting_names)
    if isinstance(old, WindowGroup):
        columns -= {*old.windows.layout.lasting_names}
    return len(columns)


def _how(planned: PlannedQuery) -> str:
    if planned.finish is None:
        return "in place"
    return f"in place, with a select list that Spark evaluates, because {planned.why_spark}"
