"""The engine on Spark: queries come, change and go over one streaming query."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.errors import ArgumentError, EngineError, UnknownQueryError

SCHEMA = "ts TIMESTAMP, station STRING, lane INT, speed DOUBLE"
WINDOWS = (
    "SELECT station, window_end, count(*) AS n, sum(speed) AS v "
    "FROM traffic [RANGE {range} SECONDS SLIDE {slide} SECONDS] {where} GROUP BY station"
)


class Readings:
    """Files of rows that a stream reads one by one; ``rows`` has all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[dict[str, object]] = []
        folder.mkdir()

    def put(self, start: int, seconds: int, times: int = 1) -> None:
        rows = times * [
            {
                "ts": (datetime(2026, 1, 1) + timedelta(seconds=start + i)).isoformat(sep=" "),
                "station": "ab"[i % 2],
                "lane": i % 4,
                "speed": float((start + i) * 7 % 60),
            }
            for i in range(seconds)
        ]
        path = self.folder / f"{len(list(self.folder.iterdir())):04d}.json"
        hidden = path.with_name(f".{path.name}")
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Spark reads files in the order in which they were changed, which two of one moment lack.
        moment = 1_700_000_000 + int(path.stem)
        os.utime(hidden, (moment, moment))
        hidden.replace(path)
        self.rows += rows

    def stream(self, spark: SparkSession) -> DataFrame:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.folder))

    def batch(self, spark: SparkSession) -> mt.Stream:
        rows = spark.read.schema(SCHEMA).json(str(self.folder))
        return mt.stream(rows, on="ts", by="station")


@pytest.fixture
def readings(tmp_path: Path) -> Readings:
    return Readings(tmp_path / "readings")


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path, readings: Readings) -> Iterator[mt.Engine]:
    with declared(spark, tmp_path, readings) as engine:
        yield engine


def declared(
    spark: SparkSession, folder: Path, readings: Readings, keep: str | None = None
) -> mt.Engine:
    engine = mt.Engine(spark, folder / "desk")
    rows = readings.stream(spark)
    engine.stream("traffic", rows, "ts", "station", mt.slack("5 seconds"), keep=keep)
    return engine


def windows(range: int = 20, slide: int = 10, where: str = "") -> str:
    return WINDOWS.format(range=range, slide=slide, where=where)


def plain(table: pa.Table, *without: str) -> list[tuple[object, ...]]:
    kept = [name for name in table.column_names if name not in {"micro_batch", *without}]
    return sorted(tuple(row.values()) for row in table.select(kept).to_pylist())


def expected(spark: SparkSession, readings: Readings, text: str) -> list[tuple[object, ...]]:
    """The answers of the same query over all rows, as a batch."""
    return plain(mt.sql(text, traffic=readings.batch(spark)).toArrow())


def test_queries_come_change_and_go_while_the_stream_runs(
    spark: SparkSession, engine: mt.Engine, readings: Readings
) -> None:
    counts = engine.register("counts", windows(), owner="ann", tags=["traffic"])
    low = engine.register("low", "SELECT ts, speed FROM traffic WHERE speed < 5")
    readings.put(0, 60)
    engine.start()
    engine.process_available()
    activation = counts.wait()
    assert (activation.micro_batch, activation.filled, activation.how) == (0, "nothing", "in place")
    run = engine.stream_of("traffic").query
    assert run is not None
    run_id = run.runId
    ended = [
        row for row in expected(spark, readings, windows()) if str(row[1]) <= "2026-01-01 00:00:51"
    ]
    assert plain(counts.results(), "complete") == ended
    assert {row["complete"] for row in counts.results().to_pylist()} == {True}
    assert [row["speed"] for row in low.results().to_pylist()] == [0.0, 3.0, 2.0, 1.0, 4.0]

    late = engine.register("late", windows(10, 10))
    frames = engine.register(
        "frames",
        "SELECT station, frame_start, count(*) AS n FROM traffic [FRAME THRESHOLD speed < 30]",
    )
    assert late.wait().punctuation == datetime.fromisoformat("2026-01-01 00:00:54+00:00")
    low.pause().wait()
    readings.put(60, 60)
    engine.process_available()
    assert low.status == "paused"
    assert low.results(after=activation.micro_batch).num_rows == 0
    # The window that ends at 1:00 began before the query did.
    first = sorted(late.results().to_pylist(), key=lambda row: (row["window_end"], row["station"]))
    assert [(str(row["window_end"])[14:19], row["complete"]) for row in first[:4]] == [
        *(("01:10", True), ("01:10", True), ("01:20", True), ("01:20", True))
    ]
    assert frames.results().num_rows > 0
    frames.drop()
    low.resume()
    changed = counts.change(windows(30, 30))
    engine.process_available()
    assert changed.generation == 2
    readings.put(120, 60)
    engine.process_available()
    assert counts.results(generation=1).num_rows > 0
    assert {str(row["window_end"])[14:19] for row in counts.results().to_pylist()} == {"02:30"}
    assert low.latest()["speed"].to_pylist() == [0.0, 3.0, 2.0, 1.0, 4.0]
    assert run.runId == run_id
    with pytest.raises(UnknownQueryError):
        engine["frames"]
    assert engine[frames.id].results().num_rows > 0
    assert [record.name for record in engine.queries(owner="ann")] == ["counts"]
    assert counts.counts.used + counts.counts.refused == 60
    assert engine.network()["traffic"] == [
        {"kind": "windows over shared panes", "queries": ["counts", "late"]},
        {"kind": "rows chosen", "queries": ["low"]},
    ]
    assert "windows over shared panes, shared with late" in counts.explain()


def test_an_engine_goes_on_where_it_was_and_ends(
    spark: SparkSession, tmp_path: Path, readings: Readings
) -> None:
    with declared(spark, tmp_path, readings) as engine:
        engine.register("counts", windows())
        readings.put(0, 60)
        engine.start()
        engine.process_available()
    with declared(spark, tmp_path, readings) as engine:
        counts = engine["counts"]
        engine.start()
        readings.put(60, 60)
        engine.process_available()
        engine.end("traffic")
        engine.process_available()
        answers = counts.results()
        with pytest.raises(EngineError, match="traffic has ended"):
            engine.register("too late", windows())
    assert plain(answers, "complete") == expected(spark, readings, windows())
    # The stream ended at 1:59, before the ends of the last windows.
    incomplete = {str(r["window_end"])[14:19] for r in answers.to_pylist() if not r["complete"]}
    assert incomplete == {"02:00", "02:10"}


def test_a_query_that_starts_with_history_answers_as_one_that_was_always_there(
    spark: SparkSession, tmp_path: Path, readings: Readings
) -> None:
    frames = "SELECT station, frame_start, frame_end, count(*) AS n FROM traffic [FRAME {}]"
    texts = {
        "windows": windows(30, 10),
        "rows": "SELECT station, window_end, sum(speed) AS v FROM traffic [ROWS 5 SLIDE 2] "
        "GROUP BY station",
        "frames": frames.format("THRESHOLD speed < 30"),
        "filter": "SELECT ts, speed FROM traffic WHERE speed < 20",
    }
    with declared(spark, tmp_path, readings, keep="10 minutes") as engine:
        always = {name: engine.register(f"always {name}", text) for name, text in texts.items()}
        engine.start()
        for part in range(3):
            readings.put(part * 30, 30)
            engine.process_available()
        later = {name: engine.register(name, text, start="history") for name, text in texts.items()}
        cut = engine.register("cut", windows(30, 10), start="2026-01-01 00:00:40")
        engine.process_available()
        for name in texts:
            assert later[name].wait().filled == "rows"
            assert plain(later[name].results()) == plain(always[name].results())
        assert {row["complete"] for row in later["windows"].results().to_pylist()} == {True}
        readings.put(90, 30)
        wider = always["windows"].change(windows(60, 10))
        engine.process_available()
        wider.wait()
        readings.put(120, 30)
        engine.process_available()
        for name in ("rows", "frames", "filter"):
            assert plain(later[name].results()) == plain(always[name].results())
        everything = dict.fromkeys(expected(spark, readings, windows(60, 10)))
        changed = [row[:4] for row in plain(wider.results())]
        assert changed
        assert all(row in everything for row in changed)
        ends = [str(row[1])[14:19] for row in changed]
        before = [str(row[1])[14:19] for row in plain(wider.results(generation=1))]
        assert max(before) < min(ends)
        first = min(cut.results().to_pylist(), key=lambda row: row["window_end"])
        assert (str(first["window_end"])[14:19], first["complete"]) == ("00:50", False)


def test_a_query_that_raises_is_quarantined_and_others_go_on(
    spark: SparkSession, engine: mt.Engine, readings: Readings
) -> None:
    counts = engine.register("counts", windows())
    ties = engine.register(
        "ties", "SELECT lane, frame_start FROM traffic [FRAME THRESHOLD speed < 30 PATTR lane]"
    )
    # Spark evaluates its select list, because it sorts the results.
    divided = engine.register(
        "divided",
        "SELECT station, 1 / (count(*) - count(*)) AS n FROM traffic [RANGE 10 SECONDS "
        "SLIDE 10 SECONDS] GROUP BY station ORDER BY n",
    )
    engine.start()
    readings.put(0, 30, times=2)  # rows that tie have no order
    engine.process_available()
    assert divided.status == "quarantined"
    assert "DIVIDE_BY_ZERO" in str(divided.reason)
    assert ties.status == "quarantined"
    assert "TieError" in str(ties.reason)
    assert counts.status == "active"
    readings.put(30, 30)
    engine.process_available()
    assert counts.results().num_rows > 0
    resumed = ties.resume()
    engine.process_available()
    assert (resumed.wait().generation, ties.status) == (2, "active")


def test_what_an_engine_refuses(
    spark: SparkSession, engine: mt.Engine, readings: Readings, tmp_path: Path
) -> None:
    with pytest.raises(EngineError, match="is in use by process"):
        mt.Engine(spark, tmp_path / "desk")
    with pytest.raises(EngineError, match="streams of the engine are: traffic"):
        engine.register("a", "SELECT * FROM elsewhere")
    with pytest.raises(mt.SqlError, match="an aggregate outside of windows is never complete"):
        engine.register("a", "SELECT count(*) AS n FROM traffic")
    with pytest.raises(EngineError, match="it can only choose rows"):
        engine.register("a", "SELECT count(*) AS n FROM traffic WITH UNBOUNDED STATE")
    with pytest.raises(ArgumentError, match="keeps no rows"):
        engine.register("a", windows(), start="history")
    engine.register("a", windows())
    with pytest.raises(ArgumentError, match="change or drop that one first"):
        engine.register("a", windows())
    with pytest.raises(EngineError, match="not started"):
        engine.process_available()
    with pytest.raises(ArgumentError, match="must be a value of the timestamp column"):
        engine.register("b", windows(), until="soon")


def test_commands_while_a_query_is_filled_and_after_it_failed(
    spark: SparkSession, tmp_path: Path, readings: Readings
) -> None:
    ties = (
        "SELECT lane, frame_start, frame_end FROM traffic [FRAME THRESHOLD speed < 30 PATTR lane]"
    )
    with declared(spark, tmp_path, readings, keep="10 minutes") as engine:
        gone = engine.register("gone", windows(), start="history")
        for forbidden in (gone.pause, lambda: gone.change(windows(30, 10))):
            with pytest.raises(EngineError, match="is being filled from kept rows"):
                forbidden()
        gone.drop()  # nothing may bring it back when its history is done
        failing = engine.register("failing", ties, start="history")
        readings.put(0, 40)
        engine.start()
        engine.process_available()
        assert gone.status == "dropped"
        readings.put(40, 20, times=2)
        engine.process_available()
        assert failing.status == "quarantined"
        resumed = failing.resume()
        engine.process_available()
        assert resumed.wait().generation == 2
        readings.put(60, 40)
        engine.process_available()
        # The next generation begins with the rows that come, not with the history of the first.
        starts = {str(row["frame_start"])[14:19] for row in failing.results().to_pylist()}
        assert starts
        assert min(starts) >= "01:00"
