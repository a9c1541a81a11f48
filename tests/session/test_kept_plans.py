"""A query that was changed is refused on its old checkpoint, also while nothing new comes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.session.kept_plans import check_same


def test_a_changed_plan_is_refused_before_any_row_comes(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = mt.stream(spark.createDataFrame([], "k string, x int, v int"), on="x", by="k")
    fives, sevens = (rows.tumbling(n).plan("sum(v) AS t") for n in (5, 7))
    place, checkpoint = tmp_path / "plans" / "slow.json", tmp_path / "slow"
    check_same(place, checkpoint, "slow", [fives])
    check_same(place, checkpoint, "slow", [sevens])  # there is no checkpoint yet
    checkpoint.mkdir()
    check_same(place, checkpoint, "slow", [sevens])
    with pytest.raises(mt.MuntinError, match=r"query slow: .*RANGE 7.*RANGE 5.*--checkpoint"):
        check_same(place, checkpoint, "slow", [fives])
    with pytest.raises(mt.MuntinError, match=r"it has 1 windows or joins, and this one 2"):
        check_same(place, checkpoint, "slow", [sevens, fives])
