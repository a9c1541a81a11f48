"""Starting the streaming query of an engine's stream, which runs all continuous queries over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType
from pyspark.sql.utils import is_remote

from muntin.errors import EngineError
from muntin.expressions.spark_expressions import Name
from muntin.operators.shared.as_json import to_json
from muntin.operators.shared.network import StreamRule
from muntin.operators.shared.program import QueryProgram
from muntin.spark.api.control import control
from muntin.spark.api.stream import Stream
from muntin.spark.columns import dataframe, named
from muntin.spark.exchange.control_rows import announced
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.messages import decode
from muntin.spark.exchange.network_driver import ANSWERS, KEPT, NetworkTask, routed, run
from muntin.spark.exchange.pinned_versions import VersionFiles
from muntin.spark.plan.inputs import TypedInput
from muntin.spark.plan.second_input import shared_axis
from muntin.spark.plan.worker_program import rule_columns
from muntin.spark.requirements import setting
from muntin.spark.scan.choose import input_rows
from muntin.spark.scan.worker_rows import WorkerRows
from muntin.specs.axis import Axis
from muntin.specs.lengths import Length

#: Called with the reports of all shards, the rows to keep and the number of the micro-batch, to
#: commit it.
Commit = Callable[[list[pa.Table], list[pa.Table], int], None]
Finish = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, eq=False)
class RuledInput(TypedInput):
    """The rows of a stream as its punctuator reads them; ``lengths`` must fit on its axis."""

    lengths: tuple[Length, ...] = ()

    @cached_property
    def axis(self) -> Axis:
        return shared_axis([self.source], self.lengths)


@dataclass(frozen=True, eq=False)
class NetworkStream:
    """A stream whose rows go to many queries.

    Args:
        source: The stream as it was declared.
        carried: The columns that queries can read.
        lengths: Lengths along ``on`` that must be whole numbers of ticks, such as the grain.
        keep: Whether rows are kept.
        base: The windows whose panes are kept whatever queries there are; None if none are.
    """

    source: Stream
    carried: tuple[str, ...]
    lengths: tuple[Length, ...] = ()
    keep: bool = False
    base: QueryProgram | None = None

    @cached_property
    def planning(self) -> Stream:
        """The stream over an empty table with the carried columns, to plan queries on."""
        fields = [self.source.df.schema[name] for name in self.carried]
        empty = self.source.df.sparkSession.createDataFrame([], StructType(fields))
        return replace(self.source, df=empty, files=WorkerRows(empty), control=None, clock=False)

    @cached_property
    def ruled(self) -> RuledInput:
        return RuledInput(self.planning, self.lengths)

    @property
    def axis(self) -> Axis:
        """The axis of the stream and of all queries over it."""
        return self.ruled.axis

    @cached_property
    def rule(self) -> str:
        """How the stream progresses, as JSON."""
        ruled = self.ruled
        return to_json(StreamRule(ruled.axis, rule_columns(ruled), ruled.punctuator, self.base))

    def check(self) -> None:
        """Raise if the stream cannot be run."""
        session = self.source.df.sparkSession
        if not self.source.df.isStreaming:
            raise EngineError(
                "the engine runs streams, and this DataFrame is a batch; read it with "
                "spark.readStream, or mt.parquet(..., streaming=True)"
            )
        if setting(session, "spark.sql.ansi.enabled", "true") != "true":
            raise EngineError("queries of the engine follow ANSI SQL; set spark.sql.ansi.enabled")
        self.source.check_run()

    @property
    def identity(self) -> Mapping[str, str]:
        """Texts that must not change between two starts on one checkpoint."""
        source = self.source
        types = [
            f"{name} {source.df.schema[name].dataType.simpleString()}" for name in self.carried
        ]
        disorder = source.disorder.state_kind if source.disorder else "told"
        return {
            "stream": f"on {source.on}; by {', '.join(source.by) or 'nothing'}",
            "columns": ", ".join(types),
            "resolution": f"{self.axis.digits} decimals",
            "disorder": disorder,
        }

    def start(
        self,
        versions: VersionFiles,
        commands: str,
        checkpoint: Path,
        commit: Commit,
        name: str,
        trigger: Mapping[str, Any] | None = None,
    ) -> StreamingQuery:
        """Start the streaming query.

        Args:
            versions: Where tasks find the queries of each micro-batch.
            commands: A folder in which a file of control rows begins a micro-batch.
            checkpoint: The folder of the checkpoint.
            commit: Commits a micro-batch.
            name: The name of the streaming query.
            trigger: The arguments of ``DataStreamWriter.trigger``.
        """
        source = self.source
        shard_keys = tuple(f"k{place}" for place in range(len(source.by)))
        fingerprint = Fingerprint(self.identity)
        shards = source.shard_count
        task = NetworkTask(self.rule, versions, shard_keys, shards, fingerprint, self.keep)
        prepared = source.df.select(*(named(column) for column in self.carried))
        travelling = [(column, Name(column)) for column in self.carried]
        rows = input_rows(source.scannable, prepared, travelling)
        commands_rows = control(source.df.sparkSession, commands)
        parts = [commands_rows] if source.control is None else [commands_rows, source.control]
        messages = routed(rows, task)
        for part in parts:
            messages = messages.unionByName(announced(part, self.axis, task.route))
        writer = run(messages, task).writeStream.foreachBatch(_committing(commit))
        writer = writer.option("checkpointLocation", str(checkpoint)).queryName(name)
        return (writer if trigger is None else writer.trigger(**trigger)).start()


def _committing(commit: Commit) -> Callable[[DataFrame, int], None]:
    def call(batch: DataFrame, number: int) -> None:
        # In this thread, so that tasks know the number of their micro-batch.
        rows = batch.select("tag", "payload", "counts").collect()
        reports = [decode(bytes(row["payload"])) for row in rows if row["tag"] == ANSWERS]
        kept = sorted((row["counts"], row["payload"]) for row in rows if row["tag"] == KEPT)
        commit(reports, [decode(bytes(payload)) for _, payload in kept], number)

    return call


def check_session(spark: SparkSession) -> None:
    """Raise if an engine cannot run in a session."""
    if is_remote() or not hasattr(spark, "sparkContext"):
        raise EngineError(
            "an engine does not run on a Spark Connect session, whose sinks run in another "
            "process; run it beside the driver, and use it with mt.connect"
        )


def finished(spark: SparkSession, flat: pa.Table, finish: Finish) -> pa.Table:
    """Return what Spark makes of the rows of an operator."""
    return finish(dataframe(spark, flat)).toArrow()
