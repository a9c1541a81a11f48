"""The pages about SQL: their examples can be read, and they list all arguments of functions."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import muntin as mt
from muntin.parser.parse import parse
from muntin.parser.table_functions import JOIN_FUNCTIONS, WINDOW_FUNCTIONS, function_arguments

#: Functions whose method has another name.
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


def arguments_of(name: str) -> set[str]:
    """Return the names of a function's arguments; that of the other stream is a relation."""
    names = {argument.name for argument in function_arguments(name)}
    return names | {"at"} if name == "resample" else names


@pytest.mark.parametrize("name", JOIN_FUNCTIONS)
def test_a_function_takes_what_the_method_takes(name: str) -> None:
    """SQL has no ``schema``, which describes what a Python function returns."""
    python = {*inspect.signature(getattr(mt.Stream, name)).parameters}
    assert arguments_of(name) == python - {"self", "other", "table", "schema"}
    (row,) = re.findall(rf"^\| `{name}\(.*\|$", (DOCS / "sql" / "joins.md").read_text(), re.M)
    assert {*re.findall(r"`(\w+)`", row)} == arguments_of(name)


@pytest.mark.parametrize("name", WINDOW_FUNCTIONS)
def test_a_function_of_windows_takes_what_the_method_takes(name: str) -> None:
    """GROUP BY gives ``group``; Python gives a schedule to the stream, SQL to frames."""
    others = {"fill": mt.Frames.fill, "stored_frames": mt.frames}
    method = others.get(name) or getattr(mt.Stream, METHODS.get(name, name))
    python = {*inspect.signature(method).parameters} - {"self", "other", "group"}
    if name == "stored_frames":  # it describes its relation itself
        python -= {*inspect.signature(mt.stream).parameters}
    assert arguments_of(name) - {"schedule"} == python
    (row,) = re.findall(rf"^\| `{name}\(.*\|$", (DOCS / "sql" / "functions.md").read_text(), re.M)
    listed = {*re.findall(r"`(\w+)`", row.split("|")[2])}
    shared = set() if name == "fill" else {"prefix"}
    if name != "frames":  # a page of their own lists them
        assert listed | shared == arguments_of(name)
