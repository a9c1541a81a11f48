"""reference = batch = stream on real Spark; tests/properties has many more cases."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.reference.windows import END, MicroBatch
from muntin.testing import Played, assert_same_rows, replay
from tests.drivers.cases import COLUMNS, ddl, naive, plan, reference
from tests.drivers.many_cases import Streamed, check_each, check_streams
from tests.properties.arriving import Arrivals
from tests.properties.harness import Case, cases

START = datetime(2026, 1, 1)


def is_short(case: Arrivals) -> bool:
    """True for cases with few micro-batches, because each takes a second on Spark."""
    return len(case.batches) <= 3


def rows_of(case: Case) -> list[dict[str, Any]]:
    return [row for batch in case.batches for row in batch]


@pytest.mark.hypothesis
def test_batch_equals_the_reference(spark: SparkSession) -> None:
    check_each(partial(check_batch, spark), cases())


def check_batch(spark: SparkSession, case: Case) -> None:
    rows = naive(rows_of(case))
    df = spark.createDataFrame([tuple(row[name] for name in COLUMNS) for row in rows], ddl(case))
    disorder = case.disorder if case.rule in ("marks", "key marks") else None
    windows = plan(case, mt.stream(df, on="on", by="k", disorder=disorder))
    whole = rows_of(case) if disorder is None else case.data()
    wanted = reference(case, [MicroBatch(whole, END)])
    assert_same_rows(windows.df.collect(), naive(wanted.results))
    refused = [(row["k"], row["reason"]) for row in windows.refused.collect()]
    assert sorted(refused, key=str) == sorted(((r["k"], why) for r, why in wanted.refused), key=str)


@pytest.mark.hypothesis
def test_stream_equals_the_reference(spark: SparkSession) -> None:
    check_streams(partial(streamed, spark), check_stream, cases().filter(is_short))


def streamed(spark: SparkSession, case: Case) -> Streamed:
    clock = [None if now is None else START + timedelta(seconds=now) for now in case.clocks]
    played = replay(
        spark, case.batches, ddl(case), tasks=2, clock=clock, punctuation=case.told_by_batch
    )
    windows = plan(case, played.stream("on", "k", case.disorder, shards=3))
    return Streamed(windows, [played])


def check_stream(case: Case, made: Played) -> None:
    wanted = reference(case)
    assert_same_rows(made.results, naive(wanted.results))
    refused = [(row["k"], row["reason"]) for row in made.refused]
    assert sorted(refused, key=str) == sorted(((r["k"], why) for r, why in wanted.refused), key=str)
    assert made.counts["rows_in"] == sum(map(len, case.batches))
    assert made.counts["rows_in"] == made.counts["rows_used"] + made.counts["rows_refused"]
    assert made.counts["rows_used"] == wanted.used
    marks = sum(batch.punctuations for batch in case.punctuated())
    assert made.counts["punctuations"] == marks
