"""The predicates of many queries, evaluated together: for each row the set of those it satisfies.

Predicates are split into conditions on one part each, and equal parts are evaluated once for all
[FJ-32]. The constants that a part is compared with cut its values into ranges; between which of
them a row lies is found once, whatever the number of predicates [PS-12]. Rows that lie between the
same constants have the same set, so that sets are found for distinct combinations. The result is
what evaluating every predicate alone gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.expressions.evaluate import Evaluation
from muntin.expressions.nodes import Inner
from muntin.expressions.predicates.combinations import distinct_rows
from muntin.expressions.predicates.compared_part import CodedPart
from muntin.expressions.predicates.set_table import SetTable
from muntin.expressions.predicates.term_index import TermIndex
from muntin.expressions.predicates.terms import Column, Term, TermReader
from muntin.expressions.predicates.value_ranges import ValueRanges
from muntin.expressions.row_expression import RowExpression, column_value
from muntin.expressions.values import Value
from muntin.kernels.arrays import Ints
from muntin.kernels.interval_codes import Codes, CodeTarget

#: So many codes are held at a time; a table with more is evaluated in stretches of rows.
_MOST_CODES = 2**23
_FEWEST_ROWS = 4096


@dataclass(frozen=True)
class RowSets:
    """For each row the number of its set; sets are distinct.

    Set ``i`` is ``members[offsets[i]:offsets[i + 1]]``, in ascending order.
    """

    code: Ints
    offsets: Ints
    members: Ints

    def rows_of(self) -> tuple[Ints, Ints, Ints]:
        """Return the rows that have members, where each one's members begin, and the members.

        The members of the row at place ``i`` are ``members[offsets[i]:offsets[i + 1]]``.

        >>> sets = RowSets(np.array([0, 1, 0]), np.array([0, 2, 2]), np.array([4, 7]))
        >>> [part.tolist() for part in sets.rows_of()]
        [[0, 2], [0, 2, 4], [4, 7, 4, 7]]
        """
        sizes = np.diff(self.offsets)[self.code]
        rows = np.flatnonzero(sizes)
        ends = np.append(0, np.cumsum(sizes[rows]))
        skipped = np.repeat(self.offsets[self.code[rows]] - ends[:-1], sizes[rows])
        return rows, ends, self.members[skipped + np.arange(len(skipped))]


@dataclass(frozen=True)
class PredicateSets:
    """Predicates of members, ready to be evaluated.

    >>> from muntin.expressions.row_expression import compile_row_expression
    >>> slow, left = (
    ...     compile_row_expression(text, {"speed": pa.float64(), "lane": pa.int32()}, zone="UTC",
    ...                            errors="null") for text in ("speed < 40", "lane = 1"))
    >>> sets = PredicateSets.of([(3, slow), (5, left), (8, None)])
    >>> rows = pa.table({"speed": [30.0, 60.0, None], "lane": pa.array([1, 2, 1], pa.int32())})
    >>> found = sets.evaluate(rows)
    >>> [found.members[found.offsets[c]:found.offsets[c + 1]].tolist() for c in found.code]
    [[3, 5, 8], [8], [5, 8]]
    """

    columns: tuple[Column, ...]
    parts: tuple[CodedPart, ...]
    index: TermIndex
    members: Ints

    @classmethod
    def of(cls, predicates: Sequence[tuple[int, RowExpression | None]]) -> PredicateSets:
        """Prepare predicates, each with its member; None is satisfied by every row.

        Predicates are compiled with ``errors="null"``. A member may have several predicates, of
        which one must be satisfied.
        """
        members, ranks = np.unique([member for member, _ in predicates], return_inverse=True)
        reader = TermReader()
        wanting: dict[tuple[tuple[int, object], ...], tuple[Term, list[int]]] = {}
        for rank, (_, predicate) in zip(ranks.tolist(), predicates, strict=True):
            for term in [{}] if predicate is None else reader.terms(predicate):
                key = tuple(sorted(term.items(), key=lambda item: item[0]))
                wanting.setdefault(key, (term, []))[1].append(rank)
        used = sorted({part for term, _ in wanting.values() for part in term})
        places = {part: place for place, part in enumerate(used)}
        terms = [
            ({places[part]: ranges for part, ranges in term.items()}, ranks_of)
            for term, ranks_of in wanting.values()
        ]
        ranges: list[list[ValueRanges]] = [[] for _ in used]
        for term, _ in terms:
            for place, found in term.items():
                ranges[place].append(found)
        parts = tuple(
            CodedPart.of(reader.parts[part], found)
            for part, found in zip(used, ranges, strict=True)
        )
        return cls(
            tuple(reader.columns), parts, TermIndex.of(parts, terms), members.astype(np.int64)
        )

    def evaluate(self, rows: pa.Table) -> RowSets:
        """Return the set of members of each row of a table that has the columns."""
        found = SetTable(len(self.members))
        stretch = max(_FEWEST_ROWS, _MOST_CODES // max(1, len(self.parts)))
        code = np.empty(rows.num_rows, np.int64)
        for start in range(0, rows.num_rows, stretch):
            some = rows.slice(start, stretch)
            code[start : start + some.num_rows] = self._numbers(some, found)
        offsets, members = found.sets()
        return RowSets(code, offsets, self.members[members])

    def _numbers(self, rows: pa.Table, found: SetTable) -> Ints:
        """Return the number of each row's set."""
        combinations, number = distinct_rows(self._codes(rows), self.index.bases)
        arranged = self.index.arranged(combinations)
        sets = found.numbers(combinations, self.index.terms, arranged)
        return sets if number is None else sets[number]

    def _codes(self, rows: pa.Table) -> Codes:
        """Return a row of codes for each row, with the codes of each part in a column."""
        codes = np.empty((rows.num_rows, len(self.parts)), np.int32)
        flat, width = codes.ravel(), len(self.parts)
        evaluation = Evaluation(
            lambda place: column_value(rows, *self.columns[place]), _no_aggregate
        )
        for place, part in enumerate(self.parts):
            base = int(self.index.bases[place])
            part.write_codes(evaluation.value(part.part.node), CodeTarget(flat, base, place, width))
        return codes


def _no_aggregate(node: Inner) -> Value:
    raise AssertionError(node)  # refused when the expression was compiled
