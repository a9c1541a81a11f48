"""examples/router/full.py against a slow, obvious answer in plain Python, batch and streaming."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from examples.router import full as router
from muntin.simulate.router import HIGH_LOSS, KINDS, Network

Row = dict[str, Any]
Rows = list[Row]
NETWORK = Network(hours=1.5, routers=3, troubles=4, explained=0.5, missing=0.05)


def plain(rows: pa.Table) -> Rows:
    """Rows as PySpark hands them to Python: timestamps without their zone."""
    return [
        {k: v.replace(tzinfo=None) if hasattr(v, "tzinfo") else v for k, v in row.items()}
        for row in rows.to_pylist()
    ]


def high_loss(losses: Rows) -> Rows:
    """Runs of reports with high loss that last five minutes; what is missing is not there."""
    answer: Rows = []
    for name in NETWORK.names:
        own = sorted((row for row in losses if row["router"] == name), key=lambda row: row["ts"])
        runs: list[Rows] = [[]]
        for row in own:
            if row["loss_rate"] > HIGH_LOSS:
                runs[-1].append(row)
            else:
                runs.append([])
        lasting = [run for run in runs if run and run[-1]["ts"] - run[0]["ts"] >= minutes(5)]
        answer += [
            {
                "router": name,
                "frame_id": number,
                "frame_start": run[0]["ts"],
                "frame_end": run[-1]["ts"],
                "status": "final",
                "loss": pytest.approx(sum(row["loss_rate"] for row in run) / len(run)),
            }
            for number, run in enumerate(lasting)
        ]
    return answer


def explained(losses: Rows, messages: Rows) -> Rows:
    answer = []
    for frame in high_loss(losses):
        first, last = frame["frame_start"] - timedelta(seconds=30), frame["frame_end"]
        inside = [
            row
            for row in messages
            if row["router_id"] == frame["router"] and first <= row["at"] <= last
        ]
        counts = {kind: sum(row["kind"] == kind for row in inside) for kind in KINDS}
        answer.append({**frame, **counts, "first_message": min(row["at"] for row in inside)})
    return answer


def minutes(n: float) -> timedelta:
    return timedelta(minutes=n)


@pytest.fixture(scope="module")
def expected() -> Rows:
    return explained(plain(NETWORK.losses()), plain(NETWORK.messages()))


@pytest.fixture(scope="module")
def answered(spark: SparkSession) -> pd.DataFrame:
    """What a batch finds."""
    return router.in_batch(spark, NETWORK)[1].toPandas()


def sorted_rows(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: (row["router"], row["frame_start"]))


def collected(df: DataFrame) -> Rows:
    return sorted_rows([row.asDict() for row in df.collect()])


def test_a_batch_answers_as_python_does(answered: pd.DataFrame, expected: Rows) -> None:
    assert sorted_rows(answered.to_dict("records")) == sorted_rows(expected)


def test_a_stream_answers_as_a_batch_does(
    spark: SparkSession, tmp_path: Path, expected: Rows
) -> None:
    assert collected(router.streamed(spark, NETWORK, tmp_path)) == sorted_rows(expected)


def test_every_trouble_is_found_and_its_reason_told(answered: pd.DataFrame, expected: Rows) -> None:
    found = answered.sort_values("frame_start")
    reasons_found = [(row.router, router.reason(row)) for _, row in found.iterrows()]
    reasons = {True: "updates", False: "other"}
    troubles = [(trouble.router, reasons[trouble.burst]) for trouble in NETWORK.happened]
    assert reasons_found == troubles
    # Or nothing would depend on the 30 seconds before.
    assert any(row["first_message"] < row["frame_start"] for row in expected)


def test_the_picture(spark: SparkSession, answered: pd.DataFrame, tmp_path: Path) -> None:
    frames, _ = router.in_batch(spark, NETWORK)
    path = tmp_path / "pictures" / "router.svg"
    messages = spark.createDataFrame(NETWORK.messages())
    router.draw(frames, answered, messages, NETWORK.names[:2], path)
    assert path.stat().st_size > 10_000
    drawn = path.read_text()
    assert "Loss of r2" in drawn
    assert all(kind in drawn for kind in ("update", "withdraw"))


def test_the_table_has_every_period(answered: pd.DataFrame) -> None:
    table = router.periods(answered)
    assert table.row_count == len(answered) == 4
    assert [column.header for column in table.columns][4:7] == [*KINDS]
