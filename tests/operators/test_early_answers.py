"""Early answers step by step: what is reported when, and what is remembered."""

from __future__ import annotations

import pytest

from muntin.errors import ArgumentError
from muntin.operators.build import build, early
from muntin.operators.common.early_answers import ASKED, REPORTED
from muntin.specs.emission import Emission
from muntin.specs.row_windows import RowWindow, Session, SlideOnWindow, TupleWindow
from muntin.specs.windows import Landmark, Window
from tests.operators.stepping import COUNT, Stepping, at, ordered, sessions, typed


def windows(spec: Window | Landmark, every: int | None = None) -> Stepping:
    return Stepping(early(spec, build(spec, typed((COUNT,))), every))


def told(rows: list[dict]) -> list[tuple]:
    """Return the change, the end, the count and whether it is final."""
    return sorted((row["change"], row["window_end"], row["r0"], row["final"]) for row in rows)


#   on   1  3      12        upto 10
#        [--------)[--------)
def test_an_answer_is_new_then_replaced_then_final() -> None:
    stepping = windows(Window(10, 10, "on"))
    assert told(stepping.step(at(1))) == [("+", 10, 1, False)]
    assert told(stepping.step(at(3))) == [("u", 10, 2, False)]
    assert told(stepping.step(at(12))) == [("+", 20, 1, False)]
    assert told(stepping.step(upto=10)) == [("u", 10, 2, True)]
    assert told(stepping.step(end=True)) == [("u", 20, 1, True)]
    assert not [name for name, _ in stepping.state.chunks if name in (REPORTED, ASKED)]


def test_what_does_not_change_is_not_reported_again() -> None:
    stepping = windows(Window(10, 10, "on"))
    stepping.step(at(1))
    assert stepping.step([*at(1, k="b")])[0]["k0"] == "b"
    assert stepping.step() == []
    assert stepping.last is not None and (REPORTED, 0) not in stepping.last.changes


def test_an_answer_that_is_final_at_once_is_new() -> None:
    assert told(windows(Window(10, 10, "on")).step(at(1, 12), upto=10)) == [
        ("+", 10, 1, True),
        ("+", 20, 1, False),
    ]


#   on   0    4        a session grows, then a row between joins it with the next
def test_a_session_keeps_its_start_and_one_that_is_joined_is_withdrawn() -> None:
    spec = Session("on", 5)
    stepping = Stepping(early(spec, sessions(spec)))
    assert told(stepping.step(at(0))) == [("+", 5, 1, False)]
    assert told(stepping.step(at(4))) == [("u", 9, 2, False)]
    assert told(stepping.step(at(12))) == [("+", 17, 1, False)]
    assert told(stepping.step(at(8))) == [("-", 17, 1, False), ("u", 17, 4, False)]
    assert told(stepping.step(upto=20)) == [("u", 17, 4, True)]


def test_a_row_that_comes_between_moves_rows_to_other_windows() -> None:
    spec = RowWindow(2, 2, "on")
    stepping = Stepping(early(spec, ordered(spec)))
    first = [
        (row["change"], row["on_start"], row["on_end"]) for row in stepping.step(at(10, 20, 30))
    ]
    assert first == [("+", 10, 20), ("+", 30, 30)]
    revised = [(row["change"], row["on_start"], row["on_end"]) for row in stepping.step(at(15))]
    assert revised == [("u", 10, 15), ("u", 20, 30)]


#   every 10: reported when the largest on passes a multiple of 10; final answers at once
def test_every_is_a_distance_along_on() -> None:
    stepping = windows(Window(100, 100, "on"), every=10)
    assert told(stepping.step(at(1))) == [("+", 100, 1, False)]
    assert stepping.step(at(4)) == []
    assert stepping.step(at(9)) == []
    assert told(stepping.step(at(11))) == [("u", 100, 4, False)]
    assert stepping.step(at(12)) == []
    # 205 passes multiples of 10, and closes the window, too.
    assert told(stepping.step(at(205), upto=150)) == [
        ("+", 300, 1, False),
        ("u", 100, 5, True),
    ]
    assert told(stepping.step(at(206), upto=201)) == []
    assert told(stepping.step(end=True)) == [("u", 300, 2, True)]


def test_keys_ahead_of_the_stream_are_final_once() -> None:
    stepping = windows(Window(10, 10, "on"))
    stepping.step([*at(1), *at(2, k="b")])
    assert [(row["k0"], row["final"]) for row in stepping.step(upto_of={"b": 10})] == [("b", True)]
    assert stepping.step(at(3))[0]["k0"] == "a"
    assert [(row["k0"], row["final"]) for row in stepping.step(end=True)] == [("a", True)]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (TupleWindow(5, "on", 1), "rows that tie may end several windows at one value"),
        (SlideOnWindow(5, 1, "on", "slide_on"), "rows that tie may end several windows"),
    ],
)
def test_windows_that_changes_cannot_tell_apart_are_refused(
    spec: TupleWindow | SlideOnWindow, reason: str
) -> None:
    with pytest.raises(ArgumentError, match=reason):
        early(spec, ordered(spec))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"emit": "soon"}, "it is 'final' or 'early'"),
        ({"every": 5}, "it is about early answers; add emit='early'"),
        ({"confidence": 0.9}, "it is about early answers; add emit='early'"),
        ({"emit": "early", "every": 0}, "it is a length above 0"),
        ({"emit": "early", "confidence": 95}, "it is a number between 0 and 1, such as 0.95"),
        ({"emit": "early", "confidence": True}, "it is a number between 0 and 1"),
    ],
)
def test_arguments_are_checked(given: dict, reason: str) -> None:
    with pytest.raises(ArgumentError, match=reason):
        Emission(**given)
