"""Random window queries that come and go over one stream, run together and each alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.hashing import shard_of
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation, RowCounts
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.members import Member
from muntin.operators.shared.shared_windows import SharedWindows
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Edges
from tests.properties.arriving import SLOT_TYPES
from tests.properties.harness import CALLS, bound_calls

INTEGER = Axis(Domain.INTEGER)
KEYS = ("a", "b", None)
PREDICATES = 4
_SLOTS: tuple[st.SearchStrategy[Any], ...] = (
    st.integers(-20, 20).map(lambda n: n / 4) | st.sampled_from([0.0, -0.0, float("nan")]),
    st.integers(-(2**50), 2**50) | st.integers(-3, 3),
    st.sampled_from(["x", "y", ""]),
    st.booleans(),
    st.integers(-999, 999).map(lambda n: Decimal(n).scaleb(-2)),
)


@dataclass(frozen=True)
class Row:
    """A row, and the predicates that it satisfies, as bits."""

    key: str | None
    on: int | None
    slots: tuple[Any, ...]
    satisfied: int


@dataclass(frozen=True)
class Moment:
    """A micro-batch: its rows, and the punctuation of the stream and of some keys after it."""

    rows: Sequence[Row]
    after: int | None
    after_of: Mapping[str | None, int]


@dataclass(frozen=True)
class Query:
    """A member, its predicate, and the micro-batches in which it is there.

    A query that was ``filled`` takes the panes of an older one from the micro-batch ``since``.
    """

    member: Member
    predicate: int
    first: int
    stop: int
    filled: int | None = None

    @property
    def since(self) -> int:
        """The first micro-batch whose rows it has."""
        return self.first if self.filled is None else self.filled

    def wants(self, row: Row) -> bool:
        return bool(row.satisfied >> self.predicate & 1)


@dataclass(frozen=True)
class Case:
    """Queries over a stream; the last moment is the end, and rows after the end may follow."""

    queries: Sequence[Query]
    moments: Sequence[Moment]
    shards: int
    keyed: bool
    stragglers: Sequence[Row] = ()

    @property
    def steps(self) -> list[tuple[Sequence[Row], Punctuation]]:
        """The rows and the punctuation of each micro-batch, with the end and what follows it."""
        before, largest = NEVER, NEVER
        of_keys: dict[str | None, int] = {}
        found: list[tuple[Sequence[Row], Punctuation]] = []
        for moment in self.moments:
            largest = max([largest, *(row.on for row in moment.rows if row.on is not None)])
            after = before if moment.after is None else max(before, moment.after)
            moved = {k: max(of_keys.get(k, NEVER), on) for k, on in moment.after_of.items()}
            after_of = {**of_keys, **(moved if self.keyed else {})}
            found.append((moment.rows, _punctuation(before, after, largest, of_keys, after_of)))
            before, of_keys = after, after_of
        end = _punctuation(before, before, largest, of_keys, of_keys)
        found.append(((), replace(end, ended=True)))
        return [*found, (self.stragglers, replace(end, ended=True, over=True))]


def _punctuation(
    before: int,
    after: int,
    largest: int,
    of_keys: Mapping[str | None, int],
    after_of: Mapping[str | None, int],
) -> Punctuation:
    by_key = pa.table(
        {
            "k0": pa.array(list(after_of), pa.string()),
            "before": pa.array([of_keys.get(key, NEVER) for key in after_of], pa.int64()),
            "after": pa.array(list(after_of.values()), pa.int64()),
        }
    )
    stream = [None if tick == NEVER else tick for tick in (before, after, largest)]
    return Punctuation(*stream, by_key=by_key if after_of else None)


@dataclass
class Told:
    """What a query answered: results of each micro-batch, and the counts of its rows."""

    results: dict[int, list[Any]] = field(default_factory=dict)
    counts: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    refused: int = 0

    def take(self, place: int, results: pa.Table, rows: RowCounts) -> None:
        answers = [tuple(map(str, row.values())) for row in results.to_pylist()]
        self.results[place] = sorted([*self.results.get(place, []), *answers])
        used, late, between = self.counts.get(place, (0, 0, 0))
        self.counts[place] = used + rows.used, late + rows.late, between + rows.between


def table(
    rows: Sequence[Row], keyed: bool, slots: Sequence[int] = range(len(SLOT_TYPES))
) -> pa.Table:
    columns = {"on": pa.array([row.on for row in rows], pa.int64())}
    if keyed:
        columns["k0"] = pa.array([row.key for row in rows], pa.string())
    for place, slot in enumerate(slots):
        columns[f"s{place}"] = pa.array([row.slots[slot] for row in rows], SLOT_TYPES[slot])
    return pa.table(columns)


def row_sets(rows: Sequence[Row], queries: Sequence[Query]) -> tuple[Ints, MemberSets]:
    """Return the set of each row, as the evaluation of all predicates gives it."""
    wanted = [tuple(q.member.number for q in queries if q.wants(row)) for row in rows]
    distinct = list(dict.fromkeys(wanted))
    code = np.array([distinct.index(members) for members in wanted], np.int64)
    offsets = np.cumsum([0, *map(len, distinct)]).astype(np.int64)
    return code, MemberSets(offsets, np.array([m for each in distinct for m in each], np.int64))


def shard_rows(partial: pa.Table, keyed: bool, shards: int) -> list[pa.Table]:
    if not keyed:
        return [partial, *[partial.slice(0, 0)] * (shards - 1)]
    shard = shard_of([partial["k0"].combine_chunks()], partial.num_rows, shards)
    return [partial.filter(pa.array(shard == number)) for number in range(shards)]


def together(case: Case) -> tuple[dict[int, Told], list[MemoryState]]:
    """Run all queries in one group, which is built anew for every micro-batch."""
    told = {query.member.number: Told() for query in case.queries}
    states = [MemoryState() for _ in range(case.shards)]
    for place, (rows, punctuation) in enumerate(case.steps):
        live = [query for query in case.queries if query.first <= place < query.stop]
        work = SharedWindows(
            INTEGER,
            (pa.string(),) if case.keyed else (),
            pa.int64(),
            tuple(query.member for query in live),
        )
        half = len(rows) // 2
        sent = []
        for task in (rows[:half], rows[half:]) if live else ():
            code, sets = row_sets(task, live)
            routed = work.route(table(task, case.keyed), code, sets)
            sent.append(shard_rows(routed.routed.partial, case.keyed, case.shards))
            for number, reasons in routed.refused.items():
                told[number].refused += sum(reasons.values())
        for shard, state in enumerate(states):
            batch = InputBatch([tables[shard] for tables in sent], punctuation)
            step = work.step(state, batch)
            state.apply(step.changes)
            for number, answer in step.answers.items():
                (counts,) = answer.counts
                told[number].take(place, answer.results, counts)
            if not live:
                assert not state.chunks
    return told, states


def alone(case: Case, query: Query) -> Told:
    """Run one query by itself, fed with the rows that it wants from its first micro-batch on."""
    keys = (pa.string(),) if case.keyed else ()
    member = query.member
    used = sorted({slot for call in member.calls for slot in call.slots})
    calls = tuple(
        replace(call, slots=tuple(used.index(slot) for slot in call.slots)) for call in member.calls
    )
    work = WindowOperator(
        INTEGER, member.edges, keys, calls, pa.int64(), unfinished=member.unfinished
    )
    told = Told()
    state = MemoryState()
    for place, (rows, punctuation) in enumerate(case.steps):
        if not query.since <= place < query.stop:
            continue
        wanted = [row for row in rows if query.wants(row)]
        routed = work.route(table(wanted, case.keyed, used))
        step = work.step(state, [InputBatch([routed.partial], punctuation)])
        state.apply(step.changes)
        if place < query.first:
            continue
        told.refused += sum(routed.refused.values())
        (counts,) = step.rows
        told.take(place, step.results, counts)
    return told


ticks = st.integers(-8, 40)


def _rows(on: st.SearchStrategy[Any] = ticks) -> st.SearchStrategy[Row]:
    slots = st.tuples(*(st.none() | values for values in _SLOTS))
    on = on | on | on | st.sampled_from([None, 10**6, -(10**12)])
    return st.builds(Row, st.sampled_from(KEYS), on, slots, st.integers(0, 2**PREDICATES - 1))


def _moments(place: int) -> st.SearchStrategy[Moment]:
    """Draw a micro-batch; rows and punctuation progress by about six ticks."""
    on = st.integers(6 * place - 8, 6 * place + 10)
    after = st.integers(6 * place - 8, 6 * place + 4)
    of_keys = st.dictionaries(st.sampled_from(KEYS), on, max_size=2)
    return st.builds(Moment, st.lists(_rows(on), max_size=8), st.none() | after, of_keys)


@st.composite
def _edges(draw: st.DrawFn) -> Edges:
    clipped = draw(st.booleans())
    return Edges(
        draw(st.integers(1, 20)), draw(st.integers(1, 9)), draw(st.integers(-9, 9)), clipped
    )


@st.composite
def _queries(draw: st.DrawFn, moments: int, calls: Sequence[AggregateCall]) -> list[Query]:
    count = draw(st.integers(1, 7))
    queries: list[Query] = []
    specs = draw(st.lists(_edges(), min_size=1, max_size=4))
    for number in range(count):
        first = draw(st.integers(0, moments))
        stop = draw(st.integers(first + 1, moments + 2) | st.just(moments + 2))
        own = tuple(draw(st.lists(st.sampled_from(calls), min_size=0, max_size=4, unique=True)))
        unfinished = draw(st.sampled_from(["keep", "drop", "flag"]))
        member = Member(3 * number + 1, draw(st.sampled_from(specs)), own, unfinished)
        query = Query(member, draw(st.integers(0, PREDICATES - 1)), first, stop)
        older = [q for q in queries if q.filled is None and q.first < first < q.stop]
        if older and draw(st.booleans()):
            query = _filled(draw, query, draw(st.sampled_from(older)))
        queries.append(query)
    return queries


def _filled(draw: st.DrawFn, query: Query, older: Query) -> Query:
    """Return a query with the panes of an older one: same edges, calls and rows, not longer."""
    edges = older.member.edges
    longest = edges.range // edges.slide
    shorter = draw(st.integers(0, longest - 1 if edges.range % edges.slide == 0 else longest))
    member = replace(
        query.member,
        edges=replace(edges, range=edges.range - shorter * edges.slide),
        calls=older.member.calls,
        aliases=(older.member.number,),
    )
    return replace(query, member=member, predicate=older.predicate, filled=older.first)


@st.composite
def cases(draw: st.DrawFn, some: Sequence[Any] = CALLS) -> Case:
    """Draw queries over a stream that come and go."""
    moments = [draw(_moments(place)) for place in range(draw(st.integers(1, 6)))]
    chosen = draw(st.lists(st.sampled_from(list(some)), min_size=1, max_size=6, unique=True))
    queries = draw(_queries(len(moments), bound_calls(chosen)))
    stragglers = draw(st.lists(_rows(), max_size=2))
    return Case(queries, moments, draw(st.integers(1, 3)), draw(st.booleans()), stragglers)
