"""The paper's three specifications on a real day of freeway readings, against plain pandas.

``frames.txt``, Table 1: speed <= 30, >= 50 and >= 30, for each of 69 detectors. A reading is due
every 20 seconds; 36,491 came without a speed, and from 04:15 to 08:54 none came at all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt

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


def runs(slots: pd.Series, holds: pd.Series, *, carried: bool) -> pd.DataFrame:
    """Runs of slots for which a condition holds, within detectors.

    A missing slot ends a run, unless it is ``carried``: then it is as if it were not there.
    """
    table = pd.DataFrame({"speed": slots, "holds": holds}).reset_index()
    table.columns = pd.Index(["detectorid", "at", "speed", "holds"])
    table["missing"] = table["speed"].isna()
    table["absent"] = table.groupby("detectorid")["missing"].cumsum()
    seen = table[~table["missing"]] if carried else table
    other = seen["holds"] != seen.groupby("detectorid")["holds"].shift()
    inside = seen.assign(run=other.cumsum())[seen["holds"]]
    found = inside.groupby("run").agg(
        detectorid=("detectorid", "first"),
        frame_start=("at", "first"),
        frame_end=("at", "last"),
        n=("at", "size"),
        absent_before=("absent", "first"),
        absent=("absent", "last"),
    )
    found["n_missing"] = found["absent"] - found["absent_before"]
    return found


@pytest.mark.parametrize("missing", ["break", "carry"])
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
    carried = missing == "carry"
    limits: dict[str, Any] = {"min_count": 10} if carried else {"min_duration": "2 minutes"}
    stream = mt.stream(readings, "starttime", "detectorid", schedule="20 seconds")
    framed = stream.frames(mt.threshold(where), missing=missing, **limits)
    got = framed.df.orderBy("detectorid", "frame_id").toPandas()
    wanted = runs(slots, holds(slots), carried=carried)
    lasting = wanted["frame_end"] - wanted["frame_start"] >= pd.Timedelta(minutes=2)
    wanted = wanted[wanted["n"] + wanted["n_missing"] >= 10 if carried else lasting]
    wanted = wanted.assign(frame_id=wanted.groupby("detectorid").cumcount())
    assert got.columns.tolist() == [*NAMES, "status"]
    assert set(got["status"]) == {"final"}
    pd.testing.assert_frame_equal(
        got[NAMES].astype({"frame_start": "datetime64[ns]", "frame_end": "datetime64[ns]"}),
        wanted[NAMES].reset_index(drop=True),
        check_dtype=False,
    )
    # Frames that are carried bridge missing readings, some the hours in which none came.
    assert (got["n_missing"].max() > 838) == carried
