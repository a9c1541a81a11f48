"""Many = each alone: window queries that share a store answer as each of them would by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from muntin.aggregates.definition import AggregateCall
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.operators.shared.cells.cell_store import CELLS, LAYOUT
from muntin.operators.shared.cells.set_cells import shareable
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.members import Member
from muntin.operators.shared.shared_windows import SharedWindows
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Edges
from tests.aggregates.examples import Squares
from tests.shared.sharing import Case, alone, cases, together
from tests.thorough import examples


@examples(2400)
@given(cases())
def test_together_as_each_alone(case: Case) -> None:
    told, states = together(case)
    for query in case.queries:
        wanted, found = alone(case, query), told[query.member.number]
        assert {p: r for p, r in found.results.items() if r} == {
            p: r for p, r in wanted.results.items() if r
        }
        assert found.counts == wanted.counts
        assert found.refused == wanted.refused
    assert all(not state.chunks for state in states)


COUNT = AggregateCall("count", "count(*)", (), (), ansi=True)


class Stream:
    """A group without keys, whose members may change; every row has the set that is given."""

    def __init__(self) -> None:
        self.state = MemoryState()
        self.before: int | None = None

    def take(
        self, members: Sequence[Member], on: Sequence[int], wanted: Sequence[int], after: int
    ) -> dict[int, list[tuple[int, ...]]]:
        """Take in rows that the same members want; return the windows that each answers."""
        work = SharedWindows(Axis(Domain.INTEGER), (), pa.int64(), tuple(members))
        sets = MemberSets(np.array([0, len(wanted)]), np.array(wanted, np.int64))
        rows = pa.table({"on": pa.array(on, pa.int64())})
        routed = work.route(rows, np.zeros(len(on), np.int64), sets).routed
        batch = InputBatch([routed.partial], Punctuation(self.before, after, max(on, default=0)))
        step = work.step(self.state, batch)
        self.state.apply(step.changes)
        self.before = after
        return {
            number: [tuple(row.values()) for row in answer.results.to_pylist()]
            for number, answer in step.answers.items()
        }

    @property
    def cells(self) -> int:
        return sum(
            chunk.num_rows for (name, _), chunk in self.state.chunks.items() if name == CELLS
        )


def windows(number: int, range_: int, slide: int, *aliases: int) -> Member:
    return Member(number, Edges(range_, slide, 0, False), (COUNT,), "keep", aliases)


def test_a_window_beside_others_is_filled_from_their_panes() -> None:
    stream, ten = Stream(), windows(1, 10, 2)
    assert stream.take([ten], [0, 3, 5], [1], 6) == {1: [(-8, 2, 1), (-6, 4, 2), (-4, 6, 3)]}
    eight, other = windows(2, 8, 2, 1), windows(3, 8, 2)
    answers = stream.take([ten, eight, other], [6], [1, 2, 3], 8)
    assert answers == {1: [(-2, 8, 4)], 2: [(0, 8, 4)], 3: [(0, 8, 1)]}


def test_cells_that_only_gone_members_want_are_deleted_in_the_next_step() -> None:
    stream, long, short = Stream(), windows(1, 64, 1), windows(2, 64, 1)
    stream.take([long, short], range(64), [1], 1)
    stream.take([long, short], range(64), [2], 1)
    assert stream.cells == 128
    stream.take([short], [], [], 1)
    assert stream.cells == 64
    stream.take([], [], [], 1)
    assert stream.state.chunks == {}


def test_cells_of_short_windows_do_not_stay_as_long_as_those_of_long_ones() -> None:
    stream, long, short = Stream(), windows(1, 6400, 10), windows(2, 10, 10)
    for start in range(0, 6400, 100):
        stream.take([long, short], range(start, start + 100), [2], start + 100)
    assert stream.cells < 60
    stream.take([long, short], [6399], [1, 2], 6400)
    assert stream.take([long, short], [6405], [1, 2], 6410)[2] == [(6400, 6410, 1)]


def test_chunks_are_cut_anew_for_much_longer_windows() -> None:
    stream, short = Stream(), windows(1, 32, 1)
    stream.take([short], range(32), [1], 1)
    assert stream.state.buckets(LAYOUT) == [1]
    answers = stream.take([short, windows(2, 32_000, 32)], [33], [1, 2], 32)
    assert stream.state.buckets(LAYOUT) == [1000]
    assert answers[1][-1] == (0, 32, 32)


@pytest.mark.parametrize("numbers", [[0], [1, 127, 128, 2**40], [5, 6, 2**62]])
def test_packed_sets(numbers: list[int]) -> None:
    sets = MemberSets(np.array([0, 0, len(numbers)]), np.array(numbers))
    unpacked = MemberSets.unpacked(sets.packed)
    assert unpacked.members.tolist() == numbers
    assert unpacked.offsets.tolist() == [0, 0, len(numbers)]


def test_what_can_be_shared() -> None:
    own = AggregateCall("own", "squares", (0,), (pa.int64(),), True, (Squares(),))
    assert shareable([COUNT])
    assert not shareable([COUNT, own])
