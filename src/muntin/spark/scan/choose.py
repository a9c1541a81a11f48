"""Choosing who reads the rows of an input: workers by an Arrow scan, or Spark."""

from __future__ import annotations

import itertools
import operator
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from muntin.errors import CannotEvaluate, ScanError, UnsupportedTypeError
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.spark_expressions import Travelling
from muntin.spark.columns import to_arrow
from muntin.spark.requirements import setting
from muntin.spark.scan.file_source import FileSource
from muntin.spark.scan.listing import SHARED_BYTES, FileListing, footers_of
from muntin.spark.scan.named_files import PATH, NamedFiles, is_pattern, parts_of
from muntin.spark.scan.parquet_files import ParquetReader, Piece, system_of
from muntin.spark.scan.parquet_types import Calendar, CannotScan
from muntin.spark.scan.pruning import ColumnLimit, limits_of
from muntin.spark.scan.scan import ArrowScan, PlannedPieces
from muntin.spark.scan.worker_rows import WorkerRows

#: Settings under which Spark's reader returns something else, and the values that are understood.
_UNDERSTOOD = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
}
#: What the metadata of a column says that changes the values that Spark reads.
_CHANGES_VALUES = ("__CHAR_VARCHAR_TYPE_STRING", "EXISTS_DEFAULT")
#: A task of a batch reads about this many bytes, if there are more than the cores can take at once.
_TASK_BYTES = 128 * 2**20
#: Of the files of a stream that are there when it starts, so many are looked at: the last by name.
_CHECKED = 16
#: Tasks that share a file of a stream. Each costs every micro-batch some time.
_MOST_SHARES = 8
#: A pattern whose matches lie at different depths, or whose text is no pattern in places.
_UNEVEN = re.compile(r"\{[^}]*/|\\")


@dataclass(frozen=True, eq=False)
class InputRows:
    """The rows of an input as the map side gets them.

    Args:
        df: What Spark hands to the workers: the columns that travel, or names of files.
        scan: How workers read the files; None if Spark does.
        why: Why Spark reads files that have an Arrow scan; None for other inputs.
    """

    df: DataFrame
    scan: ArrowScan | None = None
    why: str | None = None

    def __str__(self) -> str:
        if self.scan is not None:
            return "Arrow scan: workers read the files, and rows do not pass through the JVM"
        return "Spark's scan" + ("" if self.why is None else f": {self.why}")


def input_rows(
    files: WorkerRows | None, prepared: DataFrame, travelling: Sequence[Travelling]
) -> InputRows:
    """Return who reads the rows of an input.

    Args:
        files: The files of the input, if it is made of files.
        prepared: The columns that travel, read and evaluated by Spark.
        travelling: The same columns as expressions.
    """
    if not isinstance(files, FileSource):
        return InputRows(prepared)
    try:
        return _scanned(files, prepared, travelling)
    except (CannotScan, CannotEvaluate, ScanError) as reason:
        return InputRows(prepared, why=str(reason))


def _scanned(files: FileSource, prepared: DataFrame, travelling: Sequence[Travelling]) -> InputRows:
    spark = files.spark
    _check(files)
    zone = setting(spark, "spark.sql.session.timeZone", "UTC")
    given = _known_types(files.schema, zone)
    wanted = pa.schema([arrow_field(column, zone) for column in prepared.schema.fields])
    ansi = setting(spark, "spark.sql.ansi.enabled", "true") == "true"
    evaluated = zone if ansi else None
    columns = ArrowColumns.of(travelling, given, wanted, evaluated, files.conditions)
    read = pa.schema([given.field(name) for name in columns.names])
    reader = _reader(spark, read, limits_of(columns.compiled_conditions))
    for name in columns.names:
        if files.schema[name].metadata.keys() & set(_CHANGES_VALUES):
            raise CannotScan(f"the schema changes values of {name}")
    listing = files.listing
    if files.isStreaming:
        named = _named_files(listing, reader)
        return InputRows(listing.named(_shares(listing)), ArrowScan(reader, columns, named))
    for path, footer in listing.footers.items():
        reader.check(path, footer, listing.partition)
    tasks = tuple(_tasks(listing, reader, _parallelism(spark)))
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    return InputRows(numbers, ArrowScan(reader, columns, PlannedPieces(tasks)))


def _named_files(files: FileListing, reader: ParquetReader) -> NamedFiles:
    """Return how workers read the files of a stream; raise if some that are there are Spark's."""
    pattern = is_pattern(files.path)
    if pattern and _UNEVEN.search(files.path):
        raise CannotScan(f"the pattern {files.path} has folders in braces, or escapes")
    types: dict[str, pa.DataType | None] = dict.fromkeys(files.rows.columns)
    types |= {f.name: f.type for f in reader.columns}
    recursive = files.options.get("recursiveFileLookup", "false").lower() == "true"
    sensitive = reader.case_sensitive
    named = NamedFiles(parts_of(files.path), pattern, recursive, types, sensitive)
    newest = [path for path in files.there if named.is_read(path)][-_CHECKED:]
    for path, footer in footers_of(newest).items():
        reader.check(path, footer, named.partition(path))
    return named


def _shares(files: FileListing) -> int:
    """Return how many tasks may share a file of a stream: one, if no large file is there."""
    newest = files.there[-_CHECKED:]
    if not newest:
        return 1
    system, _ = system_of(newest[0])
    sizes = system.get_file_info([system_of(path)[1] for path in newest])
    largest = max((info.size or 0 for info in sizes), default=0)
    return min(_parallelism(files.spark), _MOST_SHARES, max(1, -(-largest // SHARED_BYTES)))


def _check(files: FileSource) -> None:
    """Raise if the files or the settings leave the scan to Spark."""
    if files.only_spark is not None:
        raise CannotScan(files.only_spark)
    try:
        system_of(files.listing.path)
    except (pa.ArrowException, OSError) as error:
        raise CannotScan(f"pyarrow cannot open {files.listing.path}: {error}") from error
    for name, value in _UNDERSTOOD.items():
        if setting(files.spark, name, value).lower() != value:
            raise CannotScan(f"{name} is not {value}")


def _reader(
    spark: SparkSession, columns: pa.Schema, limits: tuple[ColumnLimit, ...]
) -> ParquetReader:
    dates = setting(spark, "spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    int96 = setting(spark, "spark.sql.parquet.int96RebaseModeInRead", "CORRECTED")
    sensitive = setting(spark, "spark.sql.caseSensitive", "false") == "true"
    return ParquetReader(columns, Calendar(dates.upper(), int96.upper()), sensitive, limits)


def _known_types(schema: spark_types.StructType, zone: str) -> pa.Schema:
    """Return the columns of a source that have a type in Arrow."""
    fields = []
    for column in schema.fields:
        try:
            fields.append(arrow_field(column, zone))
        except UnsupportedTypeError:
            continue
    return pa.schema(fields)


def arrow_field(column: spark_types.StructField, zone: str) -> pa.Field:
    """Return a column in the type in which Spark hands it to Python."""
    if isinstance(column.dataType, spark_types.TimestampType):
        return pa.field(column.name, pa.timestamp("us", tz=zone))
    return pa.field(column.name, to_arrow(column.dataType, column.name))


def _tasks(
    files: FileListing, reader: ParquetReader, parallelism: int
) -> Iterator[tuple[Piece, ...]]:
    """Yield the row groups of each task: neighbours, so that a file is read in its order."""
    sized = [
        (piece, size)
        for row in files.files.to_pylist()
        for piece, size in _row_groups(row.pop(PATH), row, files, reader)
    ]
    total = sum(size for _, size in sized)
    count = min(len(sized), max(parallelism, -(-total // _TASK_BYTES)))
    before = itertools.accumulate((size for _, size in sized), initial=0)
    places = [
        min(count - 1, (start + size // 2) * count // max(1, total))
        for start, (_, size) in zip(before, sized, strict=False)
    ]
    placed = zip(places, (piece for piece, _ in sized), strict=True)
    for _, pieces in itertools.groupby(placed, key=operator.itemgetter(0)):
        yield tuple(piece for _, piece in pieces)


def _row_groups(
    path: str, partition: dict[str, object], files: FileListing, reader: ParquetReader
) -> Iterator[tuple[Piece, int]]:
    """Yield the row groups of a file that may have rows, with the bytes that are wanted of each."""
    footer = files.footers[path]
    names = {name.lower() for name in reader.columns.names}
    for number in sorted(reader.wanted(footer, partition)):
        size = sum(_sizes(footer.row_group(number), names))
        yield Piece(path, (number,), footer.num_row_groups, partition), max(1, size)


def _sizes(group: pq.RowGroupMetaData, names: set[str]) -> Iterator[int]:
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema.lower() in names:
            yield column.total_uncompressed_size


def _parallelism(spark: SparkSession) -> int:
    """Return how many tasks run at once; Spark Connect does not say."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkException:
        return os.cpu_count() or 1
