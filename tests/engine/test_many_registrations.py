"""Many queries come and go while a stream runs, which is never started again."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from tests.engine.test_engine import Readings

FILTER = "SELECT ts, speed FROM traffic WHERE speed < {} AND lane <> 3"
WINDOWS = (
    "SELECT station, window_end, count(*) AS n FROM traffic "
    "[RANGE {} SECONDS SLIDE 2 SECONDS] WHERE speed > 20 GROUP BY station"
)


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_stream_goes_on_while_queries_come_and_go(
    spark: SparkSession, tmp_path: Path, count: int
) -> None:
    readings = Readings(tmp_path / "rows")
    readings.put(0, 20)
    with mt.Engine(spark, tmp_path / "home") as engine:
        stream = engine.stream("traffic", readings.stream(spark), "ts", "station", mt.slack("1 s"))
        first = engine.register("first", FILTER.format(100))
        engine.start()
        engine.process_available()
        run = engine.stream_of("traffic").query
        assert run is not None
        run_id = run.runId
        last = None
        for number in range(count):
            text = (FILTER if number % 2 else WINDOWS).format(number % 100 + 1)
            query = engine.register(f"query {number}", text)
            if last is not None:
                last.drop()
            last = query
            if number % 20 == 9:
                readings.put(20 + number, 20)
        engine.process_available()
        assert last is not None and last.wait().micro_batch > 0
        last.drop()
        engine.process_available()
        assert run.runId == run_id and run.isActive
        assert [query.name for query in engine.queries()] == ["first"]
        chosen = sum(row["lane"] != 3 for row in readings.rows)
        assert first.results().num_rows == chosen
        shared = [(part.kind, part.queries) for part in stream.shared()]
        assert shared == [("rows chosen", ("first",))]
