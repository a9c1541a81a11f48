"""The examples of pages, run from the first to the last: they print what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.docs.scripts import ROOT

DOCS = ROOT / "docs"
PAGES = [
    DOCS / "concepts" / "asking.md",
    DOCS / "concepts" / "engine-cost.md",
    DOCS / "concepts" / "early.md",
    DOCS / "concepts" / "engine.md",
    DOCS / "concepts" / "exactness.md",
    DOCS / "concepts" / "filling.md",
    DOCS / "concepts" / "frames.md",
    DOCS / "concepts" / "row-windows.md",
    DOCS / "concepts" / "synopses.md",
    DOCS / "concepts" / "windows.md",
    DOCS / "how-to" / "early.md",
    DOCS / "how-to" / "engine.md",
    DOCS / "how-to" / "files.md",
    DOCS / "how-to" / "from-spark.md",
    DOCS / "how-to" / "from-tempo.md",
    DOCS / "how-to" / "own-framing.md",
    DOCS / "how-to" / "testing.md",
    *sorted((DOCS / "concepts" / "frames").glob("*.md")),
    *(page for page in sorted((DOCS / "sql").glob("*.md")) if "```python" in page.read_text()),
]


def examples(page: Path) -> Iterator[tuple[str, str | None]]:
    """Each block of Python, and the text after it if there is one."""
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", page.read_text(), re.S | re.M)
    for place, (kind, code) in enumerate(blocks):
        if kind == "python":
            after = blocks[place + 1] if place + 1 < len(blocks) else ("", "")
            yield code, after[1] if after[0] == "text" else None


def visible(text: str) -> list[str]:
    """The lines that can be seen: without spaces at their ends, and without empty lines."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_shows_what_its_examples_print(
    page: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"spark": spark, "__name__": "__main__"}
    for code, expected in examples(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        if expected is not None:
            assert visible(printed.getvalue()) == visible(expected), code
