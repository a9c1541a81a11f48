"""V shapes in a real series of the Numenta Anomaly Benchmark, against `re`."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.testing import replay
from tests.drivers.streams import play

SERIES = (
    Path(__file__).resolve().parents[4]
    / "shared"
    / "data"
    / "nab"
    / "machine_temperature_system_failure.csv"
)
V_SHAPE = mt.pattern(
    "fall{3,} rise{3,}", fall="degrees < prev.degrees - 1", rise="degrees > prev.degrees"
)

pytestmark = pytest.mark.skipif(
    not SERIES.exists(), reason="the shared data is not on this machine"
)


@pytest.fixture(scope="module")
def hours() -> pd.DataFrame:
    """The mean temperature of each hour that has readings."""
    read = pd.read_csv(SERIES, parse_dates=["timestamp"])
    means = read.groupby(read["timestamp"].dt.floor("h"))["value"].mean()
    return pd.DataFrame({"hour": range(len(means)), "degrees": means.to_numpy()})


def expected(hours: pd.DataFrame) -> list[tuple[int, int]]:
    """First and last hours of V shapes: hours as letters, found by a regular expression.

    Greedy is longest here, because no hour both falls and rises.
    """
    change = hours["degrees"].diff()
    letters = "".join("f" if step < -1 else "r" if step > 0 else "." for step in change.to_list())
    return [(found.start(), found.end() - 1) for found in re.finditer("f{3,}r{3,}", letters)]


def test_v_shapes_of_a_machine(spark: SparkSession, hours: pd.DataFrame) -> None:
    table = spark.createDataFrame(hours, "hour INT, degrees DOUBLE")
    frames = mt.stream(table, on="hour").frames(V_SHAPE).df.collect()
    v_shapes = sorted((frame["frame_start"], frame["frame_end"]) for frame in frames)
    assert v_shapes == expected(hours)
    assert len(v_shapes) >= 20


def test_v_shapes_of_a_machine_on_a_stream(spark: SparkSession, hours: pd.DataFrame) -> None:
    rows = hours.to_dict("records")
    third = len(rows) // 3
    batches = [rows[:third], rows[third : 2 * third], rows[2 * third :]]
    series = replay(spark, batches, "hour INT, degrees DOUBLE")
    stream = mt.stream(series.df, on="hour", disorder=mt.slack(0), control=series.control)
    frames = play(stream.frames(V_SHAPE).plan()).results
    v_shapes = sorted((frame["frame_start"], frame["frame_end"]) for frame in frames)
    assert v_shapes == expected(hours)
