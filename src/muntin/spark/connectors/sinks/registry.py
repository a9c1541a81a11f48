"""Opening a sink by its name, and writing a plan or a DataFrame to sinks."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from muntin.spark.api.plan import Plan
from muntin.spark.connectors.signature import Literal, Signature, named
from muntin.spark.connectors.sinks import (
    console,
    files,
    kafka,
    memory,
    postgres,
    stdout,
)
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest
from muntin.spark.queries.write import write


@dataclass(frozen=True)
class SinkType:
    """The parameters of a sink, and the function that opens it.

    ``counts`` is True if Spark can count the rows on their way. Other sinks fetch one partition
    after the other, or only the rows that they show, or write without Spark, so that a count would
    be too low or never come.
    """

    signature: Signature
    open: Callable[[SinkRequest], Sink]
    counts: bool = False


#: Every sink.
SINKS: Mapping[str, SinkType] = MappingProxyType(
    {
        sink.signature.name: sink
        for sink in (
            SinkType(files.CSV, files.to_files, counts=True),
            SinkType(files.JSON, files.to_files, counts=True),
            SinkType(files.PARQUET, files.to_files, counts=True),
            SinkType(stdout.STDOUT, stdout.to_stdout),
            SinkType(console.CONSOLE, console.to_console),
            SinkType(memory.MEMORY, memory.to_memory, counts=True),
            SinkType(kafka.KAFKA, kafka.to_kafka),
            SinkType(postgres.POSTGRES, postgres.to_postgres),
            SinkType(files.DELTA, files.to_delta),
        )
    }
)


def open_sink(
    spark: SparkSession,
    name: str,
    arguments: Sequence[Literal],
    options: Mapping[str, Literal],
    *,
    query: str,
    run: str | None = None,
) -> Sink:
    """Return the sink ``name(arguments, options)``; ``query`` is the name under which it writes.

    A sink that remembers micro-batches does so by that name and ``run``, which must be the same
    when a stream is resumed. Without ``run`` the rows are a batch.
    """
    sink = SINKS[named("sink", name, SINKS)]
    bound = sink.signature.bind(arguments, options)
    batch = run is None
    return sink.open(SinkRequest(spark, bound, query, run or uuid.uuid4().hex, batch))


def run(
    rows: Plan | DataFrame,
    sinks: Sequence[Sink],
    *,
    refused: Sink | None = None,
    checkpoint: str | Path | None = None,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> StreamingQuery | None:
    """Write rows to every sink, those of a stream by one query, which is returned.

    Only a plan has refused rows.
    """
    put = together(sinks)
    if isinstance(rows, Plan):
        return write(
            rows, results=put, refused=refused, checkpoint=checkpoint, trigger=trigger, name=name
        )
    if not rows.isStreaming:
        put(rows, 0)
        return None
    writer = rows.writeStream.foreachBatch(put).option("checkpointLocation", str(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    return (writer.trigger(**trigger) if trigger else writer).start()


def together(sinks: Sequence[Sink]) -> Sink:
    """Return one sink that passes rows to several; the rows are computed once.

    Without any sink they are computed all the same, because that advances the state.
    """
    if not sinks:
        return lambda rows, number: rows.write.format("noop").mode("overwrite").save()
    if len(sinks) == 1:
        return sinks[0]

    def put(rows: DataFrame, number: int) -> None:
        rows.persist()
        try:
            for sink in sinks:
                sink(rows, number)
        finally:
            rows.unpersist()

    return put
