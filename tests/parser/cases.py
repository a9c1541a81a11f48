"""Pairs of a text and what is read of it, from the files beside this one.

A case is some lines of SQL, then lines that begin with ``-- =>``: the statements as they were read,
or the error. Other comments are for the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from muntin.parser.errors import SqlError
from muntin.parser.parse import parse

FOLDER = Path(__file__).with_name("fixtures")
MARK = "-- =>"


@dataclass(frozen=True)
class Case:
    """A text and what is expected of it."""

    name: str
    text: str
    expected: str


def cases() -> Iterator[Case]:
    for path in sorted(FOLDER.glob("*.sql")):
        yield from cases_of(path)


def cases_of(path: Path) -> Iterator[Case]:
    text: list[str] = []
    expected: list[str] = []
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        if line.startswith(MARK):
            expected.append(line.removeprefix(MARK)[1:])
            continue
        if expected:
            yield Case(f"{path.stem}:{number}", "\n".join(text), "\n".join(expected))
            text, expected = [], []
        if text or (line.strip() and not line.startswith("--")):
            text.append(line)


def read(text: str) -> str:
    """The statements of a text as they were read, or the error."""
    try:
        return "\n".join(str(statement) for statement in parse(text))
    except SqlError as error:
        return str(error)
