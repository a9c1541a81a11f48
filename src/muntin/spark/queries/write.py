"""Running a plan: results to one sink, refused rows to another, from one query."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.utils import is_remote

from muntin.errors import ArgumentError, MuntinError
from muntin.spark.api.plan import Plan
from muntin.spark.columns import problem
from muntin.spark.exchange.counts import COUNTS, observed
from muntin.spark.exchange.shipping import loader
from muntin.spark.plan.results import RenamedColumns, ResultNames, Sink, TaggedOutput, put

#: The triggers that a stateful query can have, as a user writes them.
_TRIGGERS = {
    "availableNow": '{"availableNow": True}',
    "processingTime": '{"processingTime": "10 seconds"}',
    "once": '{"once": True}',
}


def write(
    plan: Plan,
    *,
    results: Sink,
    refused: Sink | None = None,
    checkpoint: str | Path | None = None,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> StreamingQuery | None:
    """Write results and refused rows to two sinks.

    A folder gets Parquet in one subfolder per micro-batch (``batch=17``). A micro-batch that is
    repeated after a failure is written over, so that nothing is doubled. A function is called with
    a DataFrame and the number of the micro-batch, and must take care of repeated ones itself. A
    batch plan is written at once, as micro-batch 0; a stream starts, and its query is returned.

    ``trigger`` are the arguments of ``DataStreamWriter.trigger``, such as
    ``{"availableNow": True}``.
    """
    if not isinstance(plan, Plan):
        raise ArgumentError(
            "plan", plan, "it is what .plan(...) returns; .agg(...) is its DataFrame"
        )
    _check_sink("results", results)
    if refused is not None:
        _check_sink("refused", refused)
    if trigger is not None:
        _check_trigger(trigger)
    if not plan.is_streaming:
        put(plan.df, results, 0)
        if refused is not None:
            put(plan.refused, refused, 0)
        return None
    if not _is_folder(checkpoint):
        raise ArgumentError("checkpoint", checkpoint, "a stream needs a folder for its checkpoint")
    tagged = plan.tagged(keep_refused=refused is not None)
    splitter = _splitter(plan, results, refused)
    writer = tagged.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(splitter)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = _triggered(writer, trigger)
    return writer.start()


def _check_sink(argument: str, sink: object) -> None:
    if not (callable(sink) or _is_folder(sink)):
        raise ArgumentError(
            argument, sink, "it is a folder, or a function of the rows and the micro-batch's number"
        )


def _is_folder(value: object) -> bool:
    return isinstance(value, str | Path) and bool(str(value))


def _check_trigger(trigger: object) -> None:
    if not isinstance(trigger, Mapping) or len(trigger) != 1 or not {*trigger} <= {*_TRIGGERS}:
        raise ArgumentError("trigger", trigger, f"it is one of {', '.join(_TRIGGERS.values())}")


def _triggered(writer: DataStreamWriter, trigger: Mapping[str, Any]) -> DataStreamWriter:
    try:
        return writer.trigger(**trigger)
    except (PySparkException, ValueError, TypeError) as error:
        complaint = problem(error) if isinstance(error, PySparkException) else str(error)
        raise ArgumentError("trigger", trigger, f"Spark says: {complaint}") from error


def progress(query: StreamingQuery) -> dict[str, int]:
    """Return the counts of a query, summed over the reports that Spark keeps (the last 100).

    ``rows_in`` is always ``rows_used`` plus ``rows_refused``, which is the sum of its reasons. A
    row between two windows is used, and counted under ``rows_between`` as well.
    """
    if not hasattr(query, "recentProgress"):
        raise ArgumentError("query", query, "it is the query that mt.write or .start() returns")
    totals: dict[str, int] = {}
    for report in query.recentProgress:
        for name, row in report.observedMetrics.items():
            if name.startswith("muntin"):
                counts = observed(row)
                for count in COUNTS:
                    totals[count] = totals.get(count, 0) + (counts[count] or 0)
    # A query that waits for its first rows has reports, too.
    if not totals and any(report.numInputRows for report in query.recentProgress):
        raise MuntinError("this query has no Muntin plan in it, so it has no counts")
    return totals


def _splitter(plan: Plan, results: Sink, refused: Sink | None) -> Callable[[DataFrame, int], None]:
    """Return a function that splits a micro-batch; it ships Muntin to a Connect server."""
    output = plan.output
    if not isinstance(output.finisher, ResultNames | RenamedColumns):
        return _splitter_here(output, results, refused)
    load = loader()
    packed = pickle.dumps(output)

    def call(batch: DataFrame, number: int) -> None:
        import pickle as unpickle

        load()
        unpickle.loads(packed).split(batch, number, results, refused)

    return call


def _splitter_here(
    output: TaggedOutput, results: Sink, refused: Sink | None
) -> Callable[[DataFrame, int], None]:
    """Return the same for results that need a DataFrame of this process, which cannot ship."""
    if is_remote():
        raise MuntinError(
            "on Spark Connect a stream that is filled from a table cannot be split to two sinks; "
            "write its DataFrame: frames.fill(table).agg(...).writeStream"
        )

    def call(batch: DataFrame, number: int) -> None:
        output.split(batch, number, results, refused)

    return call
