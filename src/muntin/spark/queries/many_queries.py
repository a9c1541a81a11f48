"""Starting the streaming query of an engine's stream, which runs all continuous queries over it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType
from pyspark.sql.utils import is_remote

from muntin.errors import EngineError
from muntin.expressions.spark_expressions import Expression, Name, Native, Travelling
from muntin.operators.shared.as_json import to_json
from muntin.operators.shared.network import StreamRule
from muntin.operators.shared.prepared_column import PreparedColumn
from muntin.operators.shared.program import QueryProgram
from muntin.spark.api.control import control
from muntin.spark.api.stream import Stream
from muntin.spark.columns import column, dataframe, to_spark
from muntin.spark.exchange.control_rows import announced
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.messages import decode
from muntin.spark.exchange.network_driver import ANSWERS, KEPT, NetworkTask, routed, run
from muntin.spark.exchange.pinned_versions import VersionFiles
from muntin.spark.plan.inputs import TypedInput
from muntin.spark.plan.second_input import shared_axis
from muntin.spark.plan.worker_program import rule_columns
from muntin.spark.requirements import setting
from muntin.spark.scan.choose import InputRows, input_rows
from muntin.spark.scan.worker_rows import CarriedRows
from muntin.specs.axis import Axis
from muntin.specs.lengths import Length

#: Called with the reports of all shards, the rows to keep and the number of the micro-batch, to
#: commit it.
Commit = Callable[[list[pa.Table], list[pa.Table], int], None]
Finish = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, eq=False)
class RuledInput(TypedInput):
    """The rows of an input of a stream as its punctuator reads them.

    ``lengths`` must fit on the axis that all ``inputs`` share.
    """

    lengths: tuple[Length, ...] = ()
    inputs: tuple[Stream, ...] = ()

    @cached_property
    def axis(self) -> Axis:
        return shared_axis(self.inputs, self.lengths)


@dataclass(frozen=True, eq=False)
class NetworkInput:
    """An input of a stream: its rows as they were declared, and the columns that queries read.

    ``number`` is its place among the inputs.
    """

    source: Stream
    carried: tuple[str, ...]
    name: str = ""
    number: int = 0

    @cached_property
    def planning(self) -> Stream:
        """The input over an empty table with the carried columns, to plan queries on."""
        fields = [self.source.df.schema[name] for name in self.carried]
        empty = self.source.df.sparkSession.createDataFrame([], StructType(fields))
        rows = CarriedRows(empty, number=self.number)
        return replace(self.source, df=empty, files=rows, control=None, clock=False)

    @cached_property
    def planning_beyond(self) -> Stream:
        """The input over an empty table with all columns of its source."""
        return replace(self, carried=tuple(self.source.df.columns)).planning

    @property
    def shard_keys(self) -> tuple[str, ...]:
        return tuple(f"k{place}" for place in range(len(self.source.by)))

    def rows(
        self, prepared: Iterable[PreparedColumn] = (), empty: Container[PreparedColumn] = ()
    ) -> InputRows:
        """Return the carried columns and prepared ones, and who reads them: Spark, or workers."""
        own = sorted((c for c in prepared if c.of == self.number), key=lambda c: c.name)
        travelling: list[Travelling] = [(name, Name(name)) for name in self.carried]
        travelling += [
            (made.name, _null(made.type) if made in empty else made.expression) for made in own
        ]
        parts = [column(expression).alias(name) for name, expression in travelling]
        return input_rows(self.source.scannable, self.source.df.select(*parts), travelling)

    @cached_property
    def scanned(self) -> bool:
        """Whether workers read the rows themselves, from files."""
        return self.rows().scan is not None

    @property
    def identity(self) -> Mapping[str, str]:
        """Texts that must not change between two starts on one checkpoint."""
        source = self.source
        types = [
            f"{name} {source.df.schema[name].dataType.simpleString()}" for name in self.carried
        ]
        return {
            "stream": f"on {source.on}; by {', '.join(source.by) or 'nothing'}",
            "columns": ", ".join(types),
            "disorder": source.disorder.state_kind if source.disorder else "told",
        }

    def check(self) -> None:
        """Raise if the rows cannot be run as a stream."""
        if not self.source.df.isStreaming:
            raise EngineError(
                "the engine runs streams, and this DataFrame is a batch; read it with "
                "spark.readStream, or mt.parquet(..., streaming=True)"
            )
        self.source.check_run()


@dataclass(frozen=True, eq=False)
class NetworkStream:
    """A stream whose rows go to many queries.

    Args:
        source: The stream as it was declared, or its first input.
        carried: The columns that queries can read.
        lengths: Lengths along ``on`` that must be whole numbers of ticks, such as the grain.
        keep: Whether rows are kept.
        name: The name by which queries read it.
        others: Its other inputs, if it has several.
        base: The windows whose panes are kept whatever queries there are; None if none are.
    """

    source: Stream
    carried: tuple[str, ...]
    lengths: tuple[Length, ...] = ()
    keep: bool = False
    name: str = ""
    others: tuple[NetworkInput, ...] = ()
    base: QueryProgram | None = None

    @cached_property
    def inputs(self) -> tuple[NetworkInput, ...]:
        """All inputs."""
        return (NetworkInput(self.source, self.carried, self.name), *self.others)

    @property
    def planning(self) -> Stream:
        """The first input over an empty table with the carried columns, to plan queries on."""
        return self.inputs[0].planning

    @cached_property
    def ruled(self) -> tuple[RuledInput, ...]:
        sources = tuple(own.planning for own in self.inputs)
        return tuple(RuledInput(source, self.lengths, sources) for source in sources)

    @property
    def axis(self) -> Axis:
        """The axis of the stream and of all queries over it."""
        return self.ruled[0].axis

    @cached_property
    def rule(self) -> str:
        """How the stream progresses, as JSON."""
        first, *others = (
            StreamRule(ruled.axis, rule_columns(ruled), ruled.punctuator) for ruled in self.ruled
        )
        return to_json(replace(first, others=tuple(others), base=self.base))

    def check(self) -> None:
        """Raise if the stream cannot be run."""
        for own in self.inputs:
            own.check()
        session = self.source.df.sparkSession
        if setting(session, "spark.sql.ansi.enabled", "true") != "true":
            raise EngineError("queries of the engine follow ANSI SQL; set spark.sql.ansi.enabled")

    @property
    def identity(self) -> Mapping[str, str]:
        """Texts that must not change between two starts on one checkpoint."""
        digits = {"resolution": f"{self.axis.digits} decimals"}
        if not self.others:
            return {**self.inputs[0].identity, **digits}
        named_inputs = {"inputs": ", ".join(own.name for own in self.inputs)}
        texts = {
            f"{part} of {own.name}": text
            for own in self.inputs
            for part, text in own.identity.items()
        }
        return {**named_inputs, **texts, **digits}

    def start(
        self,
        versions: VersionFiles,
        commands: str,
        checkpoint: Path,
        commit: Commit,
        name: str,
        trigger: Mapping[str, Any] | None = None,
        prepared: Iterable[PreparedColumn] = (),
        empty: Container[PreparedColumn] = (),
    ) -> StreamingQuery:
        """Start the streaming query.

        Args:
            versions: Where tasks find the queries of each micro-batch.
            commands: A folder in which a file of control rows begins a micro-batch.
            checkpoint: The folder of the checkpoint.
            commit: Commits a micro-batch.
            name: The name of the streaming query.
            trigger: The arguments of ``DataStreamWriter.trigger``.
            prepared: The columns that Spark prepares for queries.
            empty: Those of them that are NULL, because only queries that are dropped read them.
        """
        shard_keys = tuple(own.shard_keys for own in self.inputs)
        fingerprint = Fingerprint(self.identity)
        shards = self.source.shard_count
        task = NetworkTask(self.rule, versions, shard_keys, shards, fingerprint, self.keep)
        routes, columns = task.routes, tuple(prepared)
        commands_rows = control(self.source.df.sparkSession, commands)
        parts = [routed(own.rows(columns, empty), task, own.number) for own in self.inputs]
        parts.append(announced(commands_rows, self.axis, *routes))
        for own, route in zip(self.inputs, routes, strict=True):
            if own.source.control is not None:
                parts.append(announced(own.source.control, self.axis, route))
        messages = reduce(DataFrame.unionByName, parts)
        writer = run(messages, task).writeStream.foreachBatch(_committing(commit))
        writer = writer.option("checkpointLocation", str(checkpoint)).queryName(name)
        return (writer if trigger is None else writer.trigger(**trigger)).start()


def _null(type_: pa.DataType) -> Expression:
    return Native(F.lit(None).cast(to_spark(type_)))


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
