"""Taps: a bounded sample of what passes a place of the network, without changing anything there.

A tap is a member of the stream like a query, so it comes and goes between two micro-batches. It
belongs to no group and keeps no state: it copies rows that are there anyway. [AU-20, AV-44]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from muntin.operators.shared.cells.set_cells import SET
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.program import COMPLETE, QueryProgram, Tap
from muntin.operators.shared.query_group import QueryGroup, failure
from muntin.operators.shared.row_filters import MEMBER

#: The column of tapped cells with the members that want them.
MEMBERS = "members"


def tap_of(program: QueryProgram) -> Tap:
    """Return what a program taps."""
    assert program.tap is not None  # else it is a query
    return program.tap


@dataclass
class RowTaps:
    """The taps on rows in one task, and how many rows each has taken."""

    programs: Sequence[QueryProgram]
    _taken: dict[int, int] = field(default_factory=dict)

    def take(self, rows: pa.Table) -> tuple[list[pa.Table], dict[int, str]]:
        """Return tapped rows, with the member of each, and the members that raised an error."""
        tapped: list[pa.Table] = []
        failed: dict[int, str] = {}
        for program in self.programs:
            number = program.member
            left = tap_of(program).most - self._taken.get(number, 0)
            if left <= 0 or number in failed:
                continue
            predicate = program.inputs[0].predicate
            try:
                some = rows if predicate is None else rows.filter(predicate.evaluate(rows))
            except Exception as error:  # whatever a tap raises stops that tap only
                failed[number] = failure(error)
                continue
            some = some.slice(0, left)
            if some.num_rows:
                self._taken[number] = self._taken.get(number, 0) + some.num_rows
                tapped.append(_of_member(some, number))
        return tapped, failed


def tapped_cells(
    program: QueryProgram,
    groups: Mapping[str, QueryGroup],
    arrived: Mapping[tuple[str, int], Sequence[pa.Table]],
) -> pa.Table | None:
    """Return a sample of the cells that have arrived for a tapped query in a shard."""
    tap = tap_of(program)
    group = next((g for g in groups.values() if tap.member in g.members), None)
    if tap.place != "cells" or group is None:
        return None
    tables = [_wanted(table, tap) for table in arrived.get((group.name, 0), ())]
    if not any(table.num_rows for table in tables):
        return None
    return pa.concat_tables(tables).slice(0, tap.most)


def _wanted(cells: pa.Table, tap: Tap) -> pa.Table:
    """Return the first cells that the tapped member wants, with the members of their sets."""
    if SET not in cells.column_names:
        return cells.slice(0, tap.most)
    column = cells[SET].combine_chunks()
    sets = MemberSets.unpacked(column.dictionary)
    having = sets.having(tap.member)[column.indices.to_numpy()]
    members = pa.LargeListArray.from_arrays(sets.offsets, pa.array(sets.members))
    listed = members.take(column.indices).cast(pa.list_(pa.int64()))
    place = cells.schema.get_field_index(SET)
    shown = cells.set_column(place, MEMBERS, listed)
    return shown.filter(pa.array(having)).slice(0, tap.most)


def tapped_answers(
    program: QueryProgram, answers: Mapping[int, pa.Table], chosen: Iterable[pa.Table]
) -> tuple[pa.Table | None, list[pa.Table]]:
    """Return a sample of a query's answers in a shard: those of its operator, and chosen rows.

    ``chosen`` has answers of queries that only choose rows, with the member of each row.
    """
    tap = tap_of(program)
    if tap.place != "answers":
        return None, []
    own = answers.get(tap.member)
    rows = []
    for table in chosen:
        some = table.filter(pc.equal(table[MEMBER], tap.member)).slice(0, tap.most)
        if some.num_rows:
            rows.append(_of_member(some.drop_columns([MEMBER]), program.member))
    return None if own is None else own.slice(0, tap.most), rows


def _of_member(rows: pa.Table, member: int) -> pa.Table:
    """Return rows as chosen rows of a member."""
    if COMPLETE not in rows.column_names:
        rows = rows.append_column(COMPLETE, pa.repeat(pa.scalar(True), rows.num_rows))
    return rows.add_column(0, MEMBER, pa.repeat(pa.scalar(member, pa.int64()), rows.num_rows))
