"""Rows in their order, one at each place, with the missing ones among them.

Timelines have slots or places across; ``.`` is no row, ``?`` a row without a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from muntin.errors import TieError
from muntin.kernels.frames.records import BREAKS, CARRIED, NEVER, REAL, SATISFIES
from muntin.operators.frames.kinds.threshold import ArrowThreshold
from muntin.operators.frames.ordered_rows import Missing, Ties, same_as_before
from muntin.operators.frames.sequencer import KnownUpTo, OrderedBatch, Sequencer, Slots
from tests.frames.feeding import INTEGER, line

Ints = npt.NDArray[np.int64]
KIND = ArrowThreshold((pa.bool_(),))
WORDS = {REAL: "real", BREAKS: "breaks", SATISFIES: "satisfies", CARRIED: "carried"}


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)


def arrange(
    rows: Sequence[dict[str, Any]],
    *,
    ties: str = "fail",
    missing: Missing = "break",
    slots: Slots | None = None,
    complete: int = NEVER,
    dealt: int = NEVER,
    until: int | None = None,
    ended: bool = False,
) -> OrderedBatch:
    """Return one key's rows in order, without a condition on missing rows."""
    on = [row["on"] for row in rows]
    pool = pa.table(
        {
            "k0": pa.array([row["k"] for row in rows], pa.string()),
            "tick": pa.array(on, pa.int64()),
            "order": pa.array(on, pa.int64()),
            "lacks": pa.array([row["v"] is None for row in rows], pa.bool_()),
            "whole": pa.array([row["v"] or 0 for row in rows], pa.int64()),
            "t0": pa.array([row.get("tie", 0) for row in rows], pa.int64()),
        }
    )
    types = (pa.int64(),) if ties in ("first", "last") else ()
    work = Sequencer(INTEGER, pa.int64(), Ties(ties, types), missing, slots, False, KIND)
    reached = KnownUpTo(ints(complete), ended, ints(dealt) if slots else None, until)
    return work.arrange(pool, np.zeros(len(rows), np.int64), 1, reached, None)


def told(arranged: OrderedBatch) -> list[tuple[int, str]]:
    """Return the place and the kind of each final row."""
    rows = arranged.rows
    return [(int(on), WORDS[int(what)]) for on, what in zip(rows.order, rows.what, strict=True)]


def waiting(arranged: OrderedBatch) -> list[int]:
    return sorted(arranged.waiting["order"].to_pylist())


# on   0 1 2 3 4 5          as they arrived: 4 1 3 0
#      1 1 . ? 1
# upto       |
def test_rows_below_the_punctuation_are_final_and_in_order() -> None:
    rows = line("1 1 . ? 1")
    arranged = arrange([rows[3], rows[1], rows[2], rows[0]], complete=4)
    assert told(arranged) == [(0, "real"), (1, "real"), (3, "breaks")]
    assert waiting(arranged) == [4]
    assert arranged.last_real.tolist() == [1]


@pytest.mark.parametrize(("missing", "word"), [("break", "breaks"), ("satisfy", "satisfies")])
def test_a_row_without_a_value_is_what_the_policy_says(missing: str, word: str) -> None:
    assert told(arrange(line("1 ?"), missing=missing, complete=9)) == [(0, "real"), (1, word)]


# on   0 1 2 3 4 5          behind 3 nothing real has come, so 4 and 5 wait for it
#      1 ? . 1 ? ?
def test_under_carry_rows_behind_the_last_real_one_wait() -> None:
    arranged = arrange(line("1 ? . 1 ? ?"), missing="carry", complete=9)
    assert told(arranged) == [(0, "real"), (1, "carried"), (3, "real")]
    assert waiting(arranged) == [4, 5]
    ended = arrange(line("1 ? . 1 ? ?"), missing="carry", ended=True)
    assert told(ended)[3:] == [(4, "carried"), (5, "carried")]
    assert waiting(ended) == []


# -- Ties ------------------------------------------------------------------------------------------


# on     0 1 2
#        1 1 1
#          2           ties 5 and 3 at 1
@pytest.mark.parametrize(("ties", "kept", "gone"), [("first", 2, 1), ("last", 1, 2)])
def test_one_of_the_rows_that_tie_stays(ties: str, kept: int, gone: int) -> None:
    rows = [*line("1 1 1"), *line("2", 1)]
    for row, tie in zip(rows, [0, 5, 0, 3], strict=True):
        row["tie"] = tie
    arranged = arrange(rows, ties=ties, complete=9)
    assert [on for on, _ in told(arranged)] == [0, 1, 2]
    assert arranged.rows.table["whole"].to_pylist() == [1, kept, 1]
    assert arranged.refused is not None
    assert arranged.refused["whole"].to_pylist() == [gone]


def test_a_tie_is_told_by_its_key_and_place() -> None:
    rows = [*line("1 1 1"), *line("2", 1)]
    with pytest.raises(TieError, match="key 'a' has more than one row at 1,"):
        arrange(rows, complete=9)
    # Not before the place is final, because one of them might be late.
    assert waiting(arrange(rows, complete=1)) == [1, 1, 2]


def test_ties_are_ordered_by_several_columns() -> None:
    ties = Ties("first", (pa.int64(), pa.string()))
    rows = pa.table({"t0": pa.array([2, 1, 1, 9], pa.int64()), "t1": ["a", "c", "b", ""]})
    same = same_as_before(ints(7, 7, 7, 8))
    assert same.tolist() == [False, True, True, False]
    kept = ties.kept(rows, same)
    assert kept is not None
    assert kept.tolist() == [2, 3]
    last = Ties("last", ties.types).kept(rows, same)
    assert last is not None
    assert last.tolist() == [0, 3]
    assert ties.kept(rows, np.zeros(4, np.bool_)) is None
    equal = pa.table({"t0": ["x", "x", "x"], "t1": pa.array([2, 3, 1], pa.int64())})
    kept = Ties("first", (pa.string(), pa.int64())).kept(equal, same_as_before(ints(7, 7, 7)))
    assert kept is not None
    assert kept.tolist() == [2]  # equal texts leave the decision to the next column
    assert same_as_before(ints(), ints()).tolist() == []


# -- Slots -----------------------------------------------------------------------------------------

TENS = Slots(10, 0)


# slot     -1 |  0 |  1 |  2            slots of ten from 3 on
# on     -7..2|3..12|13.22|
def test_slots_count_from_their_origin() -> None:
    slots = Slots(10, 3)
    assert slots.of(ints(-7, 2, 3, 12, 13)).tolist() == [-1, -1, 0, 0, 1]
    assert slots.begin(ints(-1, 0, 1)).tolist() == [-7, 3, 13]
    # A slot is complete when the punctuation is at its end, not before.
    assert slots.first_open(ints(12, 13, 22, NEVER)).tolist() == [0, 1, 1, NEVER]


# slot   0  1  2  3  4         5 is complete
# on     3  .  . 35  ?
def test_empty_slots_are_missing_rows_where_they_begin() -> None:
    rows = [*line("1", 3), *line("1", 35), *line("?", 41)]
    arranged = arrange(rows, slots=TENS, missing="satisfy", complete=60)
    assert told(arranged) == [
        (3, "real"),
        (10, "satisfies"),
        (20, "satisfies"),
        (35, "real"),
        (41, "satisfies"),
        (50, "satisfies"),
    ]
    assert arranged.slot is not None
    assert arranged.slot.tolist() == [5]
    assert arranged.rows.source is not None
    assert arranged.rows.source.tolist() == [0, -1, -1, 1, 2, -1]
    assert arranged.rows.places.tolist() == [0, 1, 1, 1, 2, 3, 3]


# slot   0  1  2  3  4  5  6        where one ends a frame the first and the last are enough
# on     3  .  .  .  . 55
def test_of_slots_that_break_two_are_looked_at() -> None:
    arranged = arrange([*line("1", 3), *line("1", 55)], slots=TENS, complete=60)
    assert told(arranged) == [(3, "real"), (10, "breaks"), (40, "breaks"), (55, "real")]


# slot   0 | 1  2  .  4          up to 0 is dealt with: 1 and 2 follow on, 4 waits for 3
# upto  10
def test_rows_that_follow_on_need_no_punctuation() -> None:
    rows = [*line("1", 12), *line("1", 25), *line("1", 41)]
    arranged = arrange(rows, slots=TENS, complete=10, dealt=0)
    assert told(arranged) == [(12, "real"), (25, "real")]
    assert waiting(arranged) == [41]
    assert arranged.slot is not None
    assert arranged.slot.tolist() == [2]
    # The first row of an unknown key must be passed.
    assert told(arrange(rows, slots=TENS, complete=10)) == []
    # The winner of a slot is known only when the slot is complete.
    assert told(arrange(rows, slots=TENS, ties="first", complete=10, dealt=0)) == []


def test_a_second_row_in_a_slot_ties() -> None:
    rows = [*line("1", 12), *line("1", 14)]
    with pytest.raises(TieError, match="more than one row at 14, or in its slot"):
        arrange(rows, slots=TENS, complete=20)
    with pytest.raises(TieError, match="more than one row at 14, or in its slot"):
        arrange(rows[1:], slots=TENS, complete=10, dealt=1)
    rows[0]["tie"], rows[1]["tie"] = 7, 3
    kept = arrange(rows, slots=TENS, ties="last", complete=20)
    assert told(kept) == [(12, "real")]
    assert kept.refused is not None
    assert kept.refused["order"].to_pylist() == [14]


# slot   0  1  2  3  4      another key's largest row lies in slot 4
# on     3
def test_at_the_end_slots_are_due_up_to_the_largest_row() -> None:
    arranged = arrange(line("1", 3), slots=TENS, missing="satisfy", ended=True, until=5)
    assert [on for on, _ in told(arranged)] == [3, 10, 40]
    assert arranged.rows.read("reach").tolist() == [1, 1, 3]  # the last row covers three slots
    # Without any row nothing is missing.
    assert told(arrange([], slots=TENS, missing="satisfy", ended=True, until=5)) == []


# slot   0  1  2  3         under carry empty slots wait for the next real row, too
# on     3
def test_under_carry_no_slot_is_due() -> None:
    arranged = arrange(line("1", 3), slots=TENS, missing="carry", complete=40)
    assert told(arranged) == [(3, "real")]
    assert arranged.slot is not None
    assert arranged.slot.tolist() == [0]
    later = arrange(line("1", 42), slots=TENS, missing="carry", complete=50, dealt=0)
    assert told(later) == [(10, "carried"), (30, "carried"), (42, "real")]
    assert later.rows.read("reach").tolist() == [1, 2, 1]
