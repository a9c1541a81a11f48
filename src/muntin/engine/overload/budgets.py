"""Budgets of an engine: what queries may spend in a micro-batch, asked for, logged and shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin.engine.costs.stream_costs import StreamCosts
from muntin.engine.engine_stream import EngineStream
from muntin.engine.overload.qos_of_query import qos_of
from muntin.engine.registry import Registry
from muntin.engine.registry_records import RUNNING, TAP, QueryRecord
from muntin.errors import ArgumentError, EngineError
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.overload.budgeted import preferring, why_not_budgeted
from muntin.specs.overload import WAITING, OverloadDecision, Policy, QueryBudget

#: The columns of ``engine.budgets()``.
BUDGETS = pa.schema(
    [
        ("stream", pa.string()),
        ("query", pa.string()),
        ("units", pa.int64()),
        ("seconds", pa.float64()),
        ("share", pa.float64()),
        ("policy", pa.string()),
        ("used", pa.int64()),
        ("shed", pa.int64()),
        ("shed_by", pa.map_(pa.string(), pa.int64())),
        ("waiting", pa.int64()),
        ("exact_because", pa.string()),
    ]
)


class EngineBudgets:
    """The part of :class:`muntin.Engine` that limits what queries spend."""

    registry: Registry
    _streams: dict[str, EngineStream]

    if TYPE_CHECKING:

        def stream_of(self, name: str) -> EngineStream: ...
        def _commanded(self, stream: EngineStream) -> None: ...

    def budget(
        self,
        units: int | None = None,
        *,
        seconds: float | None = None,
        share: float | None = None,
        query: str | None = None,
        policy: str | Policy | None = None,
        waiting: int | None = None,
        stream: str | None = None,
    ) -> pa.Table:
        """Limit what queries spend in a micro-batch; without arguments, show what they may spend.

        A budget is in force with the stream's next version. Rows for which there is no room wait
        until there is, and are shed when too many wait or when they cannot count any more. What
        comes of a query under a budget has the columns ``completeness`` and ``completeness_by``.

        Args:
            units: Units of work in each micro-batch, over all shards: one is one row read, one
                pair probed or one row kept.
            seconds: Processor time in each micro-batch, which becomes units by what has been
                measured so far.
            share: The part of the work that exact answers would take in each micro-batch.
            query: Whose budget it is; without it that of all queries together, each of which has
                an equal part.
            policy: On what the budget is spent: ``"oldest"`` (the default), ``"newest"``,
                ``"random"``, ``"windows"``, ``"preference"`` or a :class:`muntin.Policy`. For a
                query that states a graph of values also ``"value"``, which takes that graph.
            waiting: How many rows of a query may wait.
            stream: The stream, if not all streams of the engine are meant.

        Returns:
            What :meth:`budgets` returns.
        """
        limits = {"units": units, "seconds": seconds, "share": share}
        given = [name for name, value in limits.items() if value is not None]
        if len(given) > 1:
            raise ArgumentError(given[1], limits[given[1]], f"nothing beside {given[0]}=")
        if not given and policy is None and waiting is None:
            if query is not None:
                raise ArgumentError("query", query, "units=, seconds=, share= or policy= beside it")
            return self.budgets()
        kept = WAITING if waiting is None else waiting
        record = None if query is None else self.registry.get(query)
        chosen = policy if isinstance(policy, Policy) else _policy(policy or "oldest", record)
        for own in self._streams_meant(stream, record):
            made = units if seconds is None else units_of(seconds, own.costs)
            budget = QueryBudget(made, share, chosen, kept)
            if record is not None:
                _check_budgeted(own, record, chosen)
            self.decide(own, _decided(self.registry.decision(own.name), record, budget, seconds))
        return self.budgets()

    def drop_budget(self, query: str | None = None, *, stream: str | None = None) -> pa.Table:
        """Let queries spend what they need again: one of them, or all.

        What waits is looked at in the next micro-batch.
        """
        record = None if query is None else self.registry.get(query)
        for own in self._streams_meant(stream, record):
            before = self.registry.decision(own.name)
            if record is None:
                self.decide(own, OverloadDecision(kept=before.kept))
            else:
                left = {id: b for id, b in before.queries.items() if id != record.id}
                self.decide(own, replace(before, queries=left))
        return self.budgets()

    def decide(self, stream: EngineStream, decision: OverloadDecision) -> int:
        """Log what the queries of a stream may spend from its next version on."""
        with stream.publishing:
            seq = self.registry.decide(stream.name, decision)
        self._commanded(stream)
        return seq

    def budgets(self) -> pa.Table:
        """Return what queries may spend, and what they have used and shed.

        There is a row for each stream, without a ``query``, and one for each of its live queries.
        ``exact_because`` says why a query loses nothing.
        """
        rows = [row for stream in self._streams.values() for row in self._budgets_of(stream)]
        return pa.Table.from_pylist(rows, BUDGETS)

    def _budgets_of(self, stream: EngineStream) -> Iterator[Mapping[str, object]]:
        decision = self.registry.decision(stream.name)
        whole = {"units": decision.units, "seconds": decision.seconds, "share": decision.share}
        named = None if decision.policy is None else str(decision.policy)
        yield {"stream": stream.name, **whole, "policy": named}
        running = [
            record
            for record in self.registry.search(stream=stream.name)
            if record.status in RUNNING and record.emit != TAP
        ]
        pinned = decision.pinned({record.number: record.id for record in running})
        for record in running:
            counts = stream.counts_of(record.number)
            row: dict[str, object] = {"stream": stream.name, "query": record.name or record.id}
            row |= {"used": counts.used, "shed": counts.shed, "waiting": counts.waiting}
            row |= {"shed_by": [*counts.shed_by.items()]}
            budget = pinned.budgets.get(record.number)
            if budget is None:
                yield {**row, "exact_because": "it has no budget"}
                continue
            reason = _why_not(stream, record, budget.policy)
            if reason is not None:
                yield {**row, "exact_because": reason}
                continue
            limits = {"units": budget.units, "share": budget.share}
            policy = preferring(from_json(record.program), budget).policy
            yield {**row, **limits, "policy": str(policy)}

    def _streams_meant(self, stream: str | None, record: QueryRecord | None) -> list[EngineStream]:
        if record is not None:
            if stream is not None and stream != record.stream:
                raise ArgumentError("stream", stream, f"{record.name} reads {record.stream}")
            return [self.stream_of(record.stream)]
        return [*self._streams.values()] if stream is None else [self.stream_of(stream)]


def _policy(name: str, record: QueryRecord | None) -> Policy:
    """Return a policy by its name; that by value has the graph that a query states."""
    qos = None if record is None or name != "value" else qos_of(record)
    if qos is None or qos.value is None:
        return Policy(name)
    return Policy(name, qos.value.column, qos.value.points)


def units_of(seconds: float, costs: StreamCosts) -> int:
    """Return how many units of work fit into some seconds of processor time, as measured."""
    given: object = seconds
    if isinstance(given, bool) or not isinstance(given, int | float) or given < 0:
        raise ArgumentError("seconds", seconds, "seconds of processor time, such as 0.5")
    cost = costs.seconds_of_a_unit()
    if cost is None:
        raise EngineError(
            "nothing has been measured since the engine started, so seconds cannot become units; "
            "let it run a micro-batch, or give units= or share="
        )
    return int(seconds / cost)


def _decided(
    before: OverloadDecision,
    record: QueryRecord | None,
    budget: QueryBudget,
    seconds: float | None,
) -> OverloadDecision:
    """Return a decision with another budget, of one query or of all."""
    if record is not None:
        return replace(before, queries={**before.queries, record.id: budget})
    return replace(
        before,
        units=budget.units,
        share=budget.share,
        policy=budget.policy,
        waiting=budget.waiting,
        seconds=seconds,
    )


def _why_not(stream: EngineStream, record: QueryRecord, policy: Policy) -> str | None:
    by_key = from_json(stream.network.rule).by_key
    program = from_json(record.program)
    own = preferring(program, QueryBudget(policy=policy)).policy
    return why_not_budgeted(program, own, by_key=by_key)


def _check_budgeted(stream: EngineStream, record: QueryRecord, policy: Policy) -> None:
    reason = _why_not(stream, record, policy)
    if reason is not None:
        raise ArgumentError("query", record.name, f"another query or policy: {reason}")
