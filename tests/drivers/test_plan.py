"""Plans before they run: names, fingerprints, and the lengths and state in ``explain``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.spark.plan.windows import WindowPlan


@pytest.fixture
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [], "k STRING, ts TIMESTAMP, x BIGINT, d DOUBLE, ntz TIMESTAMP_NTZ"
    )


@pytest.fixture
def zone(spark: SparkSession) -> Iterator[str]:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield "Europe/Berlin"
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_name_says_columns_and_tells_plans_apart(df: DataFrame) -> None:
    def name(size: object, *aggregates: str, prefix: str = "") -> str:
        windowed = mt.stream(df, on="ts", by="k").tumbling(size, prefix=prefix)
        return windowed.plan(*aggregates).name

    first = name("1 minute", "max(x) AS hi")
    assert first == name("60 seconds", "max(x) AS hi") == "muntin_k_ts_" + first[-8:]
    others = {
        name("2 minutes", "max(x) AS hi"),
        name("1 minute", "min(x) AS hi"),
        name("1 minute", "max(x) AS top"),
        name("1 minute", "max(x) + 1 AS hi"),
        name("1 minute", "max(x) AS hi", prefix="mt_"),
    }
    assert len(others - {first}) == 5


def test_a_name_is_the_same_at_every_start(df: DataFrame) -> None:
    renamed = df.withColumnsRenamed({"k": "station", "d": "speed"})
    windowed = mt.stream(renamed, on="ts", by="station").tumbling("1 minute")
    plan = windowed.plan("avg(speed) AS speed", "count(*) AS n")
    assert plan.name == "muntin_station_ts_9502fee2"  # as docs/how-to/late-rows.md shows it


def test_a_plan_with_columns_computes_nothing_of_the_stream_again(df: DataFrame) -> None:
    windows = mt.stream(df, on="ts", by="k").tumbling("1 minute")
    frames = mt.stream(df, on="ts", by="k").frames(mt.threshold("x > 5"))
    for segments, plan in ((windows, windows.plan("max(x)")), (frames, frames.plan("max(x)"))):
        assert isinstance(plan.parts, WindowPlan)
        assert plan.parts.columns and not segments.bare.columns
        for shared in ("schema", "axis", "key_types"):
            assert vars(plan.parts)[shared] is vars(segments.bare)[shared]


def _window(windowed: mt.Windowed) -> str:
    return windowed.plan("count(*)").parts.identity["window"]


def test_the_zone_is_in_the_fingerprint_where_windows_follow_it(df: DataFrame, zone: str) -> None:
    stream, days = mt.stream(df, on="ts"), f", days in {zone})"
    assert _window(stream.tumbling("1 day")).endswith(f"(timestamp{days}")
    assert _window(stream.window("1 hour", "1 week")).endswith(days)
    assert _window(stream.tumbling("1 hour", origin="2026-01-01")).endswith(days)
    assert _window(stream.landmark("1 hour", "2026-01-01")).endswith(days)
    assert _window(stream.landmark(origin=["2026-01-01", "2026-02-01"])).endswith(days)
    steps = stream.frames(mt.boundary("ts", every="1 day")).plan()
    assert steps.parts.identity["window"].endswith(days)
    by_day = mt.stream(df, on="x").window(5, "1 day", slide_on="ts")
    assert _window(by_day).endswith(f"(integer{days}")


def test_elsewhere_another_machine_may_have_another_zone(df: DataFrame, zone: str) -> None:
    stream = mt.stream(df, on="ts")
    assert _window(stream.tumbling("1 hour")).endswith("WATTR ts (timestamp)")
    assert _window(stream.window("1 day", "1 hour")).endswith("(timestamp)")
    for steps in (mt.boundary("ts", every="1 hour"), mt.boundary("to_date(ts)", every="1 day")):
        assert stream.frames(steps).plan().parts.identity["window"].endswith("(timestamp)")
    assert _window(stream.tumbling("1 day", origin="2026-01-01T00:00+00:00")).endswith(
        "(timestamp)"
    )
    assert _window(stream.rows(5)).endswith("(timestamp)")
    assert _window(stream.session("1 day")).endswith("(timestamp)")
    assert _window(mt.stream(df, on="ntz").tumbling("1 day")).endswith("(timestamp_ntz)")


def _line(plan: mt.Plan, word: str) -> str:
    (line,) = [part for part in str(plan.explanation).splitlines() if part.startswith(word)]
    return line.removeprefix(word).strip()


def test_lengths_are_said_exactly(df: DataFrame) -> None:
    plan = mt.stream(df, on="x").window(range=7_200_000, slide=3_598_000).plan("count(*)")
    assert _line(plan, "panes") == "3594000 and 4000 long, 5 per window"
    plan = mt.stream(df, on="d").tumbling("1234567.000001").plan("count(*)")
    assert _line(plan, "panes") == "1234567.000001 long, 1 per window"


def test_state_is_said_truly(spark: SparkSession) -> None:
    rates = spark.readStream.format("rate").load().selectExpr("*", "string(value) AS name")
    stream = mt.stream(rates, on="timestamp", disorder=mt.slack("10 seconds"))

    def state(windowed: mt.Windowed, aggregate: str) -> str:
        return _line(windowed.plan(aggregate), "state")

    sliding = stream.window("5 minutes", "1 minute")
    panes = "at most 7 panes per key between punctuations"
    rows = "whatever the number of rows"
    growing = "count(*) FILTER (WHERE value > avg(value))"
    kept = "so it grows with the rows"
    loose = "bounded if the rows of a window are"
    assert state(sliding, "avg(value)") == f"bounded: {panes}, 40 bytes and the key each, {rows}"
    assert state(sliding, "max(name)") == (
        f"bounded: {panes}, 16 bytes, the key and the values each, {rows}"
    )
    assert state(sliding, "median(value)") == (
        f"{loose}: {panes}, 16 bytes and the key each; "
        "and each distinct value of a pane with its count"
    )
    assert state(sliding, growing) == (
        f"{loose}: {panes}, 16 bytes and the key each; and each row of a pane, {kept}"
    )
    assert state(stream.landmark("1 hour", "2026-01-01"), growing) == (
        "unbounded: one pane per key and open slide, 16 bytes and the key each; "
        f"and each row of a pane, {kept}; a landmark window may go on for ever, and an aggregate "
        "keeps its rows (bounded by a window that ends)"
    )
    pending = "rows that punctuation has not passed"
    assert state(stream.session("1 minute"), growing) == (
        f"{loose}: one row for every open session, "
        f"16 bytes and the key each; and each row of a session, {kept}"
    )
    assert state(stream.by_tuple("1 minute", every=2), "max(value)") == (
        f"bounded: {pending}, and for every key a count and one cell for each `on` within the "
        "last 1 minute, 24 bytes and the key each"
    )
    # A list grows too, but never beyond the rows of a window.
    assert state(stream.rows(100, 10), "collect_list(value)").startswith(
        f"bounded: {pending}, and for every key a count and 11 cells of ranks, "
    )
