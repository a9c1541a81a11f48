"""Slots without a row: any number of them costs no more than a few."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from muntin.errors import EmptySlotsError
from muntin.operators.frames import sequencer
from muntin.specs.frames.kinds import Crossing, Delta, Threshold
from muntin.specs.frames.schemes import schedule
from tests.frames.feeding import COUNT, feeding, line
from tests.frames.test_kept import TOTAL

HOLDS = Threshold("v > 0")
SLOTS = schedule(1)
FAR = 2_000_000_000


# on     0 . . . . (two thousand million slots) . . FAR
# v      1                                          1
@pytest.mark.parametrize("missing", ["satisfy", "carry"])
def test_a_row_far_before_all_others(missing: str) -> None:
    fed = feeding(HOLDS, [COUNT], missing=missing, schedule=SLOTS, min_count=FAR)
    assert fed.frames(line("1"), upto=1) == []
    rows = line("1 0", FAR)
    assert fed.frames(rows, upto=FAR + 2) == [(0, 0, FAR, 2, FAR - 1, "final")]
    together = feeding(HOLDS, missing=missing, schedule=SLOTS)
    rows = [*line("1"), *line("0", FAR)]
    last, n_missing = (FAR - 1, FAR - 1) if missing == "satisfy" else (0, 0)
    assert together.frames(rows, end=True) == [(0, 0, last, 1, n_missing, "final")]


def test_frames_that_are_cut_look_at_the_slots_that_fit() -> None:
    rows = [*line("1"), *line("1", FAR)]
    choices = {"missing": "satisfy", "schedule": schedule(4), "cut": True}
    few = feeding(HOLDS, max_count=3, **choices).frames(rows, end=True)
    assert few == [(0, 0, 8, 1, 2, "final"), (1, FAR, FAR, 1, 0, "final")]
    short = feeding(HOLDS, max_duration=18, **choices).frames(rows, end=True)
    assert short == [(0, 0, 16, 1, 4, "final"), (1, FAR, FAR, 1, 0, "final")]


def test_frames_that_overlap_count_all_slots() -> None:
    kind = Crossing(TOTAL, ">=", 2)  # type: ignore[arg-type]
    fed = feeding(kind, missing="satisfy", schedule=SLOTS, scheme="unconstrained")
    assert fed.frames(line("1"), upto=FAR // 2) == []
    assert fed.rows_of("held") == 3  # the row, the first empty slot, and one for the others
    found = fed.frames(line("1", FAR), upto=FAR + 1)
    assert found == [(0, 0, FAR, 2, FAR - 1, "final")]
    delta = feeding(Delta("v", 5), missing="carry", schedule=SLOTS, scheme="advancing")
    rows = [*line("1"), *line("1 9", FAR)]
    assert delta.frames(rows, end=True)[0] == (0, 0, FAR, 2, FAR - 1, "final")


# on     0 . . . (slots) . FAR      at least 3 rows with sum(v) >= 1; a slot may be the last one
# v      1                 1
def test_minimal_frames_end_with_a_slot_that_makes_them_large_enough() -> None:
    kind = Crossing(TOTAL, ">=", 1)  # type: ignore[arg-type]
    rows = [*line("1"), *line("1", FAR)]
    fed = feeding(kind, missing="satisfy", schedule=SLOTS, min_count=3)
    assert fed.frames(rows, end=True) == [(0, 0, 2, 1, 2, "final")]
    fed = feeding(kind, missing="satisfy", schedule=SLOTS, min_duration=4)
    assert fed.frames(rows, end=True) == [(0, 0, 4, 1, 4, "final")]
    fed = feeding(kind, missing="satisfy", schedule=SLOTS, min_duration=4, readings="until_next")
    assert fed.frames(rows, end=True) == [(0, 0, 4, 1, 3, "final")]


def test_fragments_report_slots_one_by_one_up_to_a_limit() -> None:
    fed = feeding(HOLDS, missing="satisfy", schedule=SLOTS, fragments=FAR)
    with pytest.raises(EmptySlotsError) as failed:
        fed.frames([*line("1"), *line("1", FAR)], end=True)
    assert str(failed.value) == (
        "1,999,999,999 slots of the schedule have no row, and with this missing= and with "
        "fragments=, cut= or a minimum of minimal frames each of them is framed on its own, "
        "at most 10,000,000 in a micro-batch; look for a row far before or after all others, or "
        "leave that out, or use missing='break' or 'carry'; a stopped stream refuses rows far "
        "ahead, and goes on, when it is started again with ahead= in its rule of disorder, such "
        "as mt.slack('10 seconds', ahead='1 hour')"
    )
    with patch.object(sequencer, "MOST_SLOTS", 8):
        fed = feeding(HOLDS, missing="satisfy", schedule=SLOTS, fragments=4)
        found = fed.frames([*line("1"), *line("1", 9)], end=True)
        assert [row[2] for row in found] == [0, 4, 8, 9]
    carried = feeding(HOLDS, missing="carry", schedule=SLOTS, fragments=5)
    assert len(carried.frames([*line("1"), *line("1", FAR)], end=True)) == 3
