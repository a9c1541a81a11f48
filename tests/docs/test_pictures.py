"""Every picture of the documentation is what a script, an example or a benchmark draws."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from tests.docs.scripts import ROOT, load_script

IMAGES = ROOT / "docs" / "img"
#: Scripts that draw without Spark.
DRAWN = [
    "draw_aggregates",
    "draw_architecture",
    "draw_budgets",
    "draw_early",
    "draw_engine",
    "draw_frames",
    "draw_joins",
    "draw_overload",
    "draw_server",
    "draw_sql",
    "draw_windows",
]


@pytest.mark.parametrize("script", DRAWN)
def test_every_picture_is_as_it_is_drawn(script: str) -> None:
    for name, text in load_script(script).pictures().items():
        assert (IMAGES / f"{name}.svg").read_text() == text, f"run scripts/{script}.py for {name}"


def test_the_graph_of_explain_is_as_it_is_drawn(spark: SparkSession) -> None:
    script = load_script("draw_plots")
    assert (IMAGES / script.GRAPH).read_text() == script.explained(spark)


def test_every_picture_is_drawn_by_something() -> None:
    drawn = {f"{name}.svg" for script in DRAWN for name in load_script(script).pictures()}
    known = drawn | load_script("draw_plots").PICTURES
    known |= {f"page-{place}.png" for place in load_script("draw_page").PLACES}
    others = {path.name for path in IMAGES.iterdir()} - known
    # The benchmarks draw theirs: python -m benchmarks.
    assert {name for name in others if not re.fullmatch(r"bench-[\w-]+\.png", name)} == set()


def test_every_picture_is_shown() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text() for page in pages)
    assert [path.name for path in IMAGES.iterdir() if path.name not in text] == []


def test_there_are_no_other_scripts() -> None:
    scripts = {path.stem for path in (ROOT / "scripts").glob("draw_*.py")}
    assert scripts == {*DRAWN, "draw_plots", "draw_page"}
