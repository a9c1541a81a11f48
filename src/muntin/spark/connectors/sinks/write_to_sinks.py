"""Running a plan or a DataFrame, batch or stream, into sinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from muntin.spark.connectors.sinks.protocol import Sink
from muntin.spark.plan.plan import Plan
from muntin.spark.queries.write import write


def run(
    rows: Plan | DataFrame,
    sinks: Sequence[Sink],
    *,
    refused: Sink | None = None,
    checkpoint: str | Path | None = None,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> StreamingQuery | None:
    """Write rows to every sink, those of a stream in one query; the query is returned.

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
    """One sink of several, for which rows are made once.

    Without any they are made all the same: what is kept between micro-batches moves on with them.
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
