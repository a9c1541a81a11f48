"""A tie stops the steps of frames; with another ``ties=`` they go on from the same state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muntin.errors import TieError
from muntin.specs.frames.kinds import Threshold
from tests.frames.feeding import Feeding, feeding, line

HOLDS = Threshold("v > 0")


def restarted(fed: Feeding, ties: str) -> Feeding:
    """Return the steps of another framing on the state of the first."""
    return replace(fed, work=feeding(HOLDS, ties=ties).work)


#   row      1  4  9 | 9  12
#   complete       6 | 20        the first row at 9 waited in the state when the second came
def test_both_rows_are_refused_as_they_came() -> None:
    fed = feeding(HOLDS, ties="fail")
    fed.frames([*line("1", 1), *line("0", 4), *line("1", 9)], upto=6)
    again = [*line("1", 9), *line("1", 12)]
    for _ in range(2):
        with pytest.raises(TieError, match="with which a stopped stream goes on"):
            fed.frames(again, upto=20)
    fed = restarted(fed, "refuse")
    assert fed.frames(again, end=True) == [(1, 12, 12, 1, 0, "final")]
    assert fed.last is not None
    (counts,) = fed.last.rows
    assert counts.fallen is not None
    # The waiting row has its original columns, although nothing was to be refused when it came.
    assert counts.fallen.to_pylist() == [{"o0": 9, "reason": "tie", "lateness": None}] * 2
    # Of two new rows one is used, and the waiting row, which was counted as used, is not.
    assert counts.used == 2 - 2


def test_it_goes_back_to_fail() -> None:
    fed = feeding(HOLDS, ties="refuse")
    fed.frames(line("1 1"), upto=1)
    fed = restarted(fed, "fail")
    assert fed.frames(line("0", 2), end=True) == [(0, 0, 1, 2, 0, "final")]
