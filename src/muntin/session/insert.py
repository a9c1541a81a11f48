"""``insert('table')``: the sink that adds to what a table of files is read from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from muntin.errors import ArgumentError
from muntin.parser.statements import ConnectorCall, CreateTable
from muntin.spark.connectors.sinks.registry import SINKS
from muntin.spark.connectors.sources.registry import SOURCES

_FILES = ("csv", "json", "parquet")
#: A subfolder that a sink made.
_SUNK = "writer="


def inserting(table: CreateTable) -> ConnectorCall:
    """The sink that a table's source is, such that the table reads what it writes."""
    source = table.source
    kind = source.name.lower()
    if kind not in _FILES:
        return source
    bound = SOURCES[kind].signature.bind(source.arguments, source.options)
    _check_folder(bound.text("path"))
    known = SINKS[kind].signature.passed
    said = {name: value for name, value in bound.passed.items() if name in known}
    if kind == "csv":
        # A source reads no header unless it is told so, where a sink writes one.
        said["header"] = bound.truth("header")
    return replace(source, arguments=(bound.text("path"),), options=said)


def _check_folder(path: str) -> None:
    """Rows can be added to a folder of files; names of its subfolders must not be columns."""
    place = Path(path)
    if place.is_file():
        expected = "it is one file, and rows are inserted into a folder of files"
        raise ArgumentError("path", path, expected)
    if not place.is_dir():
        return
    parted = [one.name for one in place.iterdir() if one.is_dir() and "=" in one.name]
    foreign = [name for name in sorted(parted) if not name.startswith(_SUNK)]
    if foreign:
        expected = f"its subfolders are columns ({foreign[0]}), and rows cannot be put beside them"
        raise ArgumentError("path", path, expected)
