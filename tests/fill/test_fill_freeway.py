"""Congestion of a real freeway day, filled, against plain pandas.

The volume at the next station downstream tells a queue from a road that is merely full. The same
hours of other days tell a usual rush hour from an unusual one. There is data of one day only, so
the tests make history of it: moved by days, and with other volumes.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "freeway"
DAY = DATA / "loopdata_1day.csv.gz"
SCHEMA = (
    "date_part BIGINT, starttime TIMESTAMP, detectorid INT, volume INT, speed DOUBLE, "
    "occupancy INT, status INT, dqflags INT"
)
KEYS = ["stationid", "downstream"]
BOUNDS = [*KEYS, "frame_id", "frame_start", "frame_end"]
#: For each shift, by how many days history is moved and by what its volumes are multiplied.
HISTORY = {"-1 day": (1, 2), "-1 week": (7, 3)}

pytestmark = pytest.mark.skipif(not DAY.exists(), reason="the shared data is not on this machine")


@pytest.fixture(scope="module")
def readings(spark: SparkSession) -> DataFrame:
    """Return every reading with its station and the station downstream of it."""
    reader = spark.read.option("header", True).option("timestampFormat", "yyyy-MM-dd HH:mm:ssX")
    rows = reader.schema(SCHEMA).csv(str(DAY))
    plain = spark.read.option("header", True).option("inferSchema", True)
    detectors = plain.csv(str(DATA / "freeway_detectors.csv")).select("detectorid", "stationid")
    stations = plain.csv(str(DATA / "freeway_stations.csv")).select("stationid", "downstream")
    joined = rows.join(F.broadcast(detectors), "detectorid").join(
        F.broadcast(stations), "stationid"
    )
    return joined.select(*KEYS, "detectorid", "starttime", "speed", "volume").cache()


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the same readings, read by pandas."""
    read = pd.read_csv(DAY, usecols=["date_part", "detectorid", "speed", "volume"])
    read["starttime"] = pd.to_datetime(read["date_part"], unit="s")
    detectors = pd.read_csv(DATA / "freeway_detectors.csv")[["detectorid", "stationid"]]
    stations = pd.read_csv(DATA / "freeway_stations.csv")[KEYS]
    return read.merge(detectors, on="detectorid").merge(stations, on="stationid")


@pytest.fixture(scope="module")
def congested(table: pd.DataFrame) -> pd.DataFrame:
    """Return runs of at least five minutes with an average speed below 40 at a station."""
    speeds = table.groupby([*KEYS, "starttime"], as_index=False)["speed"].mean().dropna()
    slow = speeds["speed"] < 40
    changed = (slow != slow.shift()) | (speeds["stationid"] != speeds["stationid"].shift())
    runs = (
        speeds.assign(run=changed.cumsum())[slow]
        .groupby("run")
        .agg(
            stationid=("stationid", "first"),
            downstream=("downstream", "first"),
            frame_start=("starttime", "first"),
            frame_end=("starttime", "last"),
        )
    )
    lasting = runs["frame_end"] - runs["frame_start"] >= pd.Timedelta(minutes=5)
    runs = runs[lasting].reset_index(drop=True)
    return runs.assign(frame_id=runs.groupby("stationid").cumcount())


def congestion(readings: DataFrame) -> mt.Frames:
    """Find congestion on the average of all lanes; missing speeds do not end a frame."""
    return mt.stream(readings, on="starttime", by=KEYS).frames(
        mt.threshold("speed < 40"), min_duration="5 minutes", missing="carry", ties="mean"
    )


def inside(
    rows: pd.DataFrame, station: object, start: pd.Timestamp, end: pd.Timestamp
) -> pd.Series:
    """Return the volumes of a station between two times, both inside."""
    there = (rows["stationid"] == station) & rows["starttime"].between(start, end)
    return rows.loc[there, "volume"]


def collected(df: DataFrame, *order: str) -> pd.DataFrame:
    frames = df.orderBy(*order).toPandas()
    return frames.astype({"frame_start": "datetime64[ns]", "frame_end": "datetime64[ns]"})


def same(got: pd.DataFrame, wanted: pd.DataFrame, order: list[str]) -> None:
    wanted = wanted.sort_values(order).reset_index(drop=True)
    pd.testing.assert_frame_equal(got[wanted.columns.tolist()], wanted, check_dtype=False)


def test_congestion_on_the_real_freeway_day_filled_with_the_volume_downstream(
    readings: DataFrame, table: pd.DataFrame, congested: pd.DataFrame
) -> None:
    results = (
        congestion(readings)
        .fill(readings, key={"downstream": "stationid"})
        .agg("sum(volume) AS volume", "count(*) AS readings", "count(volume) AS n")
    )
    filled = [
        inside(table, row.downstream, row.frame_start, row.frame_end)
        for row in congested.itertuples()
    ]
    wanted = congested.assign(
        volume=[values.sum(min_count=1) for values in filled],
        readings=[len(values) for values in filled],
        n=[values.count() for values in filled],
    )
    same(collected(results, *BOUNDS), wanted, BOUNDS)
    # Some stations have no readings downstream, and their frames are kept.
    assert len(wanted) > 30
    assert 0 < (wanted["readings"] > 0).sum() < len(wanted)


def test_congestion_on_the_real_freeway_day_beside_the_same_hours_of_other_days(
    readings: DataFrame, table: pd.DataFrame, congested: pd.DataFrame, tmp_path: Path
) -> None:
    for days, times in HISTORY.values():
        moved = F.col("starttime") - F.expr(f"INTERVAL {days} DAYS")
        rows = readings.withColumns({"starttime": moved, "volume": F.col("volume") * times})
        rows.write.parquet(str(tmp_path / f"day={days}"))
    history = readings.sparkSession.read.parquet(str(tmp_path)).drop("day")
    frames = congestion(readings)
    shifts = [*HISTORY, "-2 days"]
    plan = mt.combine(
        frames.plan("min(speed) AS slowest"),
        frames.fill(history, key={"stationid": "stationid"}, shift=shifts).plan(
            "sum(volume) AS volume", "count(*) AS readings"
        ),
    )
    usual = [
        inside(table, row.stationid, row.frame_start, row.frame_end)
        for row in congested.itertuples()
    ]
    wanted = pd.concat(
        [
            congested.assign(
                shift=shift,
                volume=[times * values.sum(min_count=1) for values in usual],
                readings=[len(values) for values in usual],
            )
            for shift, (_, times) in HISTORY.items()
        ]
        # Nothing is stored of two days ago.
        + [congested.assign(shift="-2 days", volume=float("nan"), readings=0)]
    )
    same(collected(plan.df, *BOUNDS, "shift"), wanted, [*BOUNDS, "shift"])


def test_stored_congestion_of_the_real_freeway_day_filled_later(
    readings: DataFrame, table: pd.DataFrame, congested: pd.DataFrame, tmp_path: Path
) -> None:
    """Frames that were stored are filled with the volumes of their station around them."""
    congestion(readings).df.write.parquet(str(tmp_path / "frames"))
    stored = readings.sparkSession.read.parquet(str(tmp_path / "frames"))
    around = mt.frames(stored, by="stationid").fill(
        readings, on="starttime", before="10 minutes", after="5 minutes"
    )
    more = pd.Timedelta(minutes=5)
    volumes = [
        inside(table, row.stationid, row.frame_start - 2 * more, row.frame_end + more).sum()
        for row in congested.itertuples()
    ]
    got = collected(around.agg("sum(volume) AS volume"), *BOUNDS)
    same(got, congested.assign(volume=volumes), BOUNDS)
