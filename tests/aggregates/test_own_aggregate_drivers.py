"""A class that a program defines reaches workers that have neither the class nor Muntin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from muntin.aggregates.accumulators import Count, OwnAccumulator
from muntin.aggregates.own_aggregate import OwnAggregate, checked
from muntin.aggregates.sketches import ApproxCountDistinct
from muntin.spark.columns import to_spark
from muntin.spark.explain.state_profile import KeptPart
from tests.aggregates.examples import Gathered, Squares
from tests.drivers.programs import PATIENCE, answer, python_without_muntin, start

PROGRAM = Path(__file__).with_name("program_own.py")


@pytest.mark.slow  # it starts a cluster of its own; test_ship starts one in every run
@pytest.mark.timeout(PATIENCE + 60)
def test_own_aggregate_of_a_program_on_a_cluster(tmp_path: Path) -> None:
    python = python_without_muntin(tmp_path / "venv")
    made: Any = answer(start(PROGRAM, str(tmp_path), PYSPARK_PYTHON=python))
    assert made["had"] is False
    check(made)


def check(made: Any) -> None:
    assert len(made["expected"]) > 60
    for driver in ("batch", "stream"):
        assert len(made[driver]) == len(made["expected"])
        for found, wanted in zip(made[driver], made["expected"], strict=True):
            key, means, sketches = found[:3], found[3:5], found[5:]
            assert (key, sketches) == (wanted[:3], wanted[5:])
            for mean, exact in zip(means, wanted[3:5], strict=True):
                assert mean == (None if exact is None else pytest.approx(exact, rel=1e-12))
    assert "GeometricMean(v, fail=True): partial failed: ZeroDivisionError" in made["failure"]


def test_explain_says_what_own_aggregates_keep() -> None:
    def kept(*own: OwnAggregate) -> str:
        typed = [checked(one, one.name, [pa.int64()]) for one in own]
        return KeptPart(
            [Count(()), *(OwnAccumulator((0,), None, one) for one in typed)], "pane"
        ).more

    assert kept() == kept(Squares()) == ""
    assert kept(ApproxCountDistinct(0.02)) == (
        "; and a state of its own size for approx_count_distinct"
    )
    assert kept(Squares(), Gathered()) == "; but the more rows, the larger for Gathered"


def test_results_may_be_arrays_of_structs() -> None:
    rows = pa.list_(pa.struct([("item", pa.string()), ("count", pa.int64())]))
    assert to_spark(rows).simpleString() == "array<struct<item:string,count:bigint>>"
