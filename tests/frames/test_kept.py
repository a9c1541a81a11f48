"""What frames keep between micro-batches: little, and nothing at the end."""

from __future__ import annotations

from decimal import Decimal

import pytest

from muntin.aggregates.functions import Aggregate
from muntin.expressions.spark_expressions import Sql
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.kinds import Crossing, Delta, Threshold
from muntin.specs.frames.schemes import adjacent, cover, schedule
from tests.frames.feeding import COUNT, MEDIAN, SUM, feeding, line

HOLDS = Threshold("v > 0")
TOTAL = Aggregate("sum", (Sql("v"),))


# on     0 1 2 3 4 5 6 7 ...                       three rows a step, all of them in one frame
#        [=================
def test_an_open_frame_is_a_record_and_a_cell() -> None:
    fed = feeding(HOLDS, [COUNT, SUM])
    for number in range(50):
        first = number * 3
        assert fed.step(line("1 2 3", first), upto=first + 3) == []
        assert fed.kept == {"keys": 1, "open": 1}
    (found,) = fed.step(line("0", 150), upto=151)
    assert (found["frame_start"], found["frame_end"], found["n"]) == (0, 149, 150)
    assert (found["r0"], found["r1"]) == (150, 300)
    assert fed.kept == {"keys": 1}  # the record stays, for the number of the next frame
    assert fed.frames(end=True) == []
    assert fed.kept == {}


# A median keeps every distinct value: still one cell, with few values.
def test_a_cell_may_hold_values() -> None:
    fed = feeding(HOLDS, [MEDIAN])
    for number in range(20):
        fed.step(line("1 2 3", number * 3), upto=number * 3 + 3)
        assert fed.rows_of("open") == 1
    (found,) = fed.step(end=True)
    assert (found["n"], found["r0"]) == (60, 2.0)


# on       0 1 2 3 4 5
# a        1 1 . . 1 0
# b        1 . 1 0 . .
# upto         |2        a and b are open, of both one row waits
def test_rows_wait_until_punctuation_has_passed_them() -> None:
    fed = feeding(HOLDS)
    rows = [*line("1 1 . . 1 0"), *line("1 . 1 0", k="b")]
    assert fed.frames(rows, upto=2) == []
    assert fed.kept == {"pending": 4, "keys": 2}
    assert fed.frames(upto=4) == [(0, 0, 2, 2, 0, "final")]
    assert fed.kept == {"pending": 2, "keys": 2}
    assert fed.frames(end=True) == [(0, 0, 4, 3, 0, "final")]
    assert fed.kept == {}


# A key without a passed row is not remembered; only its rows are.
def test_a_key_is_remembered_from_its_first_final_row() -> None:
    fed = feeding(HOLDS)
    fed.step([*line("1"), *line("1", 9, k="b")], upto=5)
    assert fed.kept == {"pending": 1, "keys": 1}


# on      0 1 2 3 4 5 6 7 8 9           sums of at least 3: frames 0-2, 1-3, 2-4 ...
# v       1 1 1 1 1 1 1 1 1 1
#         [===]
#           [===]
def test_frames_that_overlap_hold_the_rows_since_the_oldest_open_start() -> None:
    fed = feeding(Crossing(TOTAL, ">=", Decimal(3)), scheme="unconstrained")
    for number in range(20):
        found = fed.frames(line("1 1 1 1", number * 4), upto=number * 4 + 4)
        ends = [end for _, _, end, _, _, _ in found]
        assert ends == [end for end in range(number * 4, number * 4 + 4) if end >= 2]
        # The last two rows have not yet reached a sum of 3.
        assert fed.kept == {"keys": 1, "held": 2}
    assert fed.frames(end=True) == []
    assert fed.kept == {}


# A frame that never ends holds all its rows, and only those.
def test_a_frame_that_never_ends_holds_its_rows() -> None:
    fed = feeding(Crossing(TOTAL, ">=", Decimal(1000)), scheme="advancing")
    for number in range(20):
        assert fed.frames(line("1 1 1", number * 3), upto=number * 3 + 3) == []
        assert fed.kept == {"keys": 1, "held": number * 3 + 3}
    assert fed.frames(end=True) == []
    assert fed.kept == {}


OPEN_ENDED = (
    Crossing(TOTAL, ">=", Decimal(1000)),
    Crossing(TOTAL, "<=", Decimal(100_000)),
    Delta("v", 5),
    Delta("v", 5, against="first"),
    Delta("v", 5, span="minimal"),
    Crossing(Aggregate("count", ()), "<=", Decimal(1000)),
    Crossing(Aggregate("max", (Sql("v"),)), ">=", Decimal(1000)),
)
#: As far as a maximum lets a frame grow: 3 rows, or those at 0, 1, 2 and 3.
MAXIMA = ({"max_count": 3}, {"max_duration": 3})


# on      0 1 2 3 4 5 6 7 ...        no frame ends by itself, but none has more than three rows:
# v       1 1 1 1 1 1 1 1            what began before is no frame, whatever follows
#             [===...
@pytest.mark.parametrize("kind", OPEN_ENDED, ids=lambda kind: kind.label)
@pytest.mark.parametrize("scheme", ["advancing", "unconstrained", "cover", cover("saturated")])
@pytest.mark.parametrize("most", MAXIMA, ids=str)
def test_a_frame_beyond_its_maximum_is_not_waited_for(
    kind: FrameKind, scheme: object, most: dict[str, int]
) -> None:
    fed = feeding(kind, scheme=scheme, **most)
    longest = 3 if "max_count" in most else 4
    for number in range(30):
        assert fed.frames(line("1 1 1", number * 3), upto=number * 3 + 3) == []
        assert fed.kept["held"] <= longest
    # A maximal frame from a late row is short enough when the input ends.
    lengths = [n for _, _, _, n, _, _ in fed.frames(end=True)]
    assert lengths[:1] == ([] if kind.span == "minimal" else [longest])
    assert fed.kept == {}


@pytest.mark.parametrize("most", MAXIMA, ids=str)
def test_nor_is_one_that_goes_on_beside_others(most: dict[str, int]) -> None:
    fed = feeding(Delta("v", 5, start="v = 1", restart="continue"), **most)
    for number in range(30):
        assert fed.frames(line("1 2 3", number * 3), upto=number * 3 + 3) == []
        assert fed.kept["held"] <= 4
    assert len(fed.frames(end=True)) == 1
    assert fed.kept == {}


# on      0 1 2 3 4 5 6 7 8 9        the next frame starts 1 before the end of the first one,
# v       1 1 1 1 1 1 1 1 1 9        though that is too long to be reported
#         [===============]
#                       [=)
def test_of_adjacent_frames_the_end_is_waited_for() -> None:
    fed = feeding(Delta("v", 5), scheme=adjacent(1), max_count=3)
    for number in range(3):
        assert fed.frames(line("1 1 1", number * 3), upto=number * 3 + 3) == []
        assert fed.kept == {"keys": 1, "held": number * 3 + 3}
    assert fed.frames(line("9", 9), upto=10) == [(0, 7, 8, 2, 0, "final"), (1, 8, 8, 1, 0, "final")]
    assert fed.kept == {"keys": 1, "held": 1}


# on      0  1  2  3  4  5        start where v = 1: three frames, each on its own
# v       1  2  1  3  1  9        within 3 of each other
#         [=========...]
#               [======]
#                     [=]
def test_frames_that_continue_beside_each_other() -> None:
    kind = Delta("v", 3, start="v = 1", restart="continue")
    fed = feeding(kind, [SUM])
    assert fed.step(line("1 2 1"), upto=3) == []
    assert fed.kept == {"keys": 1, "held": 3}
    rows = fed.step(line("3 1 9", 3), upto=6)
    assert [(row["frame_start"], row["frame_end"], row["r0"]) for row in rows] == [
        (0, 4, 8),
        (2, 4, 5),
        (4, 4, 1),
    ]
    assert fed.kept["keys"] == 1
    assert fed.kept.get("held", 0) == 0


# slot    0 1 2 3 4 5 6 7 8 9          of one each; nothing comes any more
# v       1 1 . . . . . . . .
def test_empty_slots_take_no_room() -> None:
    fed = feeding(HOLDS, missing="satisfy", schedule=schedule(1))
    fed.step(line("1 1"), upto=2)
    for upto in range(3, 40, 4):
        assert fed.frames(upto=upto) == []
        assert fed.kept == {"keys": 1}
    assert fed.frames(line("0", 42), upto=43) == [(0, 0, 41, 2, 40, "final")]


# slot    0 1 2 3 4 5 6 7          under carry the next real row decides, so nothing is told yet
# v       1 1 ? . ? . . 1 0
def test_missing_rows_that_wait_are_kept_until_a_real_one() -> None:
    fed = feeding(HOLDS, [COUNT], missing="carry", schedule=schedule(1))
    assert fed.frames(line("1 1 ? . ?"), upto=7) == []
    assert fed.kept == {"keys": 1, "open": 1, "pending": 2}
    (found,) = fed.step(line("1 0", 7), upto=9)
    assert (found["frame_start"], found["frame_end"], found["n"]) == (0, 7, 3)
    assert (found["n_missing"], found["r0"]) == (5, 5)  # two of the missing rows did come
    assert fed.kept == {"keys": 1}


# Numbering goes on after a restart, because the number is remembered.
def test_numbers_go_on() -> None:
    fed = feeding(HOLDS, min_count=2)
    assert fed.frames(line("1 1 0 1 0"), upto=5) == [(0, 0, 1, 2, 0, "final")]
    again = feeding(HOLDS, min_count=2)
    again.state, again.reached = fed.state, fed.reached
    assert again.frames(line("1 1 0", 5), upto=8) == [(1, 5, 6, 2, 0, "final")]
