"""Frames as data reduction in small: the distance, and reductions that stand for every row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.frames.reduction import (
    DELTA,
    Reduced,
    earth_mover_distance,
    reduced_to,
    sized,
    windows,
)

VALUES = st.lists(st.floats(-100, 100), min_size=1, max_size=12)


def every(values: list[float]) -> Reduced:
    return Reduced(np.array(values), np.ones(len(values), np.int64))


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        ([1.0], [1.0], 0),
        ([1.0], [4.0], 3),
        ([0.0, 2.0], [1.0], 1),
        ([0.0, 0.0, 0.0, 4.0], [1.0], 1.5),
        ([0.0, 1.0], [1.0, 2.0], 1),
        # The order of values does not matter.
        ([3.0, 1.0, 2.0], [1.0, 2.0, 3.0], 0),
    ],
)
def test_distance_worked_out_by_hand(
    left: list[float], right: list[float], distance: float
) -> None:
    assert earth_mover_distance(every(left), every(right)) == pytest.approx(distance)


def test_a_value_weighs_the_rows_it_stands_for() -> None:
    heavy = Reduced(np.array([0.0, 10.0]), np.array([9, 1]))
    assert earth_mover_distance(heavy, every([0.0])) == pytest.approx(1)
    assert earth_mover_distance(heavy, every([0.0] * 9 + [10.0])) == pytest.approx(0)


@given(VALUES, VALUES)
def test_distance_is_that_between_sorted_rows(left: list[float], right: list[float]) -> None:
    """Of as many rows on either side the best is to move the n-th to the n-th."""
    rows = len(left) * len(right)
    far = np.repeat(np.sort(left), len(right)) - np.repeat(np.sort(right), len(left))
    wanted = np.abs(far).sum() / rows
    assert earth_mover_distance(every(left), every(right)) == pytest.approx(wanted, abs=1e-9)


@given(VALUES, st.floats(-50, 50))
def test_moving_every_row_costs_how_far_it_moves(values: list[float], far: float) -> None:
    moved = every([value + far for value in values])
    assert earth_mover_distance(moved, every(values)) == pytest.approx(abs(far), abs=1e-9)


def test_reduced_rows_are_means_and_stand_for_all() -> None:
    series = np.array([1.0, 1.0, 4.0, 8.0, 3.0])
    made = Reduced.of(series, np.array([0, 2, 4]))
    assert made.value.tolist() == [1, 6, 3]
    assert made.rows.tolist() == [2, 2, 1]
    assert windows(series, 2).tolist() == [0, 2]


def test_frames_are_reduced_to_the_rows_wanted() -> None:
    #  9 |          ***
    #  5 |    ***
    #  1 | ***   ***   ***   flat stretches: five rows say it all
    series = np.repeat([1.0, 5.0, 1.0, 9.0, 1.0], [3, 3, 3, 3, 2])
    starts = reduced_to(series, sized(series)[DELTA], 5)
    assert starts.tolist() == [0, 3, 6, 9, 12]
    assert earth_mover_distance(Reduced.of(series, starts), every(series.tolist())) < 1e-9
    cut = Reduced.of(series, windows(series, 5))
    assert earth_mover_distance(cut, every(series.tolist())) > 0.5
