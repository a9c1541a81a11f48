"""Windows that begin at the latest landmark, as rows and punctuation come."""

from __future__ import annotations

import numpy as np
import pytest

from muntin.kernels.arrays import EVER, NEVER
from muntin.kernels.numbers.order_keys import doubles_order
from muntin.operators.rows.cut_landmarks import LandmarkCut
from muntin.specs.axis import TICK_LIMIT, Axis, Domain
from muntin.specs.row_windows import Landmarks
from tests.operators.progressed import progressed, run, told
from tests.operators.stepping import Stepping, at, ordered

INTEGER = Axis(Domain.INTEGER)


#   landmarks   0                 12                 30
#   rows          3       9         14
#   complete                  11
#   windows     [----)5
#               [---------)10
#               [------------)12            cut at the next landmark
def test_windows_of_given_landmarks() -> None:
    cut = LandmarkCut((0, 12, 30), 5, INTEGER)
    cutting = cut.windows(run((0, 3), (0, 9)), progressed(complete=[11]), None)
    assert told(cutting) == [(0, 0, 5, True), (0, 0, 10, True)]
    assert {name: of.tolist() for name, of in cutting.memory.items()} == {
        "landmark": [0],
        "next": [2],
        "last": [9],
    }
    assert cutting.needed.tolist() == [0]
    # Rows before the end of the last reported window are in all later windows.
    assert cutting.settled is not None
    assert cutting.settled.tolist() == [10]
    keys = progressed(complete=[13], landmark=[0], next=[2], last=[9])
    assert told(cut.windows(run(), keys, None)) == [(0, 0, 12, True)]


def test_a_window_that_ends_just_at_the_next_landmark_is_told_once() -> None:
    cut = LandmarkCut((0, 10), 5, INTEGER)
    cutting = cut.windows(run((0, 3)), progressed(complete=[40]), None)
    assert told(cutting) == [(0, 0, 5, True), (0, 0, 10, True)]
    assert cutting.needed.tolist() == [EVER]


#   a landmark where m0 is 1; rows before the first are in no window
def test_landmarks_found_in_the_data() -> None:
    cut = LandmarkCut((), None, INTEGER)
    rows = run((0, 1), (0, 4), (0, 4), (0, 6), (0, 9), (1, 2), marks=[[0, 0, 1, 0, 1, 0]])
    keys = progressed(2, complete=[10, 10])
    assert cut.number(rows, keys).tolist() == [NEVER, 4, 4, 6, 9, NEVER]
    cutting = cut.windows(rows, keys, None)
    assert told(cutting) == [(0, 4, 9, True)]
    assert cutting.memory["landmark"].tolist() == [9, NEVER]
    # The landmark of an earlier step applies to new rows.
    later = run((0, 12), marks=[[0]])
    assert cut.number(later, progressed(landmark=[9])).tolist() == [12]


#   the first row of each key is its landmark, also for the rows of later steps
def test_a_landmark_at_the_first_row() -> None:
    cut = LandmarkCut((), 5, INTEGER, first=True)
    rows, keys = run((0, 1), (0, 4), (0, 7), (1, 6)), progressed(2, complete=[10, 10])
    assert cut.marks == 0
    assert cut.number(rows, keys).tolist() == [1, 4, 7, 6]
    cutting = cut.windows(rows, keys, None)
    assert told(cutting) == [(0, 1, 6, True)]
    assert cutting.memory["landmark"].tolist() == [1, 6]
    assert cutting.memory["next"].tolist() == [1, 0]
    later = progressed(landmark=[1], next=[1], last=[7], complete=[17])
    assert told(cut.windows(run((0, 12)), later, None)) == [(0, 1, 11, True), (0, 1, 16, True)]


def test_at_the_end_the_open_window_has_no_end() -> None:
    cut = LandmarkCut((), None, INTEGER)
    keys = progressed(landmark=[9], next=[0], last=[9], ended=True, largest=15)
    assert told(cut.windows(run(marks=[[]]), keys, None)) == [(0, 9, EVER, False)]
    with_slide = LandmarkCut((), 4, INTEGER)
    assert told(with_slide.windows(run(marks=[[]]), keys, None)) == [
        (0, 9, 13, True),
        (0, 9, 17, False),
    ]


@pytest.mark.parametrize("landmark", [-TICK_LIMIT + 1, 0, TICK_LIMIT - 10])
@pytest.mark.parametrize("complete", [NEVER, -TICK_LIMIT, -1])
def test_before_its_landmark_is_complete_no_window_is_told(landmark: int, complete: int) -> None:
    cut = LandmarkCut((landmark,), TICK_LIMIT - 1, INTEGER)
    cutting = cut.windows(run((0, landmark)), progressed(complete=[complete]), None)
    assert told(cutting) == []
    assert cutting.memory["next"].tolist() == [0]


@pytest.mark.filterwarnings("error")
def test_doubles_are_compared_where_windows_end() -> None:
    axis = Axis(Domain.DOUBLE, 1)
    cut = LandmarkCut((0,), 1, axis)
    zero, three_tenths = doubles_order(np.array([0.0, 0.3])).tolist()
    rows = run((0, zero), (0, three_tenths))
    cutting = cut.windows(rows, progressed(), None)
    assert told(cutting) == []
    # Three slides of 0.1 are slightly more than 0.3, so 0.3 lies in the third.
    cutting = cut.windows(run((0, three_tenths)), progressed(complete=[5]), None)
    assert cutting.end.tolist() == doubles_order(np.array([3 * 0.1, 0.4, 0.5])).tolist()


#   a landmark at 0 and two keys: both have windows up to the largest value of all
def test_at_the_end_keys_are_reported_up_to_the_largest_value_of_the_input() -> None:
    stepping = Stepping(ordered(Landmarks("on", 5, [0])))
    results = stepping.step([*at(1, k="b"), *at(11)], end=True)
    assert sorted((r["k0"], r["window_end"], r["r0"]) for r in results) == [
        ("a", 15, 1),
        ("b", 5, 1),
        ("b", 10, 1),
        ("b", 15, 1),
    ]
    assert not stepping.state.chunks
