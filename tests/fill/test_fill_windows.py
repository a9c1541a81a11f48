"""Windows of every kind are filled with the rows that lie between their bounds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.spark.explain.state_profile import Bounded
from muntin.testing import Replay, assert_same_rows, replay
from tests.drivers.streams import play
from tests.fill.routers import plain

ROWS = [("a", n, n // 4) for n in (0, 1, 3, 4, 4, 7, 12, 13, 20)] + [("b", n, n) for n in (2, 9)]
EVENTS = [(key, n) for n in range(-3, 26) for key in ("a", "b") if (n + (key == "b")) % 3]
SCHEMA = "k STRING, n INT, m INT"
AGGREGATES = ("count(*) AS events", "max(at) AS latest")
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
    in_order = sorted(ROWS, key=operator.itemgetter(1))
    rows = [dict(zip(("k", "n", "m"), row, strict=True)) for row in in_order]
    played = replay(spark, [rows[:3], rows[3:7], rows[7:8], rows[8:]], SCHEMA)
    yield played
    played.remove()


@pytest.fixture
def arriving(spark: SparkSession) -> Iterator[Replay]:
    rows = [dict(zip(("k", "at"), row, strict=True)) for row in EVENTS]
    played = replay(spark, [rows[:17], rows[17:22], rows[22:]], "k STRING, at INT")
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


def filled_in_a_batch(rows: DataFrame, events: DataFrame, name: str) -> list[dict[str, Any]]:
    windows = KINDS[name][0](mt.stream(rows, "n", "k"))
    return plain(windows.fill(events, on="at", before=1).agg(*AGGREGATES))


@pytest.mark.parametrize("name", KINDS)
def test_a_stream_fills_a_stream(
    rows: DataFrame, events: DataFrame, later: Replay, arriving: Replay, name: str
) -> None:
    """The windows of a stream are filled by another one, which is sometimes ahead of it."""
    windows = KINDS[name][0](later.stream("n", "k", mt.slack(1), shards=2))
    filling = arriving.stream("at", "k", mt.slack(2))
    plan = windows.fill(filling, before=1).plan(*AGGREGATES)
    played = play(plan)
    found = [row.asDict() for row in played.results]
    assert_same_rows(found, filled_in_a_batch(rows, events, name))
    assert played.counts["rows_used"] == len(ROWS) + len(EVENTS)


@pytest.mark.parametrize("name", ["rows", "session"])
def test_a_table_fills_a_stream(
    rows: DataFrame, events: DataFrame, later: Replay, name: str
) -> None:
    windows = KINDS[name][0](later.stream("n", "k", mt.slack(1), shards=2))
    plan = windows.fill(events, on="at", before=1).plan(*AGGREGATES)
    found = [row.asDict() for row in play(plan).results]
    assert_same_rows(found, filled_in_a_batch(rows, events, name))


@pytest.mark.parametrize("name", ["rows", "landmarks"])
def test_a_stream_fills_windows_of_a_batch(
    rows: DataFrame, events: DataFrame, arriving: Replay, name: str
) -> None:
    windows = KINDS[name][0](mt.stream(rows, "n", "k"))
    plan = windows.fill(arriving.stream("at", "k", mt.slack(2)), before=1).plan(*AGGREGATES)
    found = [row.asDict() for row in play(plan).results]
    assert_same_rows(found, filled_in_a_batch(rows, events, name))


def test_a_function_sees_the_rows_of_a_session_on_a_stream(rows: DataFrame, later: Replay) -> None:
    def applied(stream: mt.Stream) -> mt.Plan:
        own = stream.session(3).fill()
        return own.apply_plan(lambda held: {"sum": sum(held["n"].to_pylist())}, "sum BIGINT")

    found = [row.asDict() for row in play(applied(later.stream("n", "k", mt.slack(1)))).results]
    assert_same_rows(found, plain(applied(mt.stream(rows, "n", "k")).df))
    assert len(found) == 5


def test_what_cannot_be_filled_on_a_stream(later: Replay, arriving: Replay) -> None:
    stream = later.stream("n", "k", mt.ordered())
    filling = arriving.stream("at", "k", mt.ordered())
    with pytest.raises(mt.ArgumentError, match="counted as they arrive have no order along on"):
        stream.rows(range=3, order="arrival").fill(filling)
    with pytest.raises(mt.ArgumentError, match="windows with groups inside cannot be filled by"):
        later.stream("n", (), mt.ordered()).rows(range=3, group="k").fill(filling, key="k")


def test_explain_says_what_a_fill_keeps(later: Replay, arriving: Replay) -> None:
    stream = later.stream("n", "k", mt.ordered())
    filling = arriving.stream("at", "k", mt.ordered())
    landmarks = stream.landmark(slide=5, origin=0).fill(filling).plan("count(*) AS n")
    assert landmarks.state.bounded is Bounded.NEVER
    sessions = stream.session(3).fill(filling).plan("count(*) AS n")
    assert sessions.state.bounded is Bounded.IF


def test_a_latch_has_no_start(rows: DataFrame) -> None:
    with pytest.raises(mt.ArgumentError, match="a latch has no start, so all rows up to its end"):
        mt.stream(rows, "n", "k").latch(5).fill()
    with pytest.raises(mt.ArgumentError, match="without slide= has no end that rows lie before"):
        mt.stream(rows, "n", "k").landmark(origin=[0, 10]).fill()
