"""The queries of an engine's stream: their plans, what runs for them, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from muntin.engine.commit import (
    MemberCounts,
)
from muntin.engine.costs.query_cost import NOTHING, QueryCost, RunningPart, cost_of
from muntin.engine.costs.stream_costs import StreamCosts
from muntin.engine.plan_query import PlannedQuery, with_bound
from muntin.engine.planning.preferences import preferring_program
from muntin.engine.planning.similar_queries import SimilarQueries
from muntin.engine.planning.views import (
    plan_reader,
    planned_reader,
    reader_planner,
    view_of,
    view_stream,
)
from muntin.engine.registry import Registry
from muntin.engine.registry_records import (
    QueryRecord,
    VersionMember,
)
from muntin.errors import EngineError
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.base_panes import BasePanes
from muntin.operators.shared.costs.meter import CHOSEN_ROWS
from muntin.operators.shared.network import QueryNetwork
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.single_query import SingleQuery
from muntin.operators.shared.window_group import WindowGroup
from muntin.parser.statements import Query
from muntin.spark.api.stream import Stream
from muntin.spark.queries.many_queries import NetworkStream

_KINDS: Mapping[type[object], str] = {
    WindowGroup: "windows over shared panes",
    SingleQuery: "an operator of its own",
    BasePanes: "base panes",
}


class StreamQueries:
    """The part of :class:`~muntin.engine.engine_stream.EngineStream` that knows its queries."""

    name: str
    network: NetworkStream
    registry: Registry
    counts: dict[int, MemberCounts]
    costs: StreamCosts
    _planned: dict[str, PlannedQuery]
    _plans: dict[int, PlannedQuery]
    _views: dict[tuple[str, str], SimilarQueries]
    _live_programs: dict[int, tuple[str, QueryProgram]]
    _running: tuple[Sequence[VersionMember], QueryNetwork] | None

    def ending(self, program: QueryProgram, until: object) -> QueryProgram:
        """Return the program of a query that takes only rows before a value of ``on``."""
        return with_bound(program, self._read_by(program), self.network.axis, "until", until)

    def beginning(self, program: QueryProgram, start: object) -> QueryProgram:
        """Return the program of a query that takes only rows from a value of ``on`` on."""
        return with_bound(program, self._read_by(program), self.network.axis, "start", start)

    def _read_by(self, program: QueryProgram) -> list[Stream]:
        """Return what a query reads, over empty tables: the inputs of the stream, or a view."""
        if program.view is None:
            return self._inputs
        return [view_stream("it", program.view, self.network.planning)]

    @property
    def _inputs(self) -> list[Stream]:
        return [own.planning for own in self.network.inputs]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names by which queries read the inputs of the stream."""
        return tuple(own.name for own in self.network.inputs)

    def plan(self, text: str) -> PlannedQuery:
        """Plan a query over this stream, or return the plan of the same text."""
        if text not in self._planned:
            self._planned[text] = self._similar.plan(text)
        return self._planned[text]

    def plan_parsed(self, query: Query, view: QueryRecord | None) -> PlannedQuery:
        """Plan a query over this stream, or over a view of it; its plan is not kept."""
        if view is None:
            return self._similar.plan_parsed(query)
        name, rows = view.name or view.id, view_of(view)
        if len(self.inputs) > 1:
            raise EngineError(
                f"{name} reads the stream {self.name}, which has several inputs, and queries read "
                "views of streams with one input only; read an input itself: "
                f"{', '.join(self.inputs)}"
            )
        key = (name, repr(rows))
        if key not in self._views:
            planning, axis = self.network.planning, self.network.axis
            self._views[key] = reader_planner(name, rows, planning, axis)
        return plan_reader(query, rows, self._views[key])

    def preferring(self, program: QueryProgram, query: Query) -> QueryProgram:
        """Return the program of a query with what it prefers, by the summaries that there are."""
        inputs = dict(zip(self.inputs, self._inputs, strict=True))
        summaries = [*self.registry.summaries(self.name).values()]
        return preferring_program(program, query, inputs, summaries, self.network.axis)

    def plan_of(self, record: QueryRecord) -> PlannedQuery:
        """Return the plan of a query that is registered."""
        if record.number not in self._plans:
            self._plans[record.number] = planned_reader(record) or self.plan(record.text)
        return self._plans[record.number]

    @cached_property
    def _similar(self) -> SimilarQueries:
        declared = dict(zip(self.inputs, self._inputs, strict=True))
        beyond = {own.name: own.planning_beyond for own in self.network.inputs}
        return SimilarQueries(declared, self.network.axis, beyond)

    def running(self) -> QueryNetwork:
        """Return the network of the newest version."""
        members = self.registry.version_members(self.name)
        if self._running is None or self._running[0] != members:
            programs = [from_json(m.program).numbered(m.number) for m in members]
            network = QueryNetwork(from_json(self.network.rule), tuple(programs))
            self._running = members, network
        return self._running[1]

    def planned_network(
        self, program: QueryProgram | None = None, without: int | None = None
    ) -> QueryNetwork:
        """Return the network of all live queries, also those that are not in a version yet.

        Args:
            program: One more query, which would get the next number.
            without: A member that is left out.
        """
        live = [own for own in self.registry.live(self.name) if own.number != without]
        known, read = self._live_programs, {}
        for own in live:
            text, parsed = known.get(own.number, ("", None))
            if parsed is None or text != own.program:
                parsed = from_json(own.program).numbered(own.number)
            read[own.number] = own.program, parsed
        self._live_programs = read
        programs = [parsed for _, parsed in read.values()]
        if program is not None:
            number = max((own.member for own in programs), default=0) + 1
            programs.append(program.numbered(number))
        return QueryNetwork(from_json(self.network.rule), tuple(programs))

    def shared(self) -> list[RunningPart]:
        """Return what runs for the newest version: each part with the queries that share it."""
        network = self.running()
        parts = [
            RunningPart(group.name, _KINDS[type(group)], tuple(sorted(self.names(group.members))))
            for group in network.groups.values()
        ]
        chosen = [program.member for program in network.filters.programs]
        if chosen:
            names = tuple(sorted(self.names(chosen)))
            parts.append(RunningPart(CHOSEN_ROWS, "rows chosen", names))
        return parts

    def cost(self, record: QueryRecord, parts: Sequence[RunningPart] | None = None) -> QueryCost:
        """Return what a query has cost; ``parts`` are those of :meth:`shared`, if known."""
        name = record.name or record.id
        own = (part for part in parts or self.shared() if name in part.queries)
        counts = self.counts_of(record.number)
        return cost_of(record, counts, self.costs, next(own, NOTHING))

    def counts_of(self, member: int) -> MemberCounts:
        """Return the row counts of a member since the engine started."""
        return self.counts.get(member, MemberCounts())

    def names(self, members: Iterable[int]) -> Iterator[str]:
        """Yield the names of members, or the ids of those without one."""
        for number in members:
            record = self.registry.member(number)
            yield record.name or record.id
