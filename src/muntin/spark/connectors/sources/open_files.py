"""``mt.parquet``, ``mt.csv`` and ``mt.json``: files as a source."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError
from muntin.spark.connectors.signature import Literal
from muntin.spark.connectors.sources.malformed import ddl
from muntin.spark.connectors.sources.registry import open_source
from muntin.spark.scan.file_source import FileSource


def parquet(
    spark: SparkSession,
    path: str,
    *,
    streaming: bool = False,
    schema: str | StructType | None = None,
    max_files: int | None = None,
    **options: Literal,
) -> FileSource:
    """Describe Parquet files as a source, which ``mt.stream`` takes like a DataFrame.

    Workers read the files themselves with Arrow, so that no row passes through the JVM, where the
    result is certain to be the one of Spark's reader. Where it is not, Spark reads them;
    ``explain()`` says which, and why. ``.df`` is the DataFrame that Spark reads.

    Args:
        spark: The session.
        path: A file, a folder, or a pattern such as ``"trips/2024-*"``. Folders ``name=value`` are
            columns. Paths that are not local must be known to ``pyarrow.fs`` as well, or Spark
            reads them.
        streaming: Read files that come as well, each once. A file must appear whole, by a rename.
        schema: The columns, as ``"ts TIMESTAMP, v DOUBLE"``; the default is to find them.
        max_files: How many new files a micro-batch of a stream takes; all by default.
        options: ``pathGlobFilter`` and ``recursiveFileLookup``, as Spark has them.
    """
    return _opened(spark, "parquet", path, streaming, schema, max_files, options)


def csv(
    spark: SparkSession,
    path: str,
    *,
    header: bool | None = None,
    streaming: bool = False,
    schema: str | StructType | None = None,
    max_files: int | None = None,
    **options: Literal,
) -> FileSource:
    """Describe CSV files, compressed or not, as a source. Lines that are no rows are left out.

    The arguments are those of :func:`muntin.parquet`, and ``header``: whether the first line of
    every file has the names of the columns. ``options`` are ``sep``, ``nullValue``,
    ``timestampFormat`` and others of Spark's reader. What is not given is found in the first 64 kB
    of the first file by name: header, delimiter, quotes, and without ``schema`` the columns.
    """
    given = options if header is None else {**options, "header": header}
    return _opened(spark, "csv", path, streaming, schema, max_files, given)


def json(
    spark: SparkSession,
    path: str,
    *,
    streaming: bool = False,
    schema: str | StructType | None = None,
    max_files: int | None = None,
    **options: Literal,
) -> FileSource:
    """Describe files of JSON lines, compressed or not, as a source.

    The arguments are those of :func:`muntin.parquet`. Lines that are no rows are left out.
    """
    return _opened(spark, "json", path, streaming, schema, max_files, options)


def _opened(
    spark: SparkSession,
    form: str,
    path: str,
    streaming: bool,
    schema: str | StructType | None,
    max_files: int | None,
    options: dict[str, Literal],
) -> FileSource:
    if max_files is not None:
        if not streaming:
            raise ArgumentError("max_files", max_files, "only streaming=True reads files in turns")
        options = {**options, "max_files": max_files}
    columns = ddl(schema) if isinstance(schema, StructType) else schema
    opened = open_source(spark, form, [str(path)], options, columns, streaming=streaming)
    assert opened.files is not None  # these three forms are files
    return opened.files
