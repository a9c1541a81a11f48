"""Where something stands in the user's text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """A line and a column, both from 1, and the offset of the same character from 0."""

    line: int
    column: int
    offset: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


def place_at(text: str, offset: int) -> Position:
    r"""The place of a character; one behind the end is the end of the text.

    >>> print(place_at("SELECT\n  speed", 9))
    line 2, column 3
    """
    offset = max(0, min(offset, len(text)))
    before = text[:offset]
    return Position(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, offset)
