"""Windows of every kind are filled in batches with the rows that lie between their bounds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.testing import Replay, assert_same_rows, replay
from tests.fill.routers import plain

ROWS = [("a", n, n // 4) for n in (0, 1, 3, 4, 4, 7, 12, 13, 20)] + [("b", n, n) for n in (2, 9)]
EVENTS = [(key, n) for n in range(-3, 26) for key in ("a", "b") if (n + (key == "b")) % 3]
SCHEMA = "k STRING, n INT, m INT"
LESS, UP_TO = operator.lt, operator.le
#: The windows, the columns that bound them, and how the start and the end compare with rows.
KINDS: dict[str, tuple[Callable[[mt.Stream], mt.Windowed], tuple[str, str], Any, Any]] = {
    "rows": (lambda s: s.rows(range=3, slide=2), ("on_start", "on_end"), UP_TO, UP_TO),
    "by_tuple": (lambda s: s.by_tuple(range=5), ("window_start", "window_end"), LESS, UP_TO),
    "slide_on": (
        lambda s: s.window(range=6, slide=2, slide_on="m"),
        ("window_start", "window_end"),
        LESS,
        UP_TO,
    ),
    "session": (lambda s: s.session(3), ("window_start", "window_end"), UP_TO, LESS),
    "landmark": (
        lambda s: s.landmark(slide=5, origin=0),
        ("window_start", "window_end"),
        UP_TO,
        LESS,
    ),
    "first row": (
        lambda s: s.landmark(slide=5, origin="first"),
        ("window_start", "window_end"),
        UP_TO,
        LESS,
    ),
    "landmarks": (
        lambda s: s.landmark(slide=5, origin=[0, 10]),
        ("window_start", "window_end"),
        UP_TO,
        LESS,
    ),
}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA)


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(EVENTS, "k STRING, at INT")


@pytest.fixture
def later(spark: SparkSession) -> Iterator[Replay]:
    names = ("k", "n", "m")
    played = replay(spark, [[dict(zip(names, row, strict=True)) for row in ROWS]], SCHEMA)
    yield played
    played.remove()


@pytest.mark.parametrize("name", KINDS)
def test_a_batch_is_filled(rows: DataFrame, events: DataFrame, name: str) -> None:
    made, (start, end), after, before = KINDS[name]
    windows = made(mt.stream(rows, "n", "k"))
    filled = windows.fill(events, on="at", after=1).agg("collect_list(at) AS inside")
    bounded = plain(windows.agg("count(*) AS own").drop("own"))
    expected = [
        {
            **window,
            "inside": sorted(
                at
                for key, at in EVENTS
                if key == window["k"] and after(window[start], at) and before(at, window[end] + 1)
            ),
        }
        for window in bounded
    ]
    found = [{**row, "inside": sorted(row["inside"])} for row in plain(filled)]
    assert_same_rows(found, expected)


#: Windows whose bounds depend on the rows of all groups of a key.
GROUPED: dict[str, Callable[[mt.Stream], mt.Windowed]] = {
    "rows": lambda s: s.rows(range=6, slide=5, group="g"),
    "by_tuple": lambda s: s.by_tuple(range=4, every=3, group="g"),
    "slide_on": lambda s: s.window(range=6, slide=2, slide_on="m", group="g"),
}


@pytest.mark.parametrize("name", GROUPED)
def test_groups_inside_a_window_stay_together(spark: SparkSession, name: str) -> None:
    """Rows go to shards by their keys alone, because windows count the rows of all groups."""
    grouped = [("ab"[n % 2], "uvwxyz"[n // 2 % 6], n, n // 4) for n in range(36)]
    df = spark.createDataFrame(grouped, "k STRING, g STRING, n INT, m INT")
    windows = GROUPED[name](mt.stream(df, "n", "k", shards=4))
    for key in ({"k": "k", "g": "g"}, {"k": "k"}, {"g": "g"}):
        filled = plain(windows.fill(df, on="n", key=key).agg("max(n) AS last"))
        assert_same_rows(
            [{name: row[name] for name in row if name != "last"} for row in filled],
            plain(windows.agg("count(*) AS own").drop("own")),
        )
    # A window with the rows of its own key and group has the values that it is made of.
    own = plain(windows.fill(df, on="n").agg("collect_list(n) AS held"))
    assert_same_rows(own, plain(windows.agg("collect_list(n) AS held")))


def test_a_function_sees_the_rows_of_a_window(rows: DataFrame) -> None:
    windows = mt.stream(rows, "n", "k").rows(range=3, slide=3)
    applied = windows.apply(lambda held: {"sum": sum(held["n"].to_pylist())}, "sum BIGINT")
    # Both rows at 4 lie between the bounds, whichever of them is the fifth.
    assert sorted((row.k, row.window_end, row.sum) for row in applied.collect()) == [
        ("a", 3, 4),
        ("a", 6, 15),
        ("a", 9, 45),
        ("b", 3, 11),
    ]


@pytest.mark.parametrize("name", KINDS)
def test_on_a_stream_they_are_refused(later: Replay, events: DataFrame, name: str) -> None:
    windows = KINDS[name][0](later.stream("n", "k", mt.ordered()))
    with pytest.raises(mt.ArgumentError, match="these windows can be filled in a batch"):
        windows.fill(events, on="at")


def test_a_latch_has_no_start(rows: DataFrame) -> None:
    with pytest.raises(mt.ArgumentError, match="a latch has no start, so all rows up to its end"):
        mt.stream(rows, "n", "k").latch(5).fill()
    with pytest.raises(mt.ArgumentError, match="without slide= has no end that rows lie before"):
        mt.stream(rows, "n", "k").landmark(origin=[0, 10]).fill()
