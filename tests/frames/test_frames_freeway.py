"""The paper's three specifications on a real day of freeway readings, against plain pandas.

[Frames, Table 1]: speed <= 30, >= 50 and >= 30, for each of 69 detectors. A reading is due
every 20 seconds; 36,491 came without a speed, and from 04:15 to 08:54 none came at all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.testing import replay
from tests.drivers.streams import play

DAY = Path(__file__).resolve().parents[3] / "shared" / "data" / "freeway" / "loopdata_1day.csv.gz"
SCHEMA = (
    "date_part BIGINT, starttime TIMESTAMP, detectorid INT, volume INT, speed DOUBLE, "
    "occupancy INT, status INT, dqflags INT"
)
SLOT = pd.Timedelta(seconds=20)
NAMES = ["detectorid", "frame_id", "frame_start", "frame_end", "n", "n_missing"]

pytestmark = pytest.mark.skipif(not DAY.exists(), reason="the shared data is not on this machine")


@pytest.fixture(scope="module")
def readings(spark: SparkSession) -> DataFrame:
    reader = spark.read.option("header", True).option("timestampFormat", "yyyy-MM-dd HH:mm:ssX")
    return reader.schema(SCHEMA).csv(str(DAY)).select("detectorid", "starttime", "speed").cache()


@pytest.fixture(scope="module")
def slots() -> pd.Series:
    """Speeds by detector and slot, NaN where none came: read without Spark or Muntin."""
    read = pd.read_csv(DAY, usecols=["date_part", "detectorid", "speed"])
    at = pd.to_datetime(read["date_part"], unit="s")
    speeds = pd.Series(read["speed"].to_numpy(), index=[read["detectorid"], at])
    every = pd.date_range(at.min(), at.max(), freq=SLOT)
    detectors = sorted(read["detectorid"].unique())
    return speeds.reindex(pd.MultiIndex.from_product([detectors, every]))


def runs(slots: pd.Series, holds: pd.Series, missing: str) -> pd.DataFrame:
    """Runs of slots for which a condition holds, within detectors.

    A missing slot ends a run. If it is carried it is as if it were not there, and if it satisfies
    it belongs to what came before it.
    """
    table = pd.DataFrame({"speed": slots, "holds": holds}).reset_index()
    table.columns = pd.Index(["detectorid", "at", "speed", "holds"])
    table["missing"] = table["speed"].isna()
    table["absent"] = table.groupby("detectorid")["missing"].cumsum()
    if missing == "satisfy":
        before = table["holds"].astype(float).mask(table["missing"])
        table["holds"] = before.groupby(table["detectorid"]).ffill() == 1.0
    seen = table[~table["missing"]] if missing == "carry" else table
    other = seen["holds"] != seen.groupby("detectorid")["holds"].shift()
    inside = seen.assign(run=other.cumsum())[seen["holds"]]
    found = inside.groupby("run").agg(
        detectorid=("detectorid", "first"),
        frame_start=("at", "first"),
        frame_end=("at", "last"),
        n=("missing", lambda missing: (~missing).sum()),
        absent_before=("absent", "first"),
        absent=("absent", "last"),
    )
    found["n_missing"] = found["absent"] - found["absent_before"]
    return found


def numbered(found: pd.DataFrame) -> pd.DataFrame:
    found = found.assign(frame_id=found.groupby("detectorid").cumcount())
    return found[NAMES].reset_index(drop=True)


def assert_same(got: pd.DataFrame, wanted: pd.DataFrame) -> None:
    assert got.columns.tolist() == [*NAMES, "status"]
    assert set(got["status"]) == {"final"}
    times = {"frame_start": "datetime64[ns]", "frame_end": "datetime64[ns]"}
    pd.testing.assert_frame_equal(got[NAMES].astype(times), wanted, check_dtype=False)


@pytest.mark.parametrize("missing", ["break", "satisfy", "carry"])
@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("speed <= 30", lambda speed: speed <= 30),
        ("speed >= 50", lambda speed: speed >= 50),
        ("speed >= 30", lambda speed: speed >= 30),
    ],
    ids=["short", "medium", "long"],
)
def test_table_1_on_the_real_freeway_day_is_what_pandas_finds(
    readings: DataFrame,
    slots: pd.Series,
    where: str,
    holds: Callable[[pd.Series], pd.Series],
    missing: str,
) -> None:
    breaks = missing == "break"
    limits: dict[str, Any] = {"min_duration": "2 minutes"} if breaks else {"min_count": 10}
    stream = mt.stream(readings, "starttime", "detectorid", schedule="20 seconds")
    framed = stream.frames(mt.threshold(where), missing=missing, **limits)
    got = framed.df.orderBy("detectorid", "frame_id").toPandas()
    wanted = runs(slots, holds(slots), missing)
    lasting = wanted["frame_end"] - wanted["frame_start"] >= pd.Timedelta(minutes=2)
    wanted = wanted[lasting if breaks else wanted["n"] + wanted["n_missing"] >= 10]
    assert_same(got, numbered(wanted))
    # Others bridge missing readings, some even the hours without any.
    assert (got["n_missing"].max() > 838) == (not breaks)


def test_table_1_on_a_stream_of_an_hour(
    spark: SparkSession, readings: DataFrame, slots: pd.Series
) -> None:
    """Run four micro-batches; the last minute of each is mixed with the next."""
    low, high = pd.Timestamp("2011-09-15 22:00:00"), pd.Timestamp("2011-09-15 22:59:40")
    some = [*slots.index.levels[0][:6]]
    at = F.col("starttime")
    part = readings.where(at.between(str(low), str(high)) & F.col("detectorid").isin(some))
    rows = sorted((row.asDict() for row in part.collect()), key=lambda row: row["starttime"])
    quarter = len(rows) // 4
    for edge in (quarter, 2 * quarter, 3 * quarter):
        near = rows[edge - 9 : edge + 9]
        rows[edge - 9 : edge + 9] = near[::-1]
    batches = [rows[:quarter], rows[quarter : 2 * quarter], rows[2 * quarter : 3 * quarter]]
    schema = "detectorid INT, starttime TIMESTAMP, speed DOUBLE"
    played = replay(spark, [*batches, rows[3 * quarter :]], schema)
    try:
        stream = played.stream(
            "starttime", "detectorid", mt.slack("2 minutes"), schedule="20 seconds"
        )
        ran = play(stream.frames(mt.threshold("speed >= 50"), missing="satisfy").plan())
    finally:
        played.remove()
    assert ran.refused == []
    got = pd.DataFrame([row.asDict() for row in ran.results])
    got = got.sort_values(["detectorid", "frame_id"], ignore_index=True)
    there = slots.loc[(some, slice(low, high))]
    assert_same(got, numbered(runs(there, there >= 50, "satisfy")))
    assert len(got) > 30
    assert got["n_missing"].max() > 0
