"""Errors of the language: the problem, its place in the user's text, and what would work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from muntin.errors import ArgumentError, MuntinError, did_you_mean
from muntin.parser.hidden_secrets import without_secrets, without_these

#: The longest part of a line that a message shows.
_WIDTH = 100


@dataclass(frozen=True)
class Position:
    """A line and a column, both from 1, and the offset of the same character from 0."""

    line: int
    column: int
    offset: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


def place_at(text: str, offset: int) -> Position:
    r"""Return the place of a character; an offset past the end is the end of the text.

    >>> print(place_at("SELECT\n  speed", 9))
    line 2, column 3
    """
    offset = max(0, min(offset, len(text)))
    before = text[:offset]
    return Position(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, offset)


class SqlError(MuntinError, ValueError):
    """A text that cannot be read: the place, the line with a caret, and what would work.

    >>> print(SqlError("there is no column sped", "SELECT sped", 7, suggestion="speed"))
    line 1, column 8: there is no column sped
      SELECT sped
             ^
    did you mean speed?
    """

    def __init__(
        self,
        problem: str,
        text: str,
        at: Position | int,
        *,
        expected: str | None = None,
        suggestion: str | None = None,
    ) -> None:
        self.problem = without_these(problem, text)
        self.text = text
        self.place = at if isinstance(at, Position) else place_at(text, at)
        self.expected = None if expected is None else without_these(expected, text)
        self.suggestion = None if suggestion is None else without_these(suggestion, text)
        super().__init__(self._shown())

    def _shown(self) -> str:
        lines = [f"{self.place}: {self.problem}", *self._marked()]
        hints = [] if self.expected is None else [f"expected {self.expected}"]
        hints += [] if self.suggestion is None else [f"did you mean {self.suggestion}?"]
        return "\n".join([*lines, *(["; ".join(hints)] if hints else [])])

    def _marked(self) -> list[str]:
        """Return the line and a caret under the place; of a long line, the part around it."""
        all_lines = without_secrets(self.text).split("\n")
        line = all_lines[self.place.line - 1] if self.place.line <= len(all_lines) else ""
        if not line.strip():
            return []
        column = self.place.column - 1
        first = max(0, column - _WIDTH // 2) if len(line) > _WIDTH else 0
        shown = line[first : first + _WIDTH]
        # A tab above the caret keeps it under its character.
        pad = "".join("\t" if char == "\t" else " " for char in shown[: column - first])
        return [f"  {shown.rstrip()}", f"  {pad}^"]


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that may have been meant, whatever its case.

    >>> closest("sped", ["Speed", "ts"])
    'Speed'
    """
    names = {name.casefold(): name for name in known}
    hint = did_you_mean(word.casefold(), names)
    return names[hint.split("'")[1]] if hint and "'" in hint else None


def argument_refused(
    error: ArgumentError, text: str, at: Position | int, expected: str | None = None
) -> SqlError:
    """Return what an argument's check says as an error at the place of its value."""
    return SqlError(error.reason(), text, at, expected=expected)
