"""Whose column a name is: the stream's, a joined table's, or one that a window has itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from muntin.parser.dialect import offset_of

#: Columns that windows and frames bring, which queries can select.
OF_WINDOWS = (
    "window_start",
    "window_end",
    "wid",
    "on_start",
    "on_end",
    "complete",
    "frame_id",
    "frame_start",
    "frame_end",
    "status",
    "n",
    "n_missing",
    "shift",
)


@dataclass(frozen=True)
class Columns:
    """The columns of a stream under its alias, and the aliases of what is joined to it."""

    alias: str
    names: Sequence[str]
    joined: Sequence[str] = ()

    def own(self, column: exp.Column) -> str | None:
        """The stream's column that is meant, as the stream spells it."""
        parts = self._parts(column)
        return None if parts is None else self.spelt(parts[0])

    def inside(self, column: exp.Column) -> bool:
        """Whether a field of a struct is meant: a group of its own, computed from the column."""
        parts = self._parts(column)
        return parts is not None and len(parts) > 1

    def spelt(self, name: str) -> str | None:
        """A column whatever its case, as the DataFrame spells it."""
        if name in self.names:
            return name
        return next((one for one in self.names if one.casefold() == name.casefold()), None)

    def bare(self, column: exp.Column) -> exp.Column | None:
        """The column without the alias of the stream; None where it has none."""
        parts = [part.copy() for part in column.parts]
        if len(parts) < 2 or parts[0].name.casefold() != self.alias.casefold():
            return None
        roles = ("this", "table", "db", "catalog")
        made = exp.Column(**dict(zip(roles, reversed(parts[1:]), strict=False)))
        made.meta.update({"start": offset_of(column)})
        return made

    def foreign(self, column: exp.Column) -> bool:
        """Whether a column is a joined table's."""
        first = column.parts[0].name.casefold()
        if len(column.parts) > 1 and first in {name.casefold() for name in self.joined}:
            return True
        return bool(self.joined) and len(column.parts) == 1 and self.spelt(column.name) is None

    def _parts(self, column: exp.Column) -> list[str] | None:
        names = [part.name for part in column.parts]
        if len(names) > 1 and names[0].casefold() == self.alias.casefold():
            return names[1:]
        if len(names) > 1 and names[0].casefold() in {name.casefold() for name in self.joined}:
            return None
        return names
