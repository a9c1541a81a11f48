"""Every example begins with a script of about twenty lines, which runs as it is."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("freeway", "freezer", "nexmark", "router", "traffic_desk")


def test_every_example_has_a_short_and_a_full_version() -> None:
    folders = {path.parent.name for path in EXAMPLES.glob("*/*.py")}
    assert folders == {*NAMES}
    for name in NAMES:
        assert {path.name for path in (EXAMPLES / name).glob("*.py")} == {"full.py", "quick.py"}
        assert len((EXAMPLES / name / "quick.py").read_text().splitlines()) <= 25


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("freeway", "window_end"),
        ("freezer", "warmest"),
        ("nexmark", "average"),
        ("router", "updates"),
        ("traffic_desk", "slowest"),
    ],
)
def test_a_short_version_shows_results(
    name: str, column: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(EXAMPLES / name / "quick.py"))
    shown = capsys.readouterr().out.splitlines()
    assert column in shown[1]
    assert len(shown) > 6
