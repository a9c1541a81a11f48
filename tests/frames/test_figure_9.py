"""Figure 9 of [Frames, appendix C] on the operator, all at once and in steps.

on    0 1 2 3 4 5 6 7 8 9
      F T T A B T T T T F
"""

from __future__ import annotations

from typing import Any

import pytest

from muntin.specs.frames.kinds import Threshold
from muntin.specs.frames.schemes import schedule
from tests.frames.feeding import feeding, line

HOLDS = Threshold("v > 0")
#: The number of rows in each step.
STEPS = (10, 4, 1)


def found(a_and_b: str, step: int, **properties: Any) -> list[tuple[Any, ...]]:
    """Return spans with the numbers of real and of bridged rows."""
    fed = feeding(HOLDS, schedule=schedule(1), **properties)
    rows, frames = line(f"0 1 1 {a_and_b} 1 1 1 1 0"), []
    for low in range(0, 10, step):
        came = [row for row in rows if low <= row["on"] < low + step]
        frames += fed.frames(came, upto=low + step)
    frames += fed.frames(end=True)
    return [frame[1:5] for frame in frames]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("a_and_b", "lengths"),
    [("1 0", [3, 4]), ("1 1", [8]), ("0 0", [2, 4]), ("0 1", [2, 5])],
)
def test_with_a_and_b_given(a_and_b: str, lengths: list[int], step: int) -> None:
    assert [frame[2] for frame in found(a_and_b, step)] == lengths


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("a_and_b", [". .", "? ?", ". ?"])
@pytest.mark.parametrize(
    ("missing", "together"),
    [
        ("break", False),
        ("satisfy", True),
        ("carry", True),
        ("prev.v = next.v", True),
        ("next.on < prev.on", False),
        ("next.on - prev.on <= 3 AND coalesce(prev.v, 0) % 2 = 1", True),
        ("nullif(prev.v, next.v) > 0", False),
        ("TRUE", True),
    ],
)
def test_with_a_and_b_missing(a_and_b: str, missing: str, together: bool, step: int) -> None:
    wanted = [(1, 8, 6, 2)] if together else [(1, 2, 2, 0), (5, 8, 4, 0)]
    assert found(a_and_b, step, missing=missing) == wanted


@pytest.mark.parametrize("step", STEPS)
def test_with_a_missing(step: int) -> None:
    """A is missing and B is false."""
    apart = [(1, 2, 2, 0), (5, 8, 4, 0)]
    assert found(". 0", step) == found(". 0", step, missing="carry") == apart
    assert found(". 0", step, missing="satisfy") == [(1, 3, 2, 1), (5, 8, 4, 0)]


@pytest.mark.parametrize("missing", ["TRUE", "prev.v > 0", "coalesce(next.v, 1) = 1"])
@pytest.mark.parametrize("step", STEPS)
def test_without_a_row_behind_it_nothing_is_bridged(step: int, missing: str) -> None:
    """
    on    0 1 2 3 4 5 6 7 8 9
          F T T . .                 of this key
                                0   of another
    """
    fed = feeding(HOLDS, schedule=schedule(1), missing=missing)
    rows, frames = [*line("0 1 1"), *line("0", first=9, k="b")], []
    for low in range(0, 10, step):
        came = [row for row in rows if low <= row["on"] < low + step]
        frames += fed.frames(came, upto=low + step)
    frames += fed.frames(end=True)
    assert [frame[1:5] for frame in frames] == [(1, 2, 2, 0)]
