"""How streams, results and plans show themselves: as a sentence, and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from muntin.errors import MuntinError

#: A line of a table: its name and its text.
Line = tuple[str, str]


class Described:
    """The base class of what shows itself. Nothing of Spark runs for it."""

    @property
    def description(self) -> str:
        """What this is, in a sentence of the papers' words."""
        raise NotImplementedError

    def shown_lines(self) -> Sequence[Line]:
        """Return the lines of the table that a notebook shows below the description."""
        return ()

    def __repr__(self) -> str:
        return self.description

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        try:
            lines = self.shown_lines()
        except MuntinError as error:  # what is missing is said where a result is asked for, too
            lines = [("not yet", str(error))]
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in lines
        )
        table = f"<table>{rows}</table>" if rows else ""
        return f"<div><p>{escape(self.description)}</p>{table}</div>"
