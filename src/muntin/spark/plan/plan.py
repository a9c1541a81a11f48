"""The base of all plans: inputs, an operator and names, which together become a DataFrame."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property, reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types

from muntin.operators.progress.ahead import AHEAD
from muntin.operators.protocol import Operator
from muntin.spark.columns import to_spark
from muntin.spark.exchange import batch_driver, stream_driver
from muntin.spark.exchange.control_rows import announced
from muntin.spark.exchange.counts import counted
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.routing import InputRoute, StoredInput, routed
from muntin.spark.exchange.shards import PER_PARTITION
from muntin.spark.exchange.shipping import shipped
from muntin.spark.plan.inputs import PlanInput, StreamInput
from muntin.spark.plan.plan_arguments import arguments
from muntin.spark.plan.results import Finisher, RefusedColumns, TaggedOutput
from muntin.spark.scan.file_source import FileSource


class PlanParts:
    """The base class of plans. Drivers run a plan, sinks write it and ``explain`` describes it.

    Each plan defines its main ``stream``, its inputs, its operator, its finisher and its identity.
    """

    @property
    def stream(self) -> StreamInput:
        """The main stream: it gives the plan its name and its number of shards."""
        raise NotImplementedError

    @property
    def inputs(self) -> Sequence[PlanInput]:
        """The inputs, in the order in which the operator numbers them."""
        raise NotImplementedError

    @property
    def operator(self) -> Operator:
        """The operator that streams run."""
        raise NotImplementedError

    @property
    def batch_operator(self) -> Operator:
        """The operator that batches run; it may be faster because it sees all rows at once."""
        return self.operator

    @property
    def finisher(self) -> Finisher:
        """Turns the rows that the operator reports into results."""
        raise NotImplementedError

    @property
    def identity(self) -> Mapping[str, str]:
        """Texts that must not change between runs on one checkpoint, by name.

        They are the whole fingerprint of version 1, and so stay as they are.
        """
        raise NotImplementedError

    @property
    def fingerprint(self) -> Fingerprint:
        """The identity, and with it every argument and every column that travels."""
        # What is ahead may change at a restart.
        travelling = {
            f"columns of {plan_input.name}": spark_types.StructType(
                [field for field in plan_input.prepared(False).schema if field.name != AHEAD]
            )
            for plan_input in self.inputs
        }
        # The time zone counts only if something depends on it: machines differ in it.
        depends = self.read_in(self.zone) != self.read_in("UTC")
        zone = {"zone": self.zone} if depends else {}
        named = {**travelling, **zone}
        return Fingerprint(self.identity, dict([*arguments(named), *arguments(self)]))

    @property
    def zone(self) -> str:
        """The time zone in which days, and times without a zone, are read."""
        raise NotImplementedError

    def read_in(self, zone: str) -> object:
        """Return where windows, instants or intervals begin if days are those of some zone."""
        raise NotImplementedError

    @property
    def shards(self) -> int:
        """The number of shards, or ``PER_PARTITION``. Without keys all rows go to one shard."""
        return self.stream.shard_count if self.stream.by else 1

    @property
    def shard_text(self) -> str:
        """The number of shards in the identity of the plan.

        A plan without a given number has always had this text in its label, which must not change.
        The shards write the number that they have.
        """
        return str(self.shards) if self.shards != PER_PARTITION else "16"

    @property
    def is_streaming(self) -> bool:
        """True if an input is a stream."""
        return self.stream.df.isStreaming

    @cached_property
    def flat_schema(self) -> spark_types.StructType:
        """The columns that the operator reports, in Spark's types."""
        return spark_schema(self.operator.result_schema)

    @property
    def label(self) -> str:
        """The name of the plan's counts in a query's progress, the same at every start.

        It consists of the main columns of the plan and a digest, because a query may hold two plans
        over the same columns.
        """
        kind, text = self._digested
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return "_".join(["muntin", *self.stream.by, self.stream.on, *kind, digest])

    @property
    def _digested(self) -> tuple[tuple[str, ...], str]:
        """A word for the kind of plan if its label has one, and the text that is digested."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise if a type, a name, an expected value or a stream does not suit the plan."""
        self.finisher.check()
        for plan_input in self.inputs:
            plan_input.typed.check_ahead()
        # Building both raises if a type does not suit.
        if not (self.flat_schema.fields and self.inputs):
            raise AssertionError("a plan has inputs and results")
        if self.is_streaming:
            self.check_streams()

    def check_streams(self) -> None:
        """Raise if an input is a stream that cannot be run."""

    def batch_results(self) -> DataFrame:
        """Return the results of a batch; of rows that only workers have there are none here."""
        files = self.stream.files
        if files is not None and not isinstance(files, FileSource):
            empty = self.stream.df.sparkSession.createDataFrame([], self.flat_schema)
            return self.finisher.apply(empty)
        operator = self.batch_operator
        messages = self._messages(self._routes(operator, in_batch=True), originals=False)
        renamed = self.finisher.renamed
        results = batch_driver.run(messages, operator, self.flat_schema, renamed)
        return results if renamed is not None else self.finisher.apply(results)

    def tagged_output(self, *, keep_refused: bool) -> DataFrame:
        """Return results, refused rows and counts of one streaming query, each with its tag."""
        task = self.shard_task(keep_refused=keep_refused)
        routes = task.routes
        control = [
            announced(plan_input.control, plan_input.axis, route)
            for route, plan_input in zip(routes, self.inputs, strict=True)
            if plan_input.control is not None
        ]
        messages = self._messages(routes, originals=keep_refused)
        tagged = stream_driver.run(_union([messages, *control]), task)
        return counted(tagged, self.label)

    def shard_task(self, *, keep_refused: bool) -> stream_driver.ShardTask:
        """Return everything that the shards of a stream need."""
        routes = self._routes(self.operator, in_batch=False)
        stored = self._stored_inputs(routes, originals=keep_refused)
        return stream_driver.ShardTask(self.operator, routes, self.fingerprint, self.shards, stored)

    @cached_property
    def output(self) -> TaggedOutput:
        """Splits the output of a stream by tag."""
        return TaggedOutput(self.finisher, self.flat_schema, self._refused_columns)

    def batch_refused(self) -> DataFrame:
        """Return the rows of a batch that have no place in any result, with the reason."""
        routes = self._routes(self.operator, in_batch=True)
        return self._refused_columns.together([self._refused(routes, route) for route in routes])

    @property
    def _refused_columns(self) -> RefusedColumns:
        names = tuple(plan_input.name for plan_input in self.inputs)
        return RefusedColumns(names, tuple(plan_input.refused_schema for plan_input in self.inputs))

    def _refused(self, routes: Sequence[InputRoute], route: InputRoute) -> DataFrame:
        """Return the refused rows of one input."""
        plan_input = self.inputs[route.source]
        schema = plan_input.refused_schema
        rows = plan_input.rows(True)
        worker = shipped("muntin.spark.exchange.batch_driver", "refusals", route, rows.scan)
        refused = rows.df.mapInArrow(worker, schema)
        if not plan_input.may_refuse:
            return refused
        messages = self._messages(routes, originals=True)
        by_operator = batch_driver.fallen(messages, self.operator, route.source, schema)
        return refused.unionByName(by_operator)

    def _routes(self, operator: Operator, *, in_batch: bool) -> tuple[InputRoute, ...]:
        """Return how each input travels; in a batch its end is its only punctuation."""
        return tuple(
            InputRoute.of(
                operator,
                number,
                plan_input.punctuator.in_batch if in_batch else plan_input.punctuator,
                self.shards,
                plan_input.everywhere,
                ahead=None if in_batch else plan_input.typed.ahead,
            )
            for number, plan_input in enumerate(self.inputs)
        )

    def _messages(self, routes: Sequence[InputRoute], *, originals: bool) -> DataFrame:
        pairs = zip(self.inputs, routes, strict=True)
        return _union(
            [
                routed(plan_input.rows(originals), route)
                for plan_input, route in pairs
                if not plan_input.stored
            ]
        )

    def _stored_inputs(
        self, routes: Sequence[InputRoute], *, originals: bool
    ) -> tuple[StoredInput, ...]:
        """Return the inputs that travel with the query."""
        pairs = zip(self.inputs, routes, strict=True)
        return tuple(
            StoredInput.of(plan_input.rows(originals), route)
            for plan_input, route in pairs
            if plan_input.stored
        )


def spark_schema(schema: pa.Schema) -> spark_types.StructType:
    """Return Arrow columns in Spark's types."""
    return spark_types.StructType(
        [spark_types.StructField(field.name, to_spark(field.type)) for field in schema]
    )


def _union(messages: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionByName, messages)
