"""Workers name the columns of a batch as Spark would, which would copy every row to do so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.spark.exchange import batch_driver
from muntin.spark.plan.plan import PlanParts
from muntin.testing import assert_same_rows

ROWS = [(0, "a", 1.0), (1, "a", 9.0), (2, "b", 8.0), (3, "a", None), (4, "b", 7.0), (6, "a", 6.0)]


@pytest.fixture(scope="module")
def stream(spark: SparkSession) -> mt.Stream:
    return mt.stream(spark.createDataFrame(ROWS, "n BIGINT, key STRING, v DOUBLE"), "n", by="key")


#: Results whose columns are the operator's under other names, and results that Spark computes.
RENAMED: dict[str, Callable[[mt.Stream], mt.Plan]] = {
    "windows": lambda s: s.window(4, 2).plan("max(v) AS hi", "count(*) AS n"),
    "rows": lambda s: s.rows(2).plan("sum(v) AS total"),
    "frames": lambda s: s.frames(mt.threshold("v > 5")).plan(),
    "frames and aggregates": lambda s: s.frames(mt.delta("v", 3), prefix="f_").plan("avg(v) AS v"),
    "filled": lambda s: s.frames(mt.threshold("v > 5")).fill(s).plan("max(v)"),
    "as-of": lambda s: s.asof(s, exact=False).plan(),
    "resampled": lambda s: s.resample(2).plan(),
}
COMPUTED: dict[str, Callable[[mt.Stream], mt.Plan]] = {
    "an expression": lambda s: s.window(4, 2).plan("max(v) - min(v) AS spread"),
    "shifts": lambda s: s.frames(mt.threshold("v > 5")).fill(s, shift=[0, 1]).plan("max(v)"),
}


def renamed_by_spark(parts: PlanParts) -> DataFrame:
    """Return the results of a plan, renamed by Spark."""
    operator = parts.batch_operator
    messages = parts._messages(parts._routes(operator, in_batch=True), originals=False)
    return parts.finisher.apply(batch_driver.run(messages, operator, parts.flat_schema))


@pytest.mark.parametrize("name", RENAMED)
def test_results_are_those_that_spark_would_rename(stream: mt.Stream, name: str) -> None:
    plan = RENAMED[name](stream)
    assert plan.parts.finisher.renamed is not None
    ours, theirs = plan.df, renamed_by_spark(plan.parts)
    assert ours.schema == theirs.schema
    found = ours.collect()
    assert found
    assert_same_rows(found, theirs.collect())


@pytest.mark.parametrize("name", COMPUTED)
def test_what_spark_computes_is_left_to_it(stream: mt.Stream, name: str) -> None:
    plan = COMPUTED[name](stream)
    assert plan.parts.finisher.renamed is None
    assert plan.df.count() > 0
