"""Which rows each query wants: the predicates of many queries are evaluated together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.expressions.predicate_sets import PredicateSets, RowSets
from muntin.kernels.arrays import Ints
from muntin.operators.shared.program import QueryProgram

#: A query has at most so many inputs.
_INPUTS = 64


@dataclass(frozen=True)
class WantedSets:
    """The rows that inputs of members take, from the set of inputs that want each row."""

    sets: RowSets

    def of(self, member: int, source: int) -> pa.Array | None:
        """Return a mask of the rows that an input of a member takes; None if it takes all."""
        number = _input_number(member, source)
        first, last = np.searchsorted(self._members, [number, number + 1])
        wanting = np.zeros(len(self.sets.offsets) - 1, np.bool_)
        wanting[self._owners[first:last]] = True
        return None if wanting.all() else pa.array(wanting[self.sets.code])

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(self.sets.members, kind="stable")

    @cached_property
    def _members(self) -> Ints:
        return self.sets.members[self._order]

    @cached_property
    def _owners(self) -> Ints:
        """For each entry of the members in order, the set that it belongs to."""
        count = len(self.sets.offsets) - 1
        return np.repeat(np.arange(count), np.diff(self.sets.offsets))[self._order]


def _input_number(member: int, source: int) -> int:
    return member * _INPUTS + source


def input_predicates(programs: Sequence[QueryProgram], of: int = 0) -> PredicateSets:
    """Return the predicates of queries on an input of the stream, as WantedSets reads them."""
    return PredicateSets.of(
        [
            (_input_number(program.member, source), own.predicate)
            for program in programs
            for source, own in enumerate(program.inputs)
            if own.of == of
        ]
    )


def member_predicates(programs: Sequence[QueryProgram]) -> PredicateSets:
    """Return the predicates of the first inputs of queries, by member."""
    return PredicateSets.of([(program.member, program.inputs[0].predicate) for program in programs])
