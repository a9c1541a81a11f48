"""Members: the window queries that share a pane store, and who wants the rows of which set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator
from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall, BoundAggregate
from muntin.kernels.arrays import Ints
from muntin.operators.protocol import key_fields
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.window_edges import WindowEdges
from muntin.specs.windows import Edges, Unfinished

#: The numbers of members are looked up in a table if it has at most so many entries.
_DENSE = 2**20


@dataclass(frozen=True)
class Member:
    """One window query of a shared store.

    Its ``number`` is never used again in a stream. ``calls`` read the slots of the whole group.
    ``aliases`` are older members whose panes this member also takes.
    """

    number: int
    edges: Edges
    calls: tuple[AggregateCall, ...]
    unfinished: Unfinished = "flag"
    aliases: tuple[int, ...] = ()


@dataclass(frozen=True)
class Shape:
    """What members with the same columns of results ask for."""

    calls: tuple[AggregateCall, ...]
    unfinished: Unfinished

    @cached_property
    def bound(self) -> tuple[BoundAggregate, ...]:
        return tuple(bind(call) for call in self.calls)

    @cached_property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """The accumulators of all calls, each once."""
        return tuple(dict.fromkeys(a for bound in self.bound for a in bound.accumulators))

    def schema(self, keys: Sequence[pa.DataType], bound_type: pa.DataType) -> pa.Schema:
        """Return the columns of results, as the operator of one query has them."""
        bounds = [pa.field(name, bound_type) for name in ("window_start", "window_end")]
        flag = [pa.field("complete", pa.bool_())] if self.unfinished == "flag" else []
        results = [pa.field(f"r{place}", bound.type) for place, bound in enumerate(self.bound)]
        return pa.schema([*key_fields(keys), *bounds, *flag, *results])


@dataclass(frozen=True)
class Members:
    """The members of one version of a group; elsewhere a member is its place in here."""

    members: tuple[Member, ...]

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def numbers(self) -> Ints:
        return np.array([member.number for member in self.members], np.int64)

    @cached_property
    def edges(self) -> WindowEdges:
        """The distinct edges of all members."""
        return WindowEdges(tuple(dict.fromkeys(member.edges for member in self.members)))

    @cached_property
    def edges_of(self) -> Ints:
        """For each member, the place of its edges among the distinct ones."""
        places = {edges: place for place, edges in enumerate(self.edges.windows)}
        return np.array([places[member.edges] for member in self.members], np.int64)

    @cached_property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The calls of all members, each once."""
        return tuple(dict.fromkeys(call for member in self.members for call in member.calls))

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The distinct shapes of results."""
        return tuple(dict.fromkeys(Shape(m.calls, m.unfinished) for m in self.members))

    @cached_property
    def shape_of(self) -> Ints:
        """For each member, the place of its shape."""
        places = {shape: place for place, shape in enumerate(self.shapes)}
        return np.array([places[Shape(m.calls, m.unfinished)] for m in self.members], np.int64)

    @cached_property
    def known(self) -> Ints:
        """The numbers that sets may have for a member of this version, in order."""
        return np.unique(self._wants[0])

    @cached_property
    def _wants(self) -> tuple[Ints, Ints]:
        """Pairs of a number in sets and a member that wants its rows, sorted."""
        pairs = sorted(
            {
                (number, place)
                for place, member in enumerate(self.members)
                for number in (member.number, *member.aliases)
            }
        )
        both = np.array(pairs, np.int64).reshape(-1, 2)
        return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])

    def _places_of(self, numbers: Ints) -> Ints:
        """Return the place of each number among those of members, or any place for others."""
        first, last = int(self.numbers[0]), int(self.numbers[-1])
        if last - first > _DENSE:
            return np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        places = np.zeros(last - first + 1, np.int64)
        places[self.numbers - first] = np.arange(len(self.numbers))
        return places[np.clip(numbers, first, last) - first]

    def wanting(self, sets: MemberSets) -> MemberSets:
        """Return for each set the places of the members that want its rows."""
        number, place = self._wants
        if np.array_equal(place, np.arange(len(number))) and len(number):
            # No aliases, and members in the order of their numbers: one place for each number.
            found = self._places_of(sets.members)
            return sets.replaced(found, number[found] == sets.members)
        start = np.searchsorted(number, sets.members, side="left")
        count = np.searchsorted(number, sets.members, side="right") - start
        owner = np.repeat(sets.owners, count)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        return MemberSets.of_pairs(owner, place[np.repeat(start, count) + step], len(sets))


def members_of(members: Sequence[Member]) -> Members:
    """Return the members of a version in the order of their numbers."""
    return Members(tuple(sorted(members, key=lambda member: member.number)))
