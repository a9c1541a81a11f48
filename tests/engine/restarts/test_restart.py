"""Queries that need Spark, or columns that are not carried: the stream restarts between batches."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.engine_stream import EngineStream
from muntin.errors import ArgumentError
from tests.drivers.programs import PATIENCE, kill, start, wait_for
from tests.engine.program_desk import ALWAYS, desk
from tests.engine.restarts import program_restart
from tests.engine.test_engine import Readings, plain

HASHED = "SELECT ts, speed FROM traffic WHERE sha2(concat(station, '{}'), 256) > '8' AND lane < 9"
COUNTS = (
    "SELECT station, window_end, count(*) AS n, sum(speed) AS v FROM traffic "
    "[RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY station"
)
ALL = "SELECT ts, station, speed FROM traffic"


@pytest.fixture
def readings(tmp_path: Path) -> Readings:
    return Readings(tmp_path / "readings")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the streams whose streaming query began, each time."""
    begun: list[str] = []
    real: Callable[[EngineStream], None] = EngineStream._run

    def run(self: EngineStream) -> None:
        begun.append(self.name)
        real(self)

    monkeypatch.setattr(EngineStream, "_run", run)
    return begun


def declared(
    spark: SparkSession, folder: Path, readings: Readings, keep: str | None = None
) -> mt.Engine:
    engine = mt.Engine(spark, folder / "home")
    rows = readings.stream(spark)
    carry = ["ts", "station", "speed"]
    slack = mt.slack("5 seconds")
    engine.stream("traffic", rows, "ts", "station", slack, carry=carry, keep=keep)
    return engine


def test_ten_registrations_make_one_restart_and_columns_go_when_nobody_reads_them(
    spark: SparkSession, tmp_path: Path, readings: Readings, runs: list[str]
) -> None:
    spark.udf.register("doubled", lambda speed: None if speed is None else speed * 2, "double")
    readings.put(0, 20)
    with declared(spark, tmp_path, readings, keep="1 hour") as engine:
        stream = engine.stream_of("traffic")
        engine.register("all", ALL)
        engine.start()
        engine.process_available()
        own = "SELECT ts, doubled(speed) AS d FROM traffic WHERE doubled(speed) > 20"
        texts = {
            "own": own,
            "lane": "SELECT ts, lane FROM traffic WHERE lane = 1",
            "lanes": "SELECT lane, window_end, count(*) AS n FROM traffic [TUMBLING 10 SECONDS] "
            "GROUP BY lane",
            "frames": "SELECT station, frame_start, frame_end FROM traffic "
            "[FRAME THRESHOLD doubled(speed) < 60]",
            "codes": "SELECT station, window_end, max(soundex(station)) AS s FROM traffic "
            "[TUMBLING 10 SECONDS] GROUP BY station",
            **{f"hashed {n}": HASHED.format(n) for n in range(5)},
        }
        for text in texts.values():
            stream.plan(text)  # on a slow machine this takes longer than commands are gathered
        handles = {name: engine.register(name, text) for name, text in texts.items()}
        engine.process_available()
        acknowledged = {name: handle.wait(600) for name, handle in handles.items()}
        assert {found.how for found in acknowledged.values()} == {"restart"}
        assert len({found.micro_batch for found in acknowledged.values()}) == 1
        assert runs == ["traffic"] * 2
        assert "prepared by Spark: doubled(speed)" in handles["own"].explain()
        again = engine.register("again", own.replace("20", "40"))  # another predicate
        same = engine.register("same", "SELECT lane FROM traffic WHERE lane = 2 AND speed > 5")
        engine.process_available()
        assert (again.wait(600).how, same.wait(600).how) == ("restart", "in place")
        assert runs == ["traffic"] * 3
        readings.put(20, 60)
        engine.process_available()
        engine.end("traffic")
        engine.process_available()
        after = readings.rows[20:]
        assert sorted(row["d"] for row in handles["own"].results().to_pylist()) == sorted(
            row["speed"] * 2 for row in after if row["speed"] > 10
        )
        assert handles["lane"].results().num_rows == sum(row["lane"] == 1 for row in after)
        counted = handles["lanes"].results().to_pylist()
        assert sum(row["n"] for row in counted if row["lane"] == 3) == 15
        assert {row["s"] for row in handles["codes"].results().to_pylist()} == {"A000", "B000"}
        batch = mt.stream(
            spark.createDataFrame(
                after, "ts STRING, station STRING, lane INT, speed DOUBLE"
            ).selectExpr("CAST(ts AS TIMESTAMP) AS ts", "station", "lane", "speed"),
            on="ts",
            by="station",
        )
        wanted = plain(mt.sql(texts["frames"], traffic=batch).toArrow())
        assert plain(handles["frames"].results(), "complete") == wanted
        assert engine["all"].results().num_rows == len(readings.rows)
        assert len(stream.prepared.running) >= 9
        for name in {"again", *texts} - {"lane"}:
            engine[name].drop()
    with declared(spark, tmp_path, readings, keep="1 hour") as engine:
        engine.start()
        engine.process_available()
        stream = engine.stream_of("traffic")
        live = {str(c.expression) for c in stream.prepared.running - stream.prepared.empty}
        assert live == {"lane"}


def test_what_kept_rows_lack_is_refused_with_history(
    spark: SparkSession, tmp_path: Path, readings: Readings
) -> None:
    with declared(spark, tmp_path, readings, keep="1 hour") as engine:
        refused = "kept rows lack what Spark prepares for it: "
        with pytest.raises(ArgumentError, match=refused + "lane"):
            engine.register("late", "SELECT lane FROM traffic WHERE lane = 1", start="history")
        with pytest.raises(ArgumentError, match=refused + "soundex"):
            text = "SELECT ts FROM traffic WHERE soundex(station) = 'A000'"
            engine.register("late", text, start="2026-01-01 00:00:10")
        with pytest.raises(ArgumentError, match="kept rows lack what Spark prepares"):
            engine.register("asked", "SELECT lane FROM traffic", answer="lazy")
        with pytest.raises(mt.SqlError, match="there is no function no_such_function"):
            engine.register("none", "SELECT no_such_function(speed) AS x FROM traffic")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("restarts", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_restarts_under_load_lose_and_double_nothing(
    spark: SparkSession, tmp_path: Path, readings: Readings, runs: list[str], restarts: int
) -> None:
    readings.put(0, 10)
    with declared(spark, tmp_path, readings) as engine:
        engine.register("all", ALL)
        engine.register("counts", COUNTS)
        engine.start()
        handles = []
        for number in range(restarts):
            for part in range(3):  # rows go on coming, and wait in files during the restart
                readings.put(10 + (3 * number + part) * 10, 10)
            handles.append(engine.register(f"hashed {number}", HASHED.format(number)))
            assert handles[-1].wait(600).how == "restart"
            if number > 1:
                handles[number - 2].drop()
        engine.process_available()
        engine.end("traffic")
        engine.process_available()
        assert len(runs) == restarts + 1
        batch = readings.batch(spark)
        for name, text in {"all": ALL, "counts": COUNTS}.items():
            answers = engine[name].results()
            assert plain(answers, "complete") == plain(mt.sql(text, traffic=batch).toArrow()), name
        everything = set(plain(mt.sql(HASHED.format(restarts - 1), traffic=batch).toArrow()))
        last = plain(handles[-1].results(), "complete")
        assert len(last) == len(set(last)) and set(last) <= everything


@pytest.mark.timeout(2 * PATIENCE)
@pytest.mark.parametrize(
    "stop",
    [
        "stopped",
        *(pytest.param(s, marks=pytest.mark.slow) for s in program_restart.STOPS if s != "stopped"),
    ],
)
def test_an_engine_that_is_killed_in_a_restart_goes_on_exactly(
    spark: SparkSession, tmp_path: Path, readings: Readings, stop: str
) -> None:
    for part in range(4):
        readings.put(part * 15, 15)
    process = start(Path(program_restart.__file__), str(tmp_path), stop)
    wait_for(tmp_path / f"stopped-{stop}", process, PATIENCE)
    readings.put(60, 60)
    time.sleep(1)
    kill(process)
    process.communicate()
    with desk(spark, tmp_path) as engine:
        engine.start()
        engine.process_available()
        readings.put(120, 60)
        engine.process_available()
        engine.end("traffic")
        engine.process_available()
        batch = readings.batch(spark)
        for name, text in ALWAYS.items():
            answers = engine[name].results()
            assert plain(answers, "complete") == plain(mt.sql(text, traffic=batch).toArrow()), name
        # The commands are those of the stream, of three queries, and the two that restart it.
        found = [engine.registry.acknowledgement(seq) for seq in range(4, 7)]
        assert [ack and ack.how for ack in found] == ["in place", "restart", "restart"]
        assert found[1] is not None and found[1].micro_batch is not None
        chosen = plain(engine["sounds"].results(), "complete")
        since = engine["sounds"].results()["micro_batch"].to_pylist()
        everything = plain(mt.sql(program_restart.SOUNDS, traffic=batch).toArrow())
        assert len(chosen) == len(set(chosen)) and set(chosen) <= set(everything)
        assert len(chosen) >= 30 and min(since) >= found[1].micro_batch
        assert engine["coded"].results().num_rows > 0


@pytest.mark.timeout(900)
def test_files_that_workers_read_are_read_by_spark_for_a_while(
    spark: SparkSession, tmp_path: Path
) -> None:
    """An Arrow scan gives way to Spark's at a restart, and comes back at the next start."""
    files = tmp_path / "files"
    files.mkdir()

    def arrive(number: int) -> None:
        rows = pa.table({"x": [number * 2, number * 2 + 1], "word": ["Robert", "Ashcraft"]})
        pq.write_table(rows, files / ".unfinished")
        (files / ".unfinished").rename(files / f"{number}.parquet")

    def opened() -> mt.Engine:
        engine = mt.Engine(spark, tmp_path / "home")
        rows = mt.parquet(spark, str(files), streaming=True)
        engine.stream("words", rows, "x", disorder=mt.ordered())
        return engine

    def scanned(engine: mt.Engine) -> bool:
        stream = engine.stream_of("words")
        (own,) = stream.network.inputs
        return own.rows(stream.prepared.running, stream.prepared.empty).scan is not None

    arrive(0)
    with opened() as engine:
        engine.register("all", "SELECT x FROM words")
        engine.start()
        engine.process_available()
        assert scanned(engine)
        sounds = engine.register("sounds", "SELECT x FROM words WHERE soundex(word) = 'R163'")
        engine.process_available()
        assert not scanned(engine)
        arrive(1)
        engine.process_available()
        assert sounds.results()["x"].to_pylist() == [2]
        sounds.drop()
        engine.process_available()
    with opened() as engine:
        engine.start()
        arrive(2)
        engine.process_available()
    with opened() as engine:  # the versions with the query are not pinned any more
        engine.start()
        arrive(3)
        engine.process_available()
        assert scanned(engine)
        assert sorted(engine["all"].results()["x"].to_pylist()) == list(range(8))
