"""Opening a source by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import SparkSession

from muntin.spark.connectors.signature import Literal, Signature, named
from muntin.spark.connectors.sources import delta, files, kafka, pipes, postgres
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest


@dataclass(frozen=True)
class SourceType:
    """What a source takes, and how it is opened."""

    signature: Signature
    open: Callable[[SourceRequest], OpenedSource]


#: Every source that Spark reads; simulators make files and are opened as such.
SOURCES: Mapping[str, SourceType] = MappingProxyType(
    {
        source.signature.name: source
        for source in (
            SourceType(files.CSV, files.open_csv),
            SourceType(files.JSON, files.open_json),
            SourceType(files.PARQUET, files.open_parquet),
            SourceType(pipes.STDIN, pipes.open_stdin),
            SourceType(pipes.SOCKET, pipes.open_socket),
            SourceType(kafka.KAFKA, kafka.open_kafka),
            SourceType(postgres.POSTGRES, postgres.open_postgres),
            SourceType(delta.DELTA, delta.open_delta),
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
) -> OpenedSource:
    """The rows of ``name(arguments, options)``, and what of it was malformed.

    Args:
        spark: The session.
        name: One of :data:`SOURCES`.
        arguments: Values by place.
        options: Values by name.
        schema: The columns as DDL text, where the source does not know them.
        streaming: Whether to follow what comes, or take what is there.
        folder: Where lines that come only once are kept; a temporary one unless it is given.
    """
    source = SOURCES[named("source", name, SOURCES)]
    bound = source.signature.bind(arguments, options)
    return source.open(SourceRequest(spark, bound, schema, streaming, folder))
