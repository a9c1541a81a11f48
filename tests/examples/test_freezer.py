"""examples/freezer/full.py against a slow and obvious answer in plain Python."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from examples.freezer import full as freezer
from muntin.simulate.freezer import TOO_WARM, Freezers
from muntin.testing import assert_same_rows

Row = dict[str, Any]
Rows = list[Row]
FREEZERS = Freezers(days=2, freezers=2, left_open=4, missing=0.1)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def plain(rows: pa.Table) -> Rows:
    """Rows as PySpark hands them to Python: timestamps without their zone."""
    return [
        {k: v.replace(tzinfo=None) if isinstance(v, datetime) else v for k, v in row.items()}
        for row in rows.to_pylist()
    ]


def warm(readings: Rows) -> Rows:
    """Runs of warm readings that last a minute, from the last cold reading to the next.

    A reading that is missing neither ends a run nor bounds it: nobody knows whether it was warm.
    """
    answer: Rows = []
    for name in FREEZERS.names:
        own = sorted((row for row in readings if row["freezer"] == name), key=lambda r: r["ts"])
        runs: list[Rows] = [[]]
        for row in own:
            if row["temperature"] > TOO_WARM:
                runs[-1].append(row)
            else:
                runs.append([])
        lasting = [run for run in runs if run and run[-1]["ts"] - run[0]["ts"] >= MINUTE]
        cold = [row["ts"] for row in own if row["temperature"] <= TOO_WARM]
        answer += [
            {
                "freezer": name,
                "frame_id": number,
                "frame_start": max((ts for ts in cold if ts < run[0]["ts"]), default=run[0]["ts"]),
                "frame_end": min((ts for ts in cold if ts > run[-1]["ts"]), default=run[-1]["ts"]),
                "status": "final",
                "warmest": max(row["temperature"] for row in run),
            }
            for number, run in enumerate(lasting)
        ]
    return answer


def explained(readings: Rows, doors: Rows) -> Rows:
    answer = []
    for frame in warm(readings):
        start, end = frame["frame_start"], frame["frame_end"]

        def inside(rows: Rows, start: datetime, end: datetime, name: str) -> Rows:
            own = [row for row in rows if row["freezer"] == name and start < row["ts"] < end]
            return sorted(own, key=lambda row: row["ts"])

        events = inside(doors, start, end, frame["freezer"])
        before = inside(readings, start - DAY, end - DAY, frame["freezer"])
        answer.append(
            {
                **frame,
                "opened": sum(row["door"] == "open" for row in events),
                "was_open": bool(events) and events[0]["door"] == "closed",
                "day_before": max((row["temperature"] for row in before), default=None),
            }
        )
    return answer


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Rows:
    readings, doors = map(spark.createDataFrame, (FREEZERS.readings(), FREEZERS.doors()))
    return [row.asDict() for row in freezer.explained(freezer.warm(readings), doors).df.collect()]


def test_spark_answers_as_python_does(found: Rows) -> None:
    assert_same_rows(found, explained(plain(FREEZERS.readings()), plain(FREEZERS.doors())))


def test_doors_that_were_left_open_are_found(found: Rows) -> None:
    for one in FREEZERS.happened:
        start = one.start.replace(tzinfo=None)
        during = [
            row
            for row in found
            if row["freezer"] == one.freezer
            and row["frame_start"] < start + one.minutes * MINUTE
            and row["frame_end"] > start
        ]
        assert any(row["was_open"] for row in during)


def test_defrosting_is_as_the_day_before(found: Rows) -> None:
    """Or the comparison would be idle: some with a day before, some without, open doors or not."""
    reasons = [freezer.reason(pd.Series(row)) for row in found]
    assert set(reasons) == {"the door was open", "as the day before", "not known"}
    assert any(row["opened"] for row in found)
    assert any(row["day_before"] is None for row in found)


def test_the_picture(spark: SparkSession, found: Rows, tmp_path: Path) -> None:
    frames = freezer.warm(spark.createDataFrame(FREEZERS.readings()))
    path = tmp_path / "pictures" / "freezer.png"
    freezer.draw(frames, pd.DataFrame(found), path)
    assert path.stat().st_size > 10_000


def test_the_table_has_every_period(found: Rows) -> None:
    table = freezer.periods(pd.DataFrame(found))
    assert table.row_count == len(found)
