"""The papers' queries as SQL files, each equal to the Python call that it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt

FOLDER = Path(__file__).parents[2] / "examples" / "papers"
NOON = datetime(2026, 1, 5, 12)
Tables = Mapping[str, DataFrame]


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def traffic() -> Iterator[tuple[Any, ...]]:
    for n in range(1200):
        yield f"s{n * 7 % 4}", float(20 + n * 13 % 50), at(n // 2)


def bids() -> Iterator[tuple[Any, ...]]:
    for n in range(300):
        yield (n * n) % 13, float(n * 31 % 97), at(n * 5)


def reports() -> Iterator[tuple[Any, ...]]:
    """Two routers every 30 seconds; both lose packets, only one for more than 5 minutes."""
    for n in range(60):
        yield "r1", 2.0 if 10 <= n <= 25 and n % 5 else 0.5 if 10 <= n <= 25 else 0.1, at(n * 30)
        yield "r2", 0.9 if 40 <= n <= 44 else 0.2, at(n * 30)


def messages() -> Iterator[tuple[Any, ...]]:
    for n in range(100):
        yield "r1" if n % 3 else "r2", "update" if n % 4 else "keepalive", at(n * 17)


def speeds(day: int) -> Iterator[tuple[Any, ...]]:
    for n in range(120):
        slow = day == 0 and 30 <= n <= 80
        yield "a", 25.0 + n % 7 if slow else 60.0, 8 + n % 9, at(n * 20) - timedelta(days=day)


def freezer() -> Iterator[tuple[Any, ...]]:
    for n in range(90):
        yield 20.0 + (n * n % 29) + (15 if 40 <= n <= 60 else 0), at(n * 20)


def packets(kept: int) -> Iterator[tuple[Any, ...]]:
    for n in range(240):
        if n % kept == 0:
            yield f"h{n % 9}", f"h{n % 5}", n, 100 + n * 37 % 400, at(n * 3)


def calls() -> Iterator[tuple[Any, ...]]:
    for n in range(80):
        yield f"o{n % 3}", n % 2, float(n * 29 % 61), NOON - timedelta(days=n % 40)


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Tables:
    made: dict[str, tuple[Iterator[tuple[Any, ...]], str]] = {
        "traffic": (traffic(), "`seg-id` STRING, speed DOUBLE, ts TIMESTAMP"),
        "bids": (bids(), "`item-id` INT, `bid-price` DOUBLE, timestamp TIMESTAMP"),
        "routers": (reports(), "router STRING, loss_rate DOUBLE, ts TIMESTAMP"),
        "bgp": (messages(), "router STRING, kind STRING, ts TIMESTAMP"),
        "speeds": (speeds(0), "segment STRING, speed DOUBLE, vehicles INT, ts TIMESTAMP"),
        "history": (speeds(7), "segment STRING, speed DOUBLE, vehicles INT, ts TIMESTAMP"),
        "freezer": (freezer(), "temperature DOUBLE, ts TIMESTAMP"),
        "ptb": (packets(1), "saddr STRING, daddr STRING, id INT, length INT, timestamp TIMESTAMP"),
        "ptc": (packets(3), "saddr STRING, daddr STRING, id INT, length INT, timestamp TIMESTAMP"),
        "calls": (calls(), "origin STRING, isIntl INT, duration DOUBLE, time TIMESTAMP"),
    }
    found = {name: spark.createDataFrame(list(rows), ddl) for name, (rows, ddl) in made.items()}
    found["packets"] = found["ptb"].selectExpr("length AS bytes", "timestamp AS ts")
    found["doors"] = found["freezer"].selectExpr(
        "if(second(ts) = 40, 'open', 'closed') AS event", "ts"
    )
    found["data_stream"] = spark.range(40).selectExpr(
        "id % 7 AS a", "id * 11 % 19 AS b", "CAST(id * id % 43 + id AS INT) AS at"
    )
    found["sensorreadings"] = found["traffic"].selectExpr(
        "element_at(map('s0', 'east', 's1', 'west', 's2', 'north'), `seg-id`) AS segment",
        "speed",
        "ts",
    )
    found["incidents"] = spark.createDataFrame(
        [("east", "fire", at(-600)), ("west", "jam", at(200)), ("north", "ice", at(0))],
        "segment STRING, description STRING, time TIMESTAMP",
    )
    return {name: df.cache() for name, df in found.items()}


def of(table: str, on: str, by: str | tuple[str, ...] = ()) -> Callable[[Tables], mt.Stream]:
    return lambda tables: mt.stream(tables[table], on=on, by=by)


def high_loss(tables: Tables) -> mt.Frames:
    routers = of("routers", "ts", "router")(tables)
    return routers.frames(mt.threshold("loss_rate > 0.3"), min_duration="5 minutes")


FRAME = ["frame_start", "frame_end"]


def arriving(tables: Tables) -> DataFrame:
    return tables["traffic"].withColumn("arrived", F.current_timestamp())


def history(tables: Tables) -> DataFrame:
    slow = of("speeds", "ts", "segment")(tables).frames(
        mt.threshold("speed < 40"), min_duration="10 minutes"
    )
    then = slow.fill(tables["history"], shift="-7 days").plan("avg(speed) AS week_ago")
    both = mt.combine(slow.plan("avg(speed) AS speed"), then).df
    return both.select("segment", *FRAME, "speed", "week_ago")


def doors(tables: Tables) -> DataFrame:
    warm = of("freezer", "ts")(tables).frames(
        mt.threshold("temperature > 32"), min_duration="1 minute", readings="until_next"
    )
    opened = warm.fill(tables["doors"], before="1 minute", where="event = 'open'")
    return opened.agg("count(*) AS openings").select(*FRAME, "openings")


def recent(tables: Tables) -> DataFrame:
    df = tables["data_stream"]
    (last,) = df.agg(F.max("at")).first() or (0,)
    return df.where(f"a < 5 AND b > 2 AND at BETWEEN {last - 10} AND {last}")


def slow_incidents(tables: Tables) -> DataFrame:
    known = tables["sensorreadings"].where("segment IN ('east', 'west')")
    slow = mt.stream(known, on="ts", by="segment").tumbling("5 minutes").agg("avg(speed) AS speed")
    joined = slow.where("speed < 50").join(tables["incidents"], "segment")
    recent_ones = "time >= window_end - INTERVAL '1' HOUR AND time < window_end"
    return joined.where(recent_ones).select("speed", "description", "window_end")


def share(tables: Tables) -> DataFrame:
    on_both = tables["ptb"].join(
        tables["ptc"].drop("length", "timestamp"), ["saddr", "daddr", "id"]
    )
    minutes = [
        mt.stream(df, on="timestamp").tumbling("1 minute").agg("count(*) AS packets")
        for df in (tables["ptb"], on_both)
    ]
    joined = minutes[0].join(minutes[1].toDF("s", "window_end", "found"), "window_end", "left")
    return joined.selectExpr("window_end", "coalesce(found, 0) / packets AS share")


def top(tables: Tables) -> DataFrame:
    hourly = of("ptb", "timestamp", ("saddr", "daddr"))(tables).tumbling("1 hour")
    rows = hourly.agg("sum(length) AS traffic").collect()
    assert len({row.window_end for row in rows}) == 1
    beaten = [row for row in rows if sum(o.traffic < row.traffic for o in rows) > 0.95 * len(rows)]
    made = [(r.window_end, r.saddr, r.daddr, r.traffic) for r in beaten]
    spark = tables["ptb"].sparkSession
    return spark.createDataFrame(
        made, "window_end TIMESTAMP, saddr STRING, daddr STRING, traffic BIGINT"
    )


PYTHON: dict[str, Callable[[Tables], DataFrame]] = {
    "window-id-q1": lambda t: (
        of("traffic", "ts", "seg-id")(t)
        .window("300 seconds", "60 seconds")
        .agg("max(speed) AS hi", "min(speed) AS lo")
        .select("seg-id", "hi", "lo")
    ),
    "window-id-q2": lambda t: (
        mt.stream(arriving(t), on="arrived")
        .rows(1000, 10, group="seg-id", order="arrival")
        .agg("count(*) AS n")
        .select("seg-id", "n")
    ),
    "window-id-q3": lambda t: (
        of("traffic", "ts")(t)
        .by_tuple("300 seconds", group="seg-id", order="arrival")
        .agg("count(*) AS n")
        .select("seg-id", "n")
    ),
    "window-id-q4": lambda t: (
        mt.stream(arriving(t), on="arrived", by="seg-id")
        .rows(1000, 10, order="arrival")
        .agg("count(*) AS n")
        .select("seg-id", "n")
    ),
    "window-id-q5": lambda t: (
        of("traffic", "ts")(t)
        .by_tuple("300 seconds", every=5, group="seg-id")
        .agg("count(*) AS n")
        .select("seg-id", "n")
    ),
    "panes-query1": lambda t: (
        of("bids", "timestamp")(t)
        .window("4 minutes", "1 minute")
        .agg("max(`bid-price`) AS hi")
        .select("hi")
    ),
    "panes-query2": lambda t: (
        of("bids", "timestamp")(t).by_tuple("4 minutes").agg("max(`bid-price`) AS hi").select("hi")
    ),
    "panes-query3": lambda t: (
        of("bids", "timestamp", "item-id")(t)
        .window("4 minutes", "1 minute")
        .agg("count(*) AS n")
        .select("n")
    ),
    "panes-query4": lambda t: (
        of("bids", "timestamp")(t)
        .window("10 minutes", "1 minute")
        .agg(mt.heavy_hitters("item-id", 0.05).alias("items"))
        .select("window_end", "items")
    ),
    "frames-high-loss": lambda t: (
        high_loss(t).agg("avg(loss_rate) AS loss_rate").select("router", *FRAME, "loss_rate")
    ),
    "frames-bgp": lambda t: (
        high_loss(t)
        .fill(t["bgp"], before="30 seconds", where="kind = 'update'")
        .agg("count(*) AS updates")
        .select("router", *FRAME, "updates")
    ),
    "frames-very-high-loss": lambda t: (
        high_loss(t)
        .fill(where="loss_rate > 1.5")
        .agg("count(*) AS reports")
        .select("router", "frame_start", "reports")
    ),
    "frames-history": history,
    "frames-freezer": doors,
    "frames-payload": lambda t: (
        of("packets", "ts")(t)
        .frames(mt.aggregate("sum(bytes) >= 4000"))
        .agg("sum(bytes) AS bytes", "count(*) AS packets")
        .select("frame_id", *FRAME, "bytes", "packets")
    ),
    "frames-delta": lambda t: (
        of("freezer", "ts")(t)
        .frames(mt.delta("temperature", 3))
        .agg("min(temperature) AS low", "max(temperature) AS high")
        .select(*FRAME, "low", "high")
    ),
    "frames-boundary": lambda t: (
        of("freezer", "ts")(t)
        .frames(mt.boundary("temperature", every=10))
        .agg("floor(min(temperature) / 10) AS decade")
        .select(*FRAME, "decade")
    ),
    "frames-increasing": lambda t: (
        of("freezer", "ts")(t)
        .frames(mt.trend("temperature", "increasing"), min_count=3)
        .agg("count(*) AS readings")
        .select(*FRAME, "readings")
    ),
    "frames-density": lambda t: (
        of("speeds", "ts", "segment")(t)
        .frames(mt.density("sum(vehicles) > 30", per="1 minute"))
        .agg("sum(vehicles) AS vehicles")
        .select("segment", *FRAME, "vehicles")
    ),
    "psoup-window": recent,
    "psoup-aggregate": lambda t: (
        mt.stream(t["data_stream"].where("a < 5"), on="at")
        .by_tuple(11)
        .agg("max(b) AS greatest")
        .select("window_end", "greatest")
    ),
    "fjords-query1": lambda t: (
        mt.stream(t["sensorreadings"].where("segment IN ('east', 'west')"), on="ts")
        .tumbling("5 minutes")
        .agg("avg(speed) AS speed")
        .select("speed")
    ),
    "fjords-query2": slow_incidents,
    "continuous-load": lambda t: (
        of("ptb", "timestamp")(t)
        .tumbling("1 minute")
        .agg("sum(length) AS load")
        .where("load > 2500")
        .select("window_start", "load")
    ),
    "continuous-fraction": share,
    "continuous-top": top,
    "correlated-average": lambda t: (
        mt.stream(t["calls"].where("isIntl = 1"), on="time")
        .landmark("1 day", "2026-01-01")
        .agg("count(*) FILTER (WHERE duration >= avg(duration)) AS n")
        .select("window_end", "n")
    ),
    "correlated-longest": lambda t: (
        mt.stream(t["calls"].where("isIntl = 1"), on="time", by="origin")
        .window("2 weeks", "1 day")
        .agg("count(*) FILTER (WHERE duration >= 0.9 * max(duration)) AS n")
        .select("origin", "window_end", "n")
    ),
}
#: Streams that fjords' windowed aggregates belong to: nothing in the text names a column of time.
DECLARED = {"sensorreadings": "ts"}


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=repr)


def test_every_file_has_its_python() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == {*PYTHON}


@pytest.mark.parametrize("name", PYTHON)
def test_a_query_is_the_python_call(tables: Tables, name: str) -> None:
    given = {
        table: mt.stream(df, on=DECLARED[table]) if table in DECLARED else df
        for table, df in tables.items()
    }
    made = mt.sql((FOLDER / f"{name}.sql").read_text(), **given)
    expected = rows(PYTHON[name](tables))
    assert rows(made) == expected
    assert expected
