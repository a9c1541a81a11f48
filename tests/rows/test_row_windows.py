"""Specifications of windows over rows: their checks, their text, and their edges on an axis."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain
from muntin.specs.lengths import parse_length
from muntin.specs.row_windows import Landmarks, RowWindow, Session, SlideOnWindow, TupleWindow
from muntin.specs.windows import Context

INTEGER = Axis(Domain.INTEGER)
ROWS = "it counts rows: a whole number above zero"
GIVEN = "give landmarks (origin=[...]), origin='first' or a condition (start='...')"
LONGER = "it must be longer than zero, such as '5 minutes' or 10"
NAME = "it must be the name of a column"
ORDER = "it is 'on' or 'arrival'"


@pytest.mark.parametrize(
    ("make", "argument", "given", "complaint"),
    [
        (lambda: RowWindow(0, 1, "ts"), "range", 0, ROWS),
        (lambda: RowWindow(-1, 1, "ts"), "range", -1, ROWS),
        (lambda: RowWindow(True, 1, "ts"), "range", True, ROWS),
        (lambda: RowWindow(3, 1, "ts", min_rows=0), "min_rows", 0, ROWS),
        (
            lambda: RowWindow(3, 1, "ts", min_rows=4),
            "min_rows",
            4,
            "a window has at most range=3 rows, so none would be reported",
        ),
        (lambda: RowWindow(1.5, 1, "ts"), "range", 1.5, ROWS),
        (lambda: RowWindow(None, 1, "ts"), "range", None, ROWS),
        (lambda: RowWindow(9, 0, "ts"), "slide", 0, ROWS),
        (
            lambda: RowWindow("5 minutes", 1, "ts"),
            "range",
            "5 minutes",
            f"{ROWS}; for a length of time use .window(...)",
        ),
        (
            lambda: RowWindow("many", 1, "ts"),
            "range",
            "many",
            "a length is a duration such as '5 minutes' or a number such as 10 or '0.5'",
        ),
        (lambda: RowWindow(2**31, 1, "ts"), "range", 2**31, "a window holds fewer than 2**31 rows"),
        (lambda: RowWindow(9, 1, ""), "on", "", NAME),
        (lambda: RowWindow(9, 1, "ts", within=0), "within", 0, LONGER),
        (lambda: RowWindow(9, 1, "ts", order="rank"), "order", "rank", ORDER),
        (
            lambda: RowWindow(9, 1, "ts", within=5, order="arrival"),
            "within",
            5,
            "rows in order of arrival have no last `on` to count back from; use order='on'",
        ),
        (lambda: TupleWindow(0, "ts"), "range", 0, LONGER),
        (lambda: TupleWindow(5, "ts", every=0), "every", 0, ROWS),
        (lambda: TupleWindow(5, "ts", every=2.0), "every", 2.0, ROWS),
        (lambda: TupleWindow(5, "ts", order=1), "order", 1, ORDER),
        (lambda: TupleWindow(5, 7), "on", 7, NAME),  # type: ignore[arg-type]
        (lambda: SlideOnWindow(0, 1, "ts", "mile"), "range", 0, LONGER),
        (lambda: SlideOnWindow(5, 0, "ts", "mile"), "slide", 0, LONGER),
        (lambda: SlideOnWindow(5, 1, "ts", ""), "slide_on", "", NAME),
        (
            lambda: Landmarks("ts"),
            "origin",
            (),
            GIVEN,
        ),
        (
            lambda: Landmarks("ts", origins=[1], start="a"),
            "origin",
            [1],
            GIVEN,
        ),
        (lambda: Landmarks("ts", origins=[1], first=True), "origin", [1], GIVEN),
        (
            lambda: Landmarks("ts", start=" "),
            "start",
            " ",
            "it is a condition such as \"kind = 'open'\"",
        ),
        (lambda: Landmarks("ts", slide=0, origins=[1]), "slide", 0, LONGER),
        (
            lambda: Landmarks("ts", origins=[2, 1]).points(INTEGER),
            "origin",
            [2, 1],
            "landmarks must rise",
        ),
        (
            lambda: Landmarks("ts", origins=[1, 1]).points(INTEGER),
            "origin",
            [1, 1],
            "landmarks must rise",
        ),
        (
            lambda: Landmarks("ts", origins=["x"]).points(INTEGER),
            "origin",
            "x",
            "it must be a value of the integer column, such as 0",
        ),
        (lambda: Session("ts", "0 seconds"), "gap", "0 seconds", LONGER),
        (lambda: Session("", 1), "on", "", NAME),
    ],
)
def test_what_cannot_be(
    make: Callable[[], Any], argument: str, given: object, complaint: str
) -> None:
    with pytest.raises(ArgumentError) as raised:
        make()
    assert str(raised.value) == f"{argument}={given!r} cannot be used: {complaint}"


@pytest.mark.parametrize(
    ("spec", "text", "context"),
    [
        (RowWindow(1, 1, "ts"), "RANGE 1 row SLIDE 1 row WATTR rank(ts)", Context.FCU),
        (
            RowWindow(9, 2, "ts", "10 seconds"),
            "RANGE 9 rows SLIDE 2 rows WATTR rank(ts) WITHIN 10 seconds",
            Context.FCU,
        ),
        (TupleWindow(5, "ts"), "RANGE 5 RATTR ts SLIDE 1 row SATTR rank(ts)", Context.FCB),
        (
            SlideOnWindow(5, 1, "ts", "mile", origin=3),
            "RANGE 5 RATTR ts SLIDE 1 SATTR mile ORIGIN 3",
            Context.FCB,
        ),
        (
            Landmarks("ts", "1 hour", [date(2026, 1, 1), "2026-02-01"]),
            "LANDMARK 2026-01-01, 2026-02-01 SLIDE 1 hour WATTR ts",
            Context.CF,
        ),
        (Landmarks("ts", 5, first=True), "LANDMARK FIRST SLIDE 5 WATTR ts", Context.FCF),
        (Landmarks("ts", start="a > 1"), "LANDMARK WHERE a > 1 WATTR ts", Context.FCF),
        (Session("ts", "5 minutes"), "SESSION GAP 5 minutes WATTR ts", Context.FCU),
        (Session("ts", label="patience"), "SESSION GAP patience WATTR ts", Context.FCU),
    ],
)
def test_how_it_prints_and_its_class(spec: Any, text: str, context: Context) -> None:
    assert str(spec) == text
    assert spec.context is context


#   slide            1   2   3   4
#   ranks      0 1 | 2 3 | 4 5 | 6 7
#   window 0   [---)
#   window 1   [---------)          starts are clipped to the first rank
#   window 2     [-------------)
def test_row_windows_lie_on_the_ranks() -> None:
    edges = RowWindow(5, 2, "ts").edges
    assert [(edges.start(w), edges.end(w)) for w in range(3)] == [(0, 2), (0, 4), (1, 6)]


@pytest.mark.parametrize(
    "spec",
    [
        RowWindow(9, 2, "ts", within="0.25"),
        TupleWindow("0.25", "ts"),
        SlideOnWindow("0.25", 1, "ts", "mile"),
        Landmarks("ts", "0.25", ["1"]),
        Landmarks("ts", origins=["0.25", "0.5"]),
        Session("ts", "0.25"),
    ],
    ids=str,
)
def test_an_axis_is_as_fine_as_every_length(spec: Any) -> None:
    assert spec.axis(Domain.DECIMAL, scale=1, zone="UTC").digits == 2
    finer = parse_length("slack", "0.0005")
    assert spec.axis(Domain.DECIMAL, scale=1, zone="UTC", also=finer).digits == 4
    assert spec.axis(Domain.DECIMAL, scale=3, zone="UTC").digits == 3


def test_the_slide_attribute_has_an_axis_of_its_own() -> None:
    spec = SlideOnWindow("5 minutes", "0.5", "ts", "mile", origin="0.125")
    axis = spec.slide_axis(Domain.DECIMAL, scale=0, zone="UTC")
    assert axis.digits == 3
    assert spec.slide_origin(axis) == 125
    assert SlideOnWindow("5 minutes", 2, "ts", "mile").slide_origin(INTEGER) == 0


def test_given_landmarks_are_points_of_the_axis() -> None:
    spec = Landmarks("ts", origins=[date(2026, 1, 1), datetime(2026, 1, 2, 12)])
    axis = spec.axis(Domain.TIMESTAMP_NTZ, scale=0, zone="UTC")
    first, second = spec.points(axis)
    assert second - first == 36 * 3600 * 10**6


def test_specifications_are_values() -> None:
    assert RowWindow(5, 2, "ts") == RowWindow(5, 2, "ts")
    assert len({Session("ts", 5), Session("ts", 5), Session("ts", 6)}) == 2
