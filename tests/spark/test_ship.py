"""Muntin reaches workers that do not have it: a local cluster, and Spark Connect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spark.programs import answer, python_without_muntin, start

PROGRAM = Path(__file__).with_name("program_cluster.py")


@pytest.mark.parametrize("kind", ["local-cluster", "connect"])
def test_batch_and_streams_run_without_installing(kind: str, tmp_path: Path) -> None:
    python = python_without_muntin(tmp_path / "venv")
    made: Any = answer(start(PROGRAM, kind, str(tmp_path), PYSPARK_PYTHON=python))
    assert made["had"] is False
    assert len(made["batch"]) > 100
    assert made["first"] == made["batch"]  # to the last bit, whatever the order of arrival
    assert made["second"] == made["first"]
    assert made["first_counts"]["rows_in"] == made["first_counts"]["rows_used"] == 600
