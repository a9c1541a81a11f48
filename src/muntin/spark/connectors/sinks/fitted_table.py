"""Rows as a table that fits the width: values as SQL writes them, long ones in several lines.

Where not all columns fit side by side, the table is drawn in parts, one below the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

#: A column is not narrower than this, unless its values are.
_LEAST = 20
#: What the border and the blanks of a column take, and the last border.
_AROUND, _LAST = 3, 1
NULL = Text("NULL", style="dim")


def sql_text(value: object) -> str:
    """Return a value as SQL writes it.

    >>> sql_text(None), sql_text(True), sql_text([1, None]), sql_text({"a": 1, "ok": False})
    ('NULL', 'true', '[1, NULL]', '{a: 1, ok: false}')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray):
        return f"X'{value.hex().upper()}'"
    if hasattr(value, "asDict"):  # a Row
        value = value.asDict()
    if isinstance(value, Mapping):
        pairs = (f"{sql_text(key)}: {sql_text(part)}" for key, part in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(sql_text, value))}]"
    return str(value)


@dataclass(frozen=True)
class FittedTable:
    """Rows under the names of their columns; ``numbers`` are the places of columns of numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    numbers: frozenset[int] = frozenset()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        cells = [[_cell(value) for value in row] for row in self.rows]
        for places in self._parts(cells, options.max_width):
            table = Table()
            for place in places:
                number = place in self.numbers
                name = Text(self.columns[place])
                table.add_column(name, justify="right" if number else "left", overflow="fold")
            for row in cells:
                table.add_row(*(row[place] for place in places))
            yield table

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)

    def _parts(self, cells: Sequence[Sequence[Text]], width: int) -> Iterator[list[int]]:
        """Yield the columns that fit beside each other, from left to right."""
        part: list[int] = []
        used = _LAST
        for place, name in enumerate(self.columns):
            widest = max([len(name), *(_width(row[place]) for row in cells)])
            least = min(widest, _LEAST) + _AROUND
            if part and used + least > width:
                yield part
                part, used = [], _LAST
            part.append(place)
            used += least
        yield part


def _cell(value: object) -> Text:
    return NULL if value is None else Text(sql_text(value))


def _width(text: Text) -> int:
    return max((len(line) for line in text.plain.split("\n")), default=0)
