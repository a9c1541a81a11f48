"""Files whose names a stream brings: which row groups a task reads, and the values of folders.

Spark lists the files and remembers them in its checkpoint; a worker is given their names. The rules
by which folders are columns are those of Spark's own streams of files.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath

import pyarrow as pa

from muntin.errors import ScanError
from muntin.spark.scan.parquet_files import Piece

#: The columns of a list of files: the path, and which of how many shares of it a task reads.
PATH, SHARE, SHARES = "path", "share", "shares"
#: A folder of rows whose partition column is null.
_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(//[^/]*)?(?=/)")
#: Hadoop's characters of patterns.
_MAGIC = frozenset("{}[]*?\\")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class NamedFiles:
    """Turns names of files into the pieces that a task reads.

    Args:
        folder: The parts of the path of the source.
        pattern: Whether that path is a pattern; its folders are then no columns.
        recursive: Whether files of any folder are read, and no folder is a column.
        columns: The columns of the source, with the types of those that are read.
        case_sensitive: Whether names that differ only in case are different.
    """

    folder: tuple[str, ...]
    pattern: bool
    recursive: bool
    columns: Mapping[str, pa.DataType | None]
    case_sensitive: bool = False

    def of(self, batch: pa.RecordBatch) -> Iterator[Piece]:
        """Yield the pieces of a batch of names."""
        for row in batch.to_pylist():
            path = row[PATH]
            if self.is_read(path):
                yield Piece(path, share=(row[SHARE], row[SHARES]), partition=self.partition(path))

    def is_read(self, path: str) -> bool:
        """Return whether Spark reads a file, or its folders are neither columns nor asked for."""
        return self.recursive or all("=" in name for name in self._inside(path))

    def partition(self, path: str) -> dict[str, object]:
        """Return the values of the columns that the folders of a file are."""
        if self.recursive or self.pattern:
            return {}
        values: dict[str, object] = {}
        for folder in self._inside(path):
            name, _, text = folder.partition("=")
            column = self._column(unescaped(name))
            if column is None:
                raise ScanError(path, f"its folder {folder} is no column of the source")
            type_ = self.columns[column]
            values[column] = None if type_ is None else _value(path, folder, text, type_)
        return values

    def _column(self, name: str) -> str | None:
        names = [own for own in self.columns if own.lower() == name.lower()]
        return name if name in names else None if self.case_sensitive or not names else names[0]

    def _inside(self, path: str) -> tuple[str, ...]:
        """Return the folders of a file below the folder of the source, or below the pattern."""
        parts = parts_of(path)
        if not self.pattern and parts[: len(self.folder)] != self.folder:
            raise ScanError(path, f"it is not in the folder {PurePosixPath(*self.folder)}")
        return parts[len(self.folder) : -1]


def is_pattern(path: str) -> bool:
    """Return whether a path is a pattern of files or folders."""
    return bool(_MAGIC & set(path))


def parts_of(path: str) -> tuple[str, ...]:
    """Return the parts of a path, without its file system."""
    scheme = _SCHEME.match(path)
    local = path[scheme.end() :] if scheme else str(Path(path).absolute())
    return PurePosixPath(os.path.normpath(local)).parts


def unescaped(text: str) -> str:
    """Return a name of a folder as it was before it was escaped.

    >>> unescaped("a%3Ab%25")
    'a:b%'
    """
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _value(path: str, folder: str, text: str, type_: pa.DataType) -> object:
    """Return the value of a folder; raise if only Spark knows how to read it."""
    if text == _NULL:
        return None
    for known, read in _READERS:
        if known(type_):
            value = read(text)
            if value is not None and _fits(value, type_):
                return value
    problem = f"its folder {folder} is no {type_} that Muntin reads"
    raise ScanError(path, f"{problem}; give mt.stream the source's .df instead of it")


def _fits(value: object, type_: pa.DataType) -> bool:
    try:
        pa.scalar(value, type_)
    except (pa.ArrowException, OverflowError):
        return False
    return True


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


_READERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[str], object]], ...] = (
    (pa.types.is_string, unescaped),
    (pa.types.is_signed_integer, lambda text: int(text) if _WHOLE.fullmatch(text) else None),
    (pa.types.is_floating, lambda text: float(text) if _NUMBER.fullmatch(text) else None),
    (pa.types.is_boolean, lambda text: {"true": True, "false": False}.get(text.lower())),
    (pa.types.is_date32, _date),
)
