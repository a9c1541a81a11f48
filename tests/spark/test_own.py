"""A class defined in a program reaches workers that have neither it nor Muntin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spark.programs import answer, python_without_muntin, start

PROGRAM = Path(__file__).with_name("program_own.py")


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
            assert means == pytest.approx(wanted[3:5], rel=1e-12)
    assert "GeometricMean(v, fail=True): partial failed: ZeroDivisionError" in made["failure"]
