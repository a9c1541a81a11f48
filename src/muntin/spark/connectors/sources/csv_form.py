"""The form of CSV files: header, delimiter, quotes and the columns, found in their first 64 kB.

The beginning of the first file by name decides for all files of a source, so the same files have
the same form, however many come later. What is given as an option is not looked for.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from muntin.spark.connectors.sources.csv_types import TEXT, type_of

#: How many bytes of the first file decide.
SAMPLE_BYTES = 64 * 1024
_DELIMITERS = (",", ";", "\t", "|")
_Row = list[str]


@dataclass(frozen=True)
class CsvForm:
    """How CSV is written.

    Args:
        options: What was found and was not given, as options of Spark's reader.
        columns: The names and types of the columns.
    """

    options: Mapping[str, str]
    columns: tuple[tuple[str, str], ...]

    @property
    def schema(self) -> str:
        """The columns as DDL text."""
        quoted = ((name.replace("`", "``"), kind) for name, kind in self.columns)
        return ", ".join(f"`{name}` {kind}" for name, kind in quoted)


def find_form(
    sample: str, given: Mapping[str, str], declared: Sequence[str] | None = None
) -> CsvForm | None:
    r"""Return the form of a text, or None if it has no line.

    Args:
        sample: The beginning of a file, in whole lines.
        given: Options of Spark's reader that are not to be found.
        declared: The names of columns that were declared; a first line of just these is a header.

    >>> form = find_form("time;code\n2026-03-02 23:56:00;00123\n", {})
    >>> form.options, form.schema
    ({'header': 'true', 'sep': ';'}, '`time` TIMESTAMP, `code` STRING')
    """
    comment = given.get("comment")
    lines = [line for line in sample.splitlines(keepends=True) if line.strip()]
    if comment:
        lines = [line for line in lines if not line.startswith(comment)]
    if not lines:
        return None
    found: dict[str, str] = {}
    quote = given.get("quote") or _quote(sample)
    sep = given.get("sep") or _delimiter(lines, quote)
    escape = given.get("escape") or _escape(sample, quote)
    rows = _rows(lines, sep, quote, escape)
    spaced = "ignoreLeadingWhiteSpace" not in given and _spaced(rows)
    if spaced:
        rows = _rows(lines, sep, quote, escape, skip=True)
    width = _width(rows, declared)
    nothing = {"", given.get("nullValue", "")}
    header = _truth(given.get("header"))
    if header is None:
        header = _has_header([row for row in rows if len(row) == width], rows[0], nothing, declared)
    found["header"] = "true" if header else "false"
    found |= {"sep": sep} if sep != "," else {}
    found |= {"quote": quote} if quote != '"' else {}
    found |= {"escape": escape} if escape != quote else {}
    found = {name: value for name, value in found.items() if name not in given}
    found |= {"ignoreLeadingWhiteSpace": "true"} if spaced else {}
    if any("\n" in value for row in rows for value in row) and "multiLine" not in given:
        found["multiLine"] = "true"
    wide = [row for row in (rows[1:] if header else rows) if len(row) == width]
    names = _names(rows[0], width) if header else [f"_c{place}" for place in range(width)]
    types = _types(wide, width, nothing)
    return CsvForm(found, tuple(zip(names, types, strict=True)))


def whole_lines(beginning: str, *, all_there: bool) -> str:
    r"""Return a beginning of a file without its last line, which may be cut.

    >>> whole_lines("a,b\n1,", all_there=False)
    'a,b\n'
    """
    end = beginning.rfind("\n") + 1
    return beginning if all_there or not end else beginning[:end]


def _truth(text: str | None) -> bool | None:
    return None if text is None else text.lower() == "true"


def _rows(
    lines: Sequence[str], sep: str, quote: str, escape: str, *, skip: bool = False
) -> list[_Row]:
    """Return the values of lines; a quote that never ends leaves the rows before it."""
    doubled = escape == quote
    reader = csv.reader(
        lines,
        delimiter=sep[0],
        quotechar=quote[0],
        doublequote=doubled,
        escapechar=None if doubled else escape[0],
        skipinitialspace=skip,
    )
    rows: list[_Row] = []
    with contextlib.suppress(csv.Error):
        rows.extend(row for row in reader if row)
    return rows or [[lines[0].rstrip("\r\n")]]


def _quote(sample: str) -> str:
    """Return the mark that is around values: single quotes if there are more of those."""
    around = dict.fromkeys("\"'", 0)
    for mark in around:
        value = rf"(?:^|[,;\t|]) ?{mark}[^{mark}\n]*{mark}(?=[,;\t|\r\n]|$)"
        around[mark] = len(re.findall(value, sample, re.MULTILINE))
    return "'" if around["'"] > around['"'] else '"'


def _delimiter(lines: Sequence[str], quote: str) -> str:
    """Return what is between values: what cuts most lines into equally many, and into most."""

    def evenness(sep: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in _rows(lines, sep, quote, quote))
        width, count = max(widths.items(), key=lambda pair: (pair[1], pair[0]))
        return (0.0, 1) if width == 1 else (count / widths.total(), width)

    # Of equals the first one: max keeps it.
    return max(_DELIMITERS, key=evenness)


def _escape(sample: str, quote: str) -> str:
    """Return what is before a quote in a value: a quote, or a backslash as Spark writes it."""
    backslash, doubled = f"\\{quote}", f"{quote}{quote}"
    inside = re.sub(rf"(?<=[,;\t|\n]){re.escape(doubled)}(?=[,;\t|\r\n])", "", sample)
    return "\\" if backslash in sample and doubled not in inside else quote


def _spaced(rows: Sequence[_Row]) -> bool:
    """Return whether a blank follows every delimiter."""
    after = [value for row in rows for value in row[1:] if value]
    return bool(after) and all(value.startswith(" ") for value in after)


def _width(rows: Sequence[_Row], declared: Sequence[str] | None) -> int:
    """Return how many values a row has: as many as most rows."""
    if declared is not None:
        return len(declared)
    widths = Counter(map(len, rows))
    return max(widths.items(), key=lambda pair: (pair[1], pair[0] == len(rows[0])))[0]


def _has_header(
    rows: Sequence[_Row], first: _Row, nothing: set[str], declared: Sequence[str] | None
) -> bool:
    """Return whether the first line has the names of the columns.

    It has if no value of it fits the type of the column below it. Where all columns are texts, it
    has if its values are distinct and not empty, and none of them recurs below it in its column.
    """
    if declared is not None:
        return [name.strip().casefold() for name in first] == [n.casefold() for n in declared]
    if not rows or rows[0] != first:
        return False
    plain = [value.strip() for value in first]
    if nothing & set(plain) or len(set(plain)) < len(plain):
        return False
    below = [set(column) - nothing for column in zip(*rows[1:], strict=True)]
    if any(value in column for value, column in zip_longest(first, below, fillvalue=set[str]())):
        return False
    types = [type_of(column) for column in below] or [TEXT] * len(first)
    typed = [(value, kind) for value, kind in zip(plain, types, strict=True) if kind != TEXT]
    if typed:
        return all(type_of([value]) == TEXT for value, _ in typed)
    return all(type_of([value]) == TEXT for value in plain)


def _types(rows: Sequence[_Row], width: int, nothing: set[str]) -> Iterator[str]:
    for place in range(width):
        yield type_of(row[place] for row in rows if row[place] not in nothing)


def _names(first: _Row, width: int) -> list[str]:
    """Return the names of columns as Spark makes them: distinct, and none of them empty."""
    padded = [name.strip() for name in (*first, *[""] * width)][:width]
    times = Counter(name.casefold() for name in padded if name)
    return [
        f"_c{place}" if not name else f"{name}{place}" if times[name.casefold()] > 1 else name
        for place, name in enumerate(padded)
    ]
