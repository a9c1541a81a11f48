"""The windows that a cut returns for rows that became final, and the cells it still needs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.arrays import NEVER
from muntin.operators.rows.cut import (
    EVER,
    RankCut,
    TupleCut,
    first_of_each,
    greatest_of_ties,
    reach_back,
    spread,
)
from muntin.specs.axis import TICK_LIMIT, Axis, Domain
from muntin.specs.row_windows import RowWindow
from tests.operators.progressed import ints, progressed, run, told

INTEGER = Axis(Domain.INTEGER)


def rank_cut(range_: int, slide: int) -> RankCut:
    return RankCut(RowWindow(range_, slide, "on").edges, INTEGER)


#   ranks     0 1 | 2 3 | 4 ...        5 rows so far, 3 of them before this step
#   window 0  [---)                    reported before
#   window 1  [---------)              now
#   window 2    [-------------)        needs one more row, and ranks from 1 on
def test_row_windows_are_told_when_their_last_row_is_final() -> None:
    cutting = rank_cut(5, 2).windows(run(), progressed(counted=[5], n=[3]), None)
    assert told(cutting) == [(0, 0, 4, True)]
    # Panes are [0, 1), [1, 2), [2, 3), ... because 5 is not a multiple of 2.
    assert (cutting.low.tolist(), cutting.high.tolist()) == ([0], [4])
    assert cutting.needed.tolist() == [1]


def test_at_the_end_row_windows_that_hold_a_row_are_told() -> None:
    cutting = rank_cut(5, 2).windows(run(), progressed(counted=[5], n=[5], ended=True), None)
    assert told(cutting) == [(0, 1, 6, False), (0, 3, 8, False)]
    assert cutting.needed.tolist() == [EVER]


@given(st.integers(1, 7), st.integers(1, 7), st.lists(st.integers(0, 6), max_size=6))
def test_every_row_window_is_told_once_and_its_panes_are_kept(
    range_: int, slide: int, steps: list[int]
) -> None:
    cut, counted, reported, needed = rank_cut(range_, slide), 0, [], NEVER
    for rows, ended in [*((rows, False) for rows in steps), (0, True)]:
        keys = progressed(counted=[counted + rows], n=[counted], ended=ended)
        cutting = cut.windows(run(), keys, None)
        reported += [(start, end) for _, start, end, _ in told(cutting)]
        ranks = np.arange(max(counted + rows, 1))
        numbers = cut.number(run(*((0, 0) for _ in ranks), rank=ranks.tolist()), keys)
        for (_, start, end, _), low, high in zip(
            told(cutting), cutting.low, cutting.high, strict=True
        ):
            inside = (numbers >= low) & (numbers < high)
            assert ranks[inside].tolist() == [r for r in ranks if start <= r < end]
            assert low >= needed or not inside.any()
        counted, needed = counted + rows, int(cutting.needed[0])
    wanted = [(max(0, (w + 1) * slide - range_), (w + 1) * slide) for w in range(counted + 9)]
    assert reported == [window for window in wanted if window[0] < counted]


#   on        3     5  5     9        every 2nd row ends a window: ranks 1 and 3, at 5 and 9
def test_tuple_windows_end_at_every_nth_row() -> None:
    rows = run((0, 3), (0, 5), (0, 5), (0, 9), rank=[0, 1, 2, 3])
    cut = TupleCut(4, 2, INTEGER)
    cutting = cut.windows(rows, progressed(complete=[10]), None)
    assert told(cutting) == [(0, 1, 5, True), (0, 5, 9, True)]
    assert (cutting.low.tolist(), cutting.high.tolist()) == ([2, 6], [6, 10])
    # Windows of rows from 10 on reach back to 6 at most, and the cut keeps two ticks more.
    assert cutting.needed.tolist() == [10 - 4 - 2]


def test_tuple_windows_at_equal_values_are_one() -> None:
    rows = run((0, 5), (0, 5), (1, 5), rank=[0, 1, 0])
    cutting = TupleCut(4, 1, INTEGER).windows(rows, progressed(2), None)
    assert told(cutting) == [(0, 1, 5, True), (1, 1, 5, True)]


@pytest.mark.parametrize("complete", [-TICK_LIMIT, 0, TICK_LIMIT, NEVER])
@pytest.mark.parametrize("length", [1, TICK_LIMIT - 1])
def test_reaching_back_never_wraps_around(complete: int, length: int) -> None:
    (reached,) = reach_back(progressed(complete=[complete]), INTEGER, length)
    assert reached == max(NEVER, complete - length - 2)
    (over,) = reach_back(progressed(complete=[complete], ended=True), INTEGER, length)
    assert over == EVER


def test_windows_at_both_ends_of_the_axis() -> None:
    first, last = -TICK_LIMIT + 1, TICK_LIMIT - 1
    rows = run((0, first), (0, last), rank=[0, 1])
    cutting = TupleCut(TICK_LIMIT - 1, 1, INTEGER).windows(rows, progressed(), None)
    assert told(cutting) == [(0, -(2**63) + 2, first, True), (0, 0, last, True)]


@given(st.lists(st.tuples(st.integers(-3, 9), st.integers(-3, 9)), max_size=5))
def test_spread(pairs: list[tuple[int, int]]) -> None:
    key, number = spread(ints([a for a, _ in pairs]), ints([b for _, b in pairs]))
    wanted = [(k, n) for k, (first, last) in enumerate(pairs) for n in range(first, last + 1)]
    assert list(zip(key.tolist(), number.tolist(), strict=True)) == wanted


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 9)), max_size=9))
def test_ties(rows: list[tuple[int, int, int]]) -> None:
    rows.sort()
    final = run(*((k, on) for k, on, _ in rows))
    groups = [list(g) for _, g in itertools.groupby(rows, key=lambda row: row[:2])]
    assert first_of_each(final.key, final.order).sum() == len(groups)
    assert final.last_of_ties().sum() == len(groups)
    greatest = greatest_of_ties(final, ints([value for *_, value in rows]))
    assert greatest.tolist() == [max(value for *_, value in group) for group in groups]


#   ranks     0 1 | 2 3 | 4 5       RANGE 4 SLIDE 2, at least 3 rows
#   window 0  [---)                 has 2 rows
#   window 1  [---------)
#   window 2      [---------)
def test_windows_of_few_rows_are_left_out() -> None:
    cut = RankCut(RowWindow(4, 2, "on").edges, INTEGER, min_rows=3)
    cutting = cut.windows(run(), progressed(counted=[6], n=[0]), None)
    assert told(cutting) == [(0, 0, 4, True), (0, 2, 6, True)]
