"""Reading Parquet files: footers on the driver, row groups in workers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from muntin.errors import ScanError
from muntin.spark.scan.parquet_types import (
    Calendar,
    CannotScan,
    check_readable,
    converted,
    has_old_values,
    spark_type,
)
from muntin.spark.scan.pruning import ColumnLimit, may_have, may_meet

#: Rows that are read at once from a row group that has more.
_ROWS_AT_ONCE = 1_000_000
#: Hadoop's names of file systems that Arrow knows under another name.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gs": "gs", "wasbs": "abfss"}
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True)
class Piece:
    """Some row groups of a file, and the values of its partition.

    ``row_groups`` is how many groups the file had when it was looked at. If it is None nobody has
    looked yet, and ``share`` says which part of the groups is read: the first of two is (0, 2).
    """

    path: str
    groups: tuple[int, ...] = ()
    row_groups: int | None = None
    partition: Mapping[str, object] = field(default_factory=dict)
    share: tuple[int, int] = (0, 1)

    def of(self, count: int) -> Sequence[int]:
        """Return which row groups are read of a file that has some; raise if it has changed."""
        if self.row_groups is None:
            number, shares = self.share
            return range(count * number // shares, count * (number + 1) // shares)
        if self.row_groups != count:
            raise ScanError(self.path, "it has changed since the query was planned")
        return self.groups


@dataclass(frozen=True)
class ParquetReader:
    """Reads columns of Parquet files as Spark's reader does.

    Args:
        columns: The columns that are wanted, in the types in which Spark reads them.
        calendar: Spark's settings of the calendar in which files were written.
        case_sensitive: Whether names that differ only in case are different.
        limits: What every row must meet; row groups without such a row are not read.
    """

    columns: pa.Schema
    calendar: Calendar = field(default_factory=Calendar)
    case_sensitive: bool = False
    limits: tuple[ColumnLimit, ...] = ()

    def check(self, path: str, footer: pq.FileMetaData, partition: Collection[str]) -> None:
        """Raise CannotScan if only Spark can read a file."""
        with _named(path):
            self._places(footer, partition)
            old = self._old(footer)
            if old:
                raise CannotScan(f"{old[0]} may have values in the calendar of Spark 2")

    def read(self, piece: Piece) -> Iterator[pa.Table]:
        """Yield the rows of a piece."""
        for _, rows in self.read_placed(piece):
            yield rows

    def read_placed(self, piece: Piece) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        """Yield the rows of a piece, with their row group and the place of the first in it."""
        with _named(piece.path), _opened(piece.path) as file:
            wanted = self.wanted(file.metadata, piece.partition)
            groups = [number for number in piece.of(file.num_row_groups) if number in wanted]
            places, old = self._places(file.metadata, piece.partition), self._old(file.metadata)
            names = [name for name in places.values() if name is not None]
            for place, rows in _row_groups(file, groups, names):
                yield place, self._as_spark(rows, piece, places, old)

    def wanted(self, footer: pq.FileMetaData, partition: Mapping[str, object]) -> Collection[int]:
        """Return the row groups of a file that may have a row which meets the limits."""
        everything = range(footer.num_row_groups)
        if not self.limits:
            return everything
        places = self._places(footer, partition)
        # A column that the file does not have is null in all of its rows.
        known = {**partition, **{name: None for name, place in places.items() if place is None}}
        if not all(may_meet(self.limits, name, value) for name, value in known.items()):
            return ()
        numbers = {leaf.path: number for number, leaf in enumerate(_leaves(footer))}
        read = {name: numbers[place] for name, place in places.items() if place is not None}
        for name in self._old(footer):  # Spark may read other values than the statistics have
            read.pop(name, None)
        return {group for group in everything if self._may_have(footer.row_group(group), read)}

    def _may_have(self, group: pq.RowGroupMetaData, read: Mapping[str, int]) -> bool:
        return all(
            may_have(
                [limit for limit in self.limits if limit.column == name],
                group.column(place),
                group.num_rows,
            )
            for name, place in read.items()
        )

    def _as_spark(
        self, rows: pa.Table, piece: Piece, places: Mapping[str, str | None], old: Sequence[str]
    ) -> pa.Table:
        arrays = []
        for column in self.columns:
            if column.name in piece.partition:
                value = pa.scalar(piece.partition[column.name], column.type)
                arrays.append(pa.repeat(value, rows.num_rows))
                continue
            name = places[column.name]
            if name is None:
                arrays.append(pa.nulls(rows.num_rows, column.type))
                continue
            arrays.append(converted(rows[name], column.type))
            if column.name in old and has_old_values(arrays[-1]):
                raise CannotScan(f"{column.name} has values in the calendar of Spark 2")
        return pa.Table.from_arrays(arrays, schema=self.columns)

    def _places(self, footer: pq.FileMetaData, partition: Collection[str]) -> dict[str, str | None]:
        """Return the file's name of every wanted column; None if the file does not have it."""
        found: dict[str, list[str]] = {}
        for name in footer.schema.to_arrow_schema().names:
            found.setdefault(self._folded(name), []).append(name)
        leaves = {leaf.path: leaf for leaf in _leaves(footer)}
        places: dict[str, str | None] = {}
        for column in self.columns:
            if column.name in partition:
                continue
            names = found.get(self._folded(column.name), [])
            if len(names) > 1:
                raise CannotScan(f"it has several columns {', '.join(names)}")
            places[column.name] = names[0] if names else None
            if names:
                _check_type(leaves, names[0], column.type)
        return places

    def _old(self, footer: pq.FileMetaData) -> list[str]:
        """Return the wanted columns whose values may be in the calendar of Spark 2."""
        leaves = _leaves(footer)
        int96 = {self._folded(leaf.path) for leaf in leaves if leaf.physical_type == "INT96"}
        return [
            column.name
            for column in self.columns
            if pa.types.is_temporal(column.type)
            and self.calendar.is_old(footer.metadata, int96=self._folded(column.name) in int96)
        ]

    def _folded(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()


def footer_of(path: str) -> pq.FileMetaData:
    """Return the footer of a file."""
    with _named(path), _opened(path) as file:
        return file.metadata


def _leaves(footer: pq.FileMetaData) -> list[pq.ColumnSchema]:
    return [footer.schema.column(place) for place in range(len(footer.schema))]


def _check_type(leaves: Mapping[str, pq.ColumnSchema], name: str, wanted: pa.DataType) -> None:
    try:
        if name not in leaves or "." in name:
            raise CannotScan("it has parts")
        check_readable(spark_type(leaves[name]), wanted)
    except CannotScan as reason:
        raise CannotScan(f"column {name}: {reason}") from None


def _row_groups(
    file: pq.ParquetFile, groups: Sequence[int], names: Sequence[str]
) -> Iterator[tuple[tuple[int, int], pa.Table]]:
    """Yield rows with their row group, and the place of the first of them in it."""
    for group in groups:
        rows = file.metadata.row_group(group).num_rows
        if rows <= 2 * _ROWS_AT_ONCE:
            yield (group, 0), file.read_row_group(group, columns=names)
            continue
        first = 0
        for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=names):
            yield (group, first), pa.Table.from_batches([batch])
            first += batch.num_rows


@contextmanager
def _opened(path: str) -> Iterator[pq.ParquetFile]:
    system, place = system_of(path)
    local = isinstance(system, fs.LocalFileSystem)
    opened = pa.memory_map(place) if local else system.open_input_file(place)
    with opened as stream:
        yield pq.ParquetFile(stream, coerce_int96_timestamp_unit="us", pre_buffer=not local)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in errors."""
    try:
        yield
    except CannotScan as reason:
        raise CannotScan(f"{path}: {reason}") from reason
    except (pa.ArrowException, OSError) as error:
        problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScanError(path, problem) from error


def system_of(path: str) -> tuple[fs.FileSystem, str]:
    """Return Arrow's file system of a path as Spark writes it, and the path in it."""
    if not _REMOTE.match(path):
        return fs.LocalFileSystem(), path
    scheme, _, rest = path.partition(":")
    if scheme == "file":
        return fs.LocalFileSystem(), "/" + rest.lstrip("/")
    uri = f"{_SCHEMES.get(scheme, scheme)}:{quote(rest)}"
    system, place = fs.FileSystem.from_uri(uri)
    return system, place
