"""Columns of a stream in the ways that users give them, and how streams and results look."""

from __future__ import annotations

from datetime import datetime
from html.parser import HTMLParser

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.errors import ArgumentError, UnknownColumnError

MINUTE = [datetime(2026, 1, 1, 0, 0, second) for second in (0, 30, 59)]


@pytest.fixture(scope="module")
def readings(spark: SparkSession) -> DataFrame:
    schema = "event STRUCT<at: TIMESTAMP, station: STRING>, Ts TIMESTAMP, text STRING, V INT"
    rows = [((at, "a"), at, at.isoformat(), n) for n, at in enumerate(MINUTE)]
    return spark.createDataFrame(rows, schema)


def made(given: object) -> object:
    """A column of PySpark can be made only once there is a session."""
    return given() if callable(given) and not isinstance(given, str) else given


@pytest.mark.parametrize(
    ("on", "by", "names"),
    [
        ("ts", "v", ("Ts", ("V",))),
        (lambda: F.col("Ts"), lambda: [F.col("V"), "text"], ("Ts", ("V", "text"))),
        ("event.at", "event.station", ("at", ("station",))),
        (lambda: F.col("event.at"), (), ("at", ())),
        (
            lambda: F.to_timestamp("text").alias("when"),
            lambda: F.col("V") % 2,
            ("when", ("(V % 2)",)),
        ),
    ],
    ids=["any case", "columns", "fields", "field as column", "expressions"],
)
def test_columns_are_found(
    readings: DataFrame, on: object, by: object, names: tuple[str, tuple[str, ...]]
) -> None:
    stream = mt.stream(readings, made(on), made(by))  # type: ignore[arg-type]
    assert (stream.on, stream.by) == names
    counts = stream.tumbling("1 minute").agg("count(*) AS n").collect()
    assert sum(row.n for row in counts) == 3
    assert counts[0].asDict().keys() >= set(stream.by)


@pytest.mark.parametrize(
    ("on", "error", "says"),
    [
        ("tss", UnknownColumnError, "did you mean 'Ts'"),
        ("event.when", ArgumentError, "(?s)'event.when' cannot be used: Spark says: .*when"),
        (lambda: F.col("nothing"), ArgumentError, "Spark says: .*nothing"),
        (
            lambda: F.to_timestamp("text").alias("Ts"),
            ArgumentError,
            "a column 'Ts' already; .*'Ts_2'",
        ),
        (lambda: F.col("*"), ArgumentError, "it is not one column"),
        (7, ArgumentError, "it must be the name of a column"),
    ],
)
def test_others_are_refused(
    readings: DataFrame, on: object, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        mt.stream(readings, made(on))  # type: ignore[arg-type]


def test_names_that_differ_in_case_are_told_apart(spark: SparkSession) -> None:
    both = spark.createDataFrame([(1, 2)], "x INT, X INT")
    assert mt.stream(both, "X").on == "X"


def test_a_watermark_becomes_disorder(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load().withWatermark("timestamp", "90 seconds")
    windows = mt.stream(rate, "timestamp").tumbling("1 minute")
    with pytest.raises(ArgumentError, match=r"disorder=mt.slack\('90 seconds'\)"):
        windows.agg("count(*) AS n")


class Cells(HTMLParser):
    """The texts of a table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_what_results_look_like(readings: DataFrame) -> None:
    plain = readings.select("Ts", "text", "V")
    stream = mt.stream(plain, "Ts", "text")
    windows = stream.window("5 minutes", "1 minute")
    frames = stream.frames(mt.threshold("V < 2"))
    source = "batch along Ts (timestamp), by text"
    assert repr(stream) == source
    assert repr(windows) == f"RANGE 5 minutes SLIDE 1 minute WATTR Ts, of a {source}"
    assert repr(frames) == f"FRAME threshold(V < 2) WATTR Ts, of a {source}"
    filled = frames.fill(stream, before="1 minute")
    assert repr(filled).startswith("FRAME threshold(V < 2) WATTR Ts filled from a batch along Ts")
    assert repr(windows.plan("max(V)")).startswith("plan of a batch: window RANGE 5 minutes")
    assert repr(stream.asof(stream)).startswith("joined rows of a batch: join ASOF BACKWARD")
    assert repr(stream.lookup(plain, key="text")).startswith("lookup (left) of a batch along")
    for result in (windows, frames, filled, windows.plan("max(V)"), stream.asof(stream)):
        cells = Cells(result._repr_html_()).texts
        assert cells[0] == repr(result)
        assert "exchange" in cells
    assert Cells(stream._repr_html_()).texts[1:3] == ["Ts", "timestamp on"]


def test_a_notebook_shows_what_is_missing(spark: SparkSession) -> None:
    windows = mt.stream(spark.readStream.format("rate").load(), "timestamp").tumbling("1 minute")
    shown = Cells(windows._repr_html_()).texts
    assert shown[0].startswith("RANGE 1 minute SLIDE 1 minute WATTR timestamp, of a stream along")
    assert shown[1] == "not yet"
    assert "a stream must say how disordered it is" in shown[2]


def test_a_session_that_runs_is_configured(spark: SparkSession) -> None:
    assert mt.local_session(zone="UTC") is spark
    assert "RocksDB" in str(spark.conf.get("spark.sql.streaming.stateStore.providerClass"))
