"""Queries that only choose rows: each row goes to all queries that want it at once [FJ-32]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.expressions.predicate_sets import PredicateSets
from muntin.kernels.arrays import Ints
from muntin.operators.shared.predicates import member_predicates
from muntin.operators.shared.program import COMPLETE, AnswerColumns, QueryProgram
from muntin.operators.shared.query_group import failure

#: The column of chosen rows that says whose answer they are.
MEMBER = "_member"


@dataclass(frozen=True)
class RowFilters:
    """Filters that are not paused, all of one version."""

    programs: tuple[QueryProgram, ...]

    @cached_property
    def _predicates(self) -> PredicateSets:
        return member_predicates(self.programs)

    @cached_property
    def _by_columns(self) -> list[tuple[AnswerColumns, Ints]]:
        """The members of each select list; queries with the same one share its evaluation."""
        shared: dict[str, tuple[AnswerColumns, list[int]]] = {}
        for program in self.programs:
            assert program.answers is not None  # else the query was refused
            shared.setdefault(repr(program.answers), (program.answers, []))[1].append(
                program.member
            )
        return [(columns, np.array(sorted(m), np.int64)) for columns, m in shared.values()]

    def choose(self, rows: pa.Table) -> tuple[list[pa.Table], dict[int, str]]:
        """Return chosen rows as answers, with the member of each; one table for a select list.

        With them is the reason for each member whose select list raised an error.
        """
        answers: list[pa.Table] = []
        failed: dict[int, str] = {}
        if not self.programs:
            return answers, failed
        places, offsets, members = self._predicates.evaluate(rows).rows_of()
        place = np.repeat(places, np.diff(offsets))
        for columns, own in self._by_columns:
            found = np.minimum(np.searchsorted(own, members), len(own) - 1)
            wanted = own[found] == members
            if wanted.any():
                try:
                    answers.append(self._answers(columns, rows, place[wanted], members[wanted]))
                except Exception as error:  # whatever a query raises stops that query only
                    failed |= dict.fromkeys(np.unique(members[wanted]).tolist(), failure(error))
        return answers, failed

    def _answers(
        self, columns: AnswerColumns, rows: pa.Table, place: Ints, member: Ints
    ) -> pa.Table:
        distinct, spread = np.unique(place, return_inverse=True)
        answers = columns.of(rows.take(pa.array(distinct)))
        order = np.argsort(member, kind="stable")
        chosen = answers.take(pa.array(spread[order]))
        chosen = chosen.append_column(COMPLETE, pa.repeat(pa.scalar(True), chosen.num_rows))
        return chosen.add_column(0, MEMBER, pa.array(member[order]))


def by_member(answers: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Split chosen rows, which are in the order of members, by member."""
    member = answers[MEMBER].to_numpy()
    cuts = np.flatnonzero(np.diff(member, prepend=member[:1] - 1, append=member[-1:] + 1))
    plain = answers.drop_columns([MEMBER])
    for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        yield int(member[start]), plain.slice(start, end - start)
