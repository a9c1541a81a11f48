"""Aggregates and framing functions of the user's own, by name in SQL."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from tests.aggregates.examples import GeometricMean
from tests.session.tables import LINE


def fallen() -> mt.FramingFunction:
    class Fallen(mt.FramingFunction):
        """From a row until the value has fallen by two from its top."""

        columns = ("v",)

        def open(self, row: Any, state: Any) -> bool:
            state["top"] = row["v"]
            return True

        def update(self, row: Any, state: Any) -> bool:
            state["top"] = max(state["top"], row["v"])
            return True

        def close(self, row: Any, state: Any) -> bool:
            return bool(row["v"] <= state["top"] - 2)

    return Fallen()


@pytest.fixture(scope="module")
def line(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(LINE, "k STRING, x INT, v INT")


def test_own_aggregates_are_called_by_name(line: DataFrame) -> None:
    text = "SELECT k, geometric_mean(v) AS g FROM line [TUMBLING 10 WATTR x] GROUP BY k ORDER BY k"
    found = mt.sql(text, line=line, functions={"geometric_mean": GeometricMean()}).collect()
    assert [(row["k"], round(row["g"], 6)) for row in found] == [("a", 4.0536), ("b", 3.825862)]


def test_own_framing_is_called_by_name(line: DataFrame) -> None:
    text = "SELECT k, frame_start, frame_end, n FROM line [FRAME FUNCTION fallen WATTR x PATTR k]"
    found = mt.sql(text, line=line, functions={"fallen": fallen()})
    expected = mt.stream(line, on="x", by="k").frames(fallen()).df
    assert sorted(map(tuple, found.collect())) == sorted(
        map(tuple, expected.select(*found.columns).collect())
    )
    assert found.count() == 4


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({}, "there is no framing function fallen\\n(.|\\n)*functions={'name': MyFraming"),
        ({"falling": fallen()}, "did you mean falling"),
        ({"fallen": 1}, "fallen must be an mt.OwnAggregate or an mt.FramingFunction"),
        (7, "a table needs another name"),
    ],
)
def test_functions_that_are_not_there(line: DataFrame, functions: Any, message: str) -> None:
    text = "SELECT k FROM line [FRAME FUNCTION fallen WATTR x]"
    with pytest.raises(mt.MuntinError, match=message):
        mt.sql(text, line=line, functions=functions)
