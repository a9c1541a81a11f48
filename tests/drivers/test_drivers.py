"""Reference = batch = stream, in cases small enough to check by eye.

tests/properties has many more cases. Here each kind of window has one case, drawn above it: keys
from top to bottom and ``x`` from left to right. Micro-batches list their rows in order of arrival.
"""

from __future__ import annotations

import pytest

from muntin.specs.row_windows import Landmarks, RowWindow, Session, TupleWindow
from muntin.specs.windows import Landmark, Window
from muntin.testing import assert_same_rows
from tests.drivers.drivers import Case, Driver

CASES = [
    # x  0    5    10   15
    # a   1  4      11     (4 comes after 6, within the slack)
    # b      4 6
    Case(
        name="sliding",
        spec=Window(10, 5, "x"),
        make=lambda s: s.window(range=10, slide=5),
        batches=[[("a", 1, 10), ("b", 6, 30)], [("a", 4, 20), ("b", 4, 40)], [("a", 11, 50)]],
        columns="k window_start window_end n s",
        expected=[
            ("a", -5, 5, 2, 30),
            ("a", 0, 10, 2, 30),
            ("a", 5, 15, 1, 50),
            ("a", 10, 20, 1, 50),
            ("b", -5, 5, 1, 40),
            ("b", 0, 10, 2, 70),
            ("b", 5, 15, 1, 30),
        ],
    ),
    # x  0  3     8     13
    # a   1 |3  7 | 9   |        1 lies before the origin
    Case(
        name="tumbling from an origin, flagged",
        spec=Window(5, 5, "x", 3),
        make=lambda s: s.tumbling(5, origin=3, unfinished="flag"),
        batches=[[("a", 1, 1), ("a", 3, 2), ("a", None, 3)], [("a", 7, 4)], [("a", 9, 5)]],
        columns="k window_start window_end complete n s",
        expected=[("a", 3, 8, True, 2, 6), ("a", 8, 13, False, 1, 5)],
        unfinished="flag",
        refused=["before_origin", "null_on"],
    ),
    # x  0    5    10   15
    # a  |1  4     11 |         every window starts at 0; b has none of its own before 5
    # b        6
    Case(
        name="one landmark",
        spec=Landmark(5, "x", 0),
        make=lambda s: s.landmark(5, origin=0),
        batches=[[("a", 1, 10)], [("a", 4, 20), ("b", 6, 30)], [("a", 11, 50)]],
        columns="k window_start window_end n s",
        expected=[
            ("a", 0, 5, 2, 30),
            ("a", 0, 10, 2, 30),
            ("a", 0, 15, 3, 80),
            ("b", 0, 10, 1, 30),
            ("b", 0, 15, 1, 30),
        ],
    ),
    # rank  0  1  2  3  4
    # a     1  2  5  6  9       windows end after ranks 1, 3 and 5
    # b     3
    Case(
        name="three rows every two",
        spec=RowWindow(3, 2, "x"),
        make=lambda s: s.rows(range=3, slide=2),
        batches=[
            [("a", 2, 2), ("a", 1, 1), ("b", 3, 7)],
            [("a", 6, 6), ("a", 5, 5)],
            [("a", 9, 9)],
        ],
        columns="k window_start window_end on_start on_end n s",
        expected=[
            ("a", 0, 2, 1, 2, 2, 3),
            ("a", 1, 4, 2, 6, 3, 13),
            ("a", 3, 6, 6, 9, 2, 15),
            ("b", 0, 2, 3, 3, 1, 7),
        ],
    ),
    # rank  0   1   2   3
    # x     1a  2b  4a  5a      ranked over all keys, grouped inside windows
    Case(
        name="rows of the whole stream, grouped inside",
        spec=RowWindow(3, 2, "x"),
        make=lambda s: s.rows(range=3, slide=2, group="k"),
        batches=[[("b", 2, 2), ("a", 1, 1)], [("a", 5, 5), ("a", 4, 4)]],
        columns="k window_start window_end on_start on_end n s",
        expected=[
            ("a", 0, 2, 1, 1, 1, 1),
            ("b", 0, 2, 2, 2, 1, 2),
            ("a", 1, 4, 4, 5, 2, 9),
            ("b", 1, 4, 2, 2, 1, 2),
            ("a", 3, 6, 5, 5, 1, 5),
        ],
        by=(),
        group=("k",),
    ),
    # x  0    5    10
    # a   1 3 5   8  11         a window (v - 4, v] at every second row: 3 and 8
    Case(
        name="by tuple",
        spec=TupleWindow(4, "x", 2),
        make=lambda s: s.by_tuple(range=4, every=2),
        batches=[[("a", 3, 3), ("a", 1, 1)], [("a", 5, 5), ("a", 8, 8)], [("a", 11, 11)]],
        columns="k window_start window_end n s",
        expected=[("a", -1, 3, 2, 4), ("a", 4, 8, 2, 13)],
    ),
    # x  0    5    10
    # a   1   5   8             at every second row of all, 3 and 7, each key in (v - 4, v]
    # b     3   7
    Case(
        name="by tuple over the whole stream, grouped inside",
        spec=TupleWindow(4, "x", 2),
        make=lambda s: s.by_tuple(range=4, every=2, group="k"),
        batches=[[("b", 3, 3), ("a", 1, 1)], [("a", 5, 5), ("b", 7, 7)], [("a", 8, 8)]],
        columns="k window_start window_end n s",
        expected=[("a", -1, 3, 1, 1), ("b", -1, 3, 1, 3), ("a", 3, 7, 1, 5), ("b", 3, 7, 1, 7)],
        by=(),
        group=("k",),
    ),
    # x  0    5    10   15
    # a   1 *3 6    11*  14     landmarks where v < 0; 1 comes before the first
    Case(
        name="landmarks found in the rows",
        spec=Landmarks("x", 5, start="v < 0"),
        make=lambda s: s.landmark(5, start="v < 0"),
        batches=[[("a", 1, 1), ("a", 3, -3)], [("a", 6, 6), ("a", 11, -11)], [("a", 14, 14)]],
        columns="k window_start window_end n s",
        expected=[("a", 3, 8, 2, 3), ("a", 3, 11, 2, 3), ("a", 11, 16, 2, 3)],
    ),
    # x  0    5    10   15
    # a   1 3   7               7 is at 3 + 4, so it still joins with a gap of 4
    # b     3       10
    Case(
        name="sessions",
        spec=Session("x", 4),
        make=lambda s: s.session(4),
        batches=[[("a", 3, 3), ("a", 1, 1), ("b", 3, 1)], [("a", 7, 7)], [("b", 10, 2)]],
        columns="k window_start window_end n s",
        expected=[("a", 1, 11, 3, 11), ("b", 3, 7, 1, 1), ("b", 10, 14, 1, 2)],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_driver_makes_the_same(case: Case, driver: Driver) -> None:
    output = driver(case)
    names = case.columns.split()
    assert [list(row) for row in output.results] == [names] * len(case.expected)
    assert_same_rows(output.results, [dict(zip(names, row, strict=True)) for row in case.expected])
    assert sorted(output.refused) == sorted(case.refused)
