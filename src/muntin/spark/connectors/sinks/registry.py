"""Opening a sink by its name, and running a plan or a DataFrame into it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.sql import SparkSession

from muntin.spark.connectors.signature import Literal, Signature, named
from muntin.spark.connectors.sinks import console, delta, files, kafka, memory, postgres, stdout
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest


@dataclass(frozen=True)
class SinkType:
    """What a sink takes, and how it is opened.

    ``counts`` are those whose rows Spark can count on their way. Others fetch one partition after
    the other or not more than they show, or write behind Spark's back, and a count would be short
    or never come.
    """

    signature: Signature
    open: Callable[[SinkRequest], Sink]
    counts: bool = False


#: Every sink.
SINKS: Mapping[str, SinkType] = MappingProxyType(
    {
        target.signature.name: target
        for target in (
            SinkType(files.CSV, files.to_files, counts=True),
            SinkType(files.JSON, files.to_files, counts=True),
            SinkType(files.PARQUET, files.to_files, counts=True),
            SinkType(stdout.STDOUT, stdout.to_stdout),
            SinkType(console.CONSOLE, console.to_console),
            SinkType(memory.MEMORY, memory.to_memory, counts=True),
            SinkType(kafka.KAFKA, kafka.to_kafka),
            SinkType(postgres.POSTGRES, postgres.to_postgres),
            SinkType(delta.DELTA, delta.to_delta),
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
    """The sink ``name(arguments, options)``; ``query`` is the name under which it writes.

    A sink that remembers micro-batches does so by that name and ``run``, which a stream that is
    resumed has to give again. Without it the rows are a batch.
    """
    target = SINKS[named("sink", name, SINKS)]
    bound = target.signature.bind(arguments, options)
    batch = run is None
    return target.open(SinkRequest(spark, bound, query, run or uuid.uuid4().hex, batch))
