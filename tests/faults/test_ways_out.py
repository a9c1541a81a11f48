"""Every error that stops a stream for good has a way out in its message, and it works.

``docs/how-to/restart.md`` has the table. A stream is stopped by a row of its second
micro-batch and started again as the message says; it goes on from there, and nothing is lost or
doubled. Rows far ahead are in ``tests/disorder/test_ahead.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import muntin as mt
from muntin.errors import CheckpointError
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.testing import Played, Replay, assert_same_rows, replay

SCHEMA = "k STRING, x BIGINT, v BIGINT"
Rows = list[dict[str, Any]]


def rows(*pairs: tuple[int, int]) -> Rows:
    return [{"k": "a", "x": x, "v": v} for x, v in pairs]


def stopped(
    spark: SparkSession,
    folder: Path,
    batches: Sequence[Rows],
    plan: Callable[[mt.Stream], mt.Plan],
    says: str,
) -> Replay:
    """Return a replay whose query was stopped by its second micro-batch, at every restart."""
    played = replay(spark, batches[:1], SCHEMA, end=False, tasks=2, folder=folder)
    played.play(plan(played.stream("x", "k", mt.slack(5), shards=2)))
    played.extend(batches[1:])
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match=says):
            played.play(plan(played.stream("x", "k", mt.slack(5), shards=2)))
    return played


def clean(
    spark: SparkSession, folder: Path, batches: Sequence[Rows], plan: Callable[[mt.Stream], mt.Plan]
) -> Played:
    """Return what a query gives that was never stopped."""
    played = replay(spark, batches, SCHEMA, tasks=2, folder=folder)
    return played.play(plan(played.stream("x", "k", mt.slack(5), shards=2)))


def test_rows_that_tie_are_refused_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    # The first row at 9 was committed and waits in the state; the second comes with batch 1.
    batches = [rows((1, 1), (4, 9), (9, 1)), rows((9, 2), (12, 1), (30, 1)), rows((31, 7))]

    def plan(ties: str) -> Callable[[mt.Stream], mt.Plan]:
        return lambda s: s.frames(mt.threshold("v < 5"), ties=ties).plan()

    says = r"key 'a' has more than one row at 9.*ties='refuse', with which a stopped stream goes on"
    played = stopped(spark, tmp_path / "stopped", batches, plan("fail"), says)
    output = played.play(plan("refuse")(played.stream("x", "k", mt.slack(5), shards=2)))
    wanted = clean(spark, tmp_path / "clean", batches, plan("refuse"))
    assert_same_rows(output.results, wanted.results)
    assert_same_rows(output.refused, wanted.refused)
    assert sorted((r.x, r.v, r.reason) for r in output.refused) == [(9, 1, "tie"), (9, 2, "tie")]


def test_a_sum_that_overflows_is_null_without_ansi(spark: SparkSession, tmp_path: Path) -> None:
    batches = [rows((1, 2**62), (2, 1)), rows((3, 2**62), (30, 1)), rows((31, 7))]

    def plan(stream: mt.Stream) -> mt.Plan:
        return stream.tumbling(10).plan("sum(v) AS s")

    says = r"sum\(v\) left the range of bigint.*spark.sql.ansi.enabled to false"
    played = stopped(spark, tmp_path, batches, plan, says)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        output = played.play(plan(played.stream("x", "k", mt.slack(5), shards=2)))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    wrapped = 2**63 + 1 - 2**64
    assert {(r.window_start, r.s) for r in output.results} == {(0, wrapped), (30, 8)}


def test_a_row_that_an_expression_cannot_take_is_filtered_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = [rows((1, 2), (2, 1)), rows((3, 13), (4, 3), (30, 1)), rows((31, 7))]

    def plan(stream: mt.Stream) -> mt.Plan:
        return stream.tumbling(10).plan("sum(100 / (v - 13)) AS s")

    says = "DIVIDE_BY_ZERO|Division by zero"
    played = stopped(spark, tmp_path / "stopped", batches, plan, says)
    stream = played.stream("x", "k", mt.slack(5), shards=2)
    output = played.play(plan(replace(stream, df=stream.df.where("v <> 13"))))
    without = [[row for row in batch if row["v"] != 13] for batch in batches]
    assert_same_rows(output.results, clean(spark, tmp_path / "clean", without, plan).results)


def test_ties_are_not_part_of_what_a_checkpoint_belongs_to() -> None:
    def of(ties: str) -> Fingerprint:
        words = f" ties={ties}" if ties != "fail" else ""
        window = f"FRAME threshold(v < 5) WATTR x{words} missing=carry (integer)"
        return Fingerprint({"window": window}, {"framing.ties": ties, "columns": "bigint"})

    of("refuse").check(of("fail").stored)
    of("last").check(of("first").stored)
    other = replace(of("mean"), arguments={"framing.ties": "mean", "columns": "double"})
    with pytest.raises(CheckpointError, match="argument columns bigint there, double here"):
        other.check(of("fail").stored)
