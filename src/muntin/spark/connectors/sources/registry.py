"""Opening a source by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError
from muntin.spark.columns import problem
from muntin.spark.connectors.signature import Literal, Signature, named
from muntin.spark.connectors.sources import any_file, files, kafka, pipes, postgres
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest


@dataclass(frozen=True)
class SourceType:
    """The parameters of a source, and the function that opens it."""

    signature: Signature
    open: Callable[[SourceRequest], OpenedSource]


#: Every source that Spark reads; simulators write files, which are then opened.
SOURCES: Mapping[str, SourceType] = MappingProxyType(
    {
        source.signature.name: source
        for source in (
            SourceType(files.CSV, any_file.open_csv),
            SourceType(files.JSON, any_file.open_json),
            SourceType(files.PARQUET, files.open_parquet),
            SourceType(any_file.FILE, any_file.open_file),
            SourceType(pipes.STDIN, pipes.open_stdin),
            SourceType(pipes.SOCKET, pipes.open_socket),
            SourceType(kafka.KAFKA, kafka.open_kafka),
            SourceType(postgres.POSTGRES, postgres.open_postgres),
            SourceType(files.DELTA, files.open_delta),
        )
    }
)


def open_source(
    spark: SparkSession,
    name: str,
    arguments: Sequence[Literal],
    options: Mapping[str, Literal],
    schema: str | None,
    *,
    streaming: bool,
    folder: Path | None = None,
    kept: Path | None = None,
) -> OpenedSource:
    """Return the rows of ``name(arguments, options)``, and its malformed lines.

    Args:
        spark: The session.
        name: One of :data:`SOURCES`.
        arguments: Values by position.
        options: Values by name.
        schema: The columns as DDL text, for sources that do not know them.
        streaming: Whether to follow what comes, or read what is there.
        folder: Where lines that come only once are kept; the default is a temporary folder.
        kept: The file that keeps how files are written, as the first of them says.
    """
    source = SOURCES[named("source", name, SOURCES)]
    bound = source.signature.bind(arguments, options)
    return source.open(SourceRequest(spark, bound, schema, streaming, folder, kept))


def open_empty(
    spark: SparkSession, schema: str | StructType, streaming: bool, folder: Path
) -> DataFrame:
    """Return no rows of these columns, for queries that are checked and not run.

    A stream watches a subfolder of ``folder`` that nobody writes to.
    """
    try:
        empty = spark.createDataFrame([], schema)
    except PySparkException as error:
        raise ArgumentError("schema", schema, f"Spark says: {problem(error)}") from error
    if not streaming:
        return empty
    (folder / "empty").mkdir(parents=True, exist_ok=True)
    return spark.readStream.schema(empty.schema).parquet(str(folder / "empty"))
