"""What the language says when a text cannot be read or cannot work."""

from __future__ import annotations

from collections.abc import Iterable

from muntin.errors import MuntinError, did_you_mean
from muntin.parser.positions import Position, place_at

#: More of a line than this is not shown.
_WIDTH = 100


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
        self.problem = problem
        self.text = text
        self.place = at if isinstance(at, Position) else place_at(text, at)
        self.expected = expected
        self.suggestion = suggestion
        super().__init__(self._shown())

    def _shown(self) -> str:
        lines = [f"{self.place}: {self.problem}", *self._marked()]
        hints = [] if self.expected is None else [f"expected {self.expected}"]
        hints += [] if self.suggestion is None else [f"did you mean {self.suggestion}?"]
        return "\n".join([*lines, *(["; ".join(hints)] if hints else [])])

    def _marked(self) -> list[str]:
        """The line and a caret under the place; of a long line the part around it."""
        all_lines = self.text.split("\n")
        line = all_lines[self.place.line - 1] if self.place.line <= len(all_lines) else ""
        if not line.strip():
            return []
        column = self.place.column - 1
        first = max(0, column - _WIDTH // 2) if len(line) > _WIDTH else 0
        shown = line[first : first + _WIDTH]
        # A tab is as wide above the caret as in the line.
        pad = "".join("\t" if char == "\t" else " " for char in shown[: column - first])
        return [f"  {shown.rstrip()}", f"  {pad}^"]


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that may have been meant, whatever its case.

    >>> closest("sped", ["Speed", "ts"])
    'Speed'
    """
    names = {name.casefold(): name for name in known}
    hint = did_you_mean(word.casefold(), names)
    return names[hint.split("'")[1]] if hint and "'" in hint else None
