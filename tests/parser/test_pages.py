"""The pages about SQL: what they show can be read, and the arguments of functions are all told."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import muntin as mt
from muntin.parser.joins import ALIGNING_FUNCTIONS, arguments_of
from muntin.parser.parse import parse
from muntin.parser.table_functions import WINDOW_FUNCTIONS
from muntin.parser.table_functions import arguments_of as arguments_of_windows

#: Functions that are not called as the method is.
METHODS = {"sliding": "window"}
DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    pytest.param(block, id=f"{path.stem}:{number}")
    for folder in ("sql", "cli")
    for path in sorted((DOCS / folder).glob("*.md"))
    for number, block in enumerate(re.findall(r"```sql\n(.*?)```", path.read_text(), re.S))
    # Others are rules of the grammar, parts of queries, or files that have tests of their own.
    if block.startswith(("SELECT", "CREATE", "WITH")) and "..." not in block
]


@pytest.mark.parametrize("block", BLOCKS)
def test_what_a_page_shows_can_be_read(block: str) -> None:
    assert parse(block)


def test_there_are_blocks() -> None:
    assert len(BLOCKS) > 10


@pytest.mark.parametrize("name", ALIGNING_FUNCTIONS)
def test_a_function_takes_what_the_method_takes(name: str) -> None:
    """A schema is what a function of Python's returns, which SQL does not have."""
    python = {*inspect.signature(getattr(mt.Stream, name)).parameters}
    assert {*arguments_of(name)} == python - {"self", "other", "table", "schema"}
    (row,) = re.findall(rf"^\| `{name}\(.*\|$", (DOCS / "sql" / "joins.md").read_text(), re.M)
    assert {*re.findall(r"`(\w+)`", row)} == {*arguments_of(name)}


@pytest.mark.parametrize("name", WINDOW_FUNCTIONS)
def test_a_function_of_windows_takes_what_the_method_takes(name: str) -> None:
    """GROUP BY is ``group``; a schedule is said of the stream in Python and of frames in SQL."""
    method = mt.Frames.fill if name == "fill" else getattr(mt.Stream, METHODS.get(name, name))
    python = {*inspect.signature(method).parameters} - {"self", "other", "group"}
    assert {*arguments_of_windows(name)} - {"schedule"} == python
    (row,) = re.findall(rf"^\| `{name}\(.*\|$", (DOCS / "sql" / "functions.md").read_text(), re.M)
    told = {*re.findall(r"`(\w+)`", row.split("|")[2])}
    shared = set() if name == "fill" else {"prefix"}
    if name != "frames":  # which has a page for them
        assert told | shared == {*arguments_of_windows(name)}
