"""Plans: what is computed over one stream or several, ready to become a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from pyspark.sql import DataFrame

from muntin.errors import MuntinError
from muntin.operators.protocol import Operator
from muntin.spark.exchange import batch_driver, stream_driver
from muntin.spark.exchange.messages import InputRoute, announced, routed
from muntin.spark.exchange.refused_rows import RefusedColumns
from muntin.spark.exchange.shipping import shipped
from muntin.spark.exchange.stored_input import StoredInput
from muntin.spark.plan.protocol import PlanParts


@dataclass(frozen=True, eq=False)
class Plan:
    """What ``.agg(...)`` computes, before it is a DataFrame.

    ``df`` has the results, :func:`muntin.write` sends results and refused rows to two sinks, and
    ``explain()`` says what it will cost.
    """

    compiled: PlanParts

    @property
    def is_streaming(self) -> bool:
        return self.compiled.is_streaming

    @property
    def name(self) -> str:
        """Under which the counts stand in a streaming query's progress."""
        return self.compiled.label

    @cached_property
    def df(self) -> DataFrame:
        """The results, one row per key and window."""
        if not self.is_streaming:
            return self._batch()
        return self.output.results(self.tagged(keep_refused=False))

    def _batch(self) -> DataFrame:
        operator = self.compiled.batch_operator
        messages = self._messages(self._lanes(operator, in_batch=True), originals=False)
        return self.compiled.finisher.apply(
            batch_driver.run(messages, operator, self.compiled.flat_schema)
        )

    def _lanes(self, operator: Operator, *, in_batch: bool) -> tuple[InputRoute, ...]:
        """How each input travels; in a batch its end is its only punctuation."""
        return tuple(
            InputRoute.of(
                operator,
                source,
                feed.punctuator.in_batch if in_batch else feed.punctuator,
                self.compiled.shards,
                feed.everywhere,
            )
            for source, feed in enumerate(self.compiled.feeds)
        )

    def _messages(self, lanes: Sequence[InputRoute], *, originals: bool) -> DataFrame:
        feeds = zip(self.compiled.feeds, lanes, strict=True)
        return _union(
            [routed(feed.prepared(originals), lane) for feed, lane in feeds if not feed.preset]
        )

    def _preset(self, lanes: Sequence[InputRoute], *, originals: bool) -> tuple[StoredInput, ...]:
        """The inputs that travel with the query."""
        feeds = zip(self.compiled.feeds, lanes, strict=True)
        return tuple(
            StoredInput.of(lane.source, routed(feed.prepared(originals), lane), lane.shards)
            for feed, lane in feeds
            if feed.preset
        )

    def tagged(self, *, keep_refused: bool) -> DataFrame:
        """Streams: results, refused rows and counts of one query, told apart by ``tag``."""
        compiled = self.compiled
        lanes = self._lanes(compiled.operator, in_batch=False)
        messages = self._messages(lanes, originals=keep_refused)
        told = [
            announced(feed.control, feed.axis, compiled.shards, source)
            for source, feed in enumerate(compiled.feeds)
            if feed.control is not None
        ]
        preset = self._preset(lanes, originals=keep_refused)
        task = stream_driver.ShardTask(compiled.operator, lanes, compiled.identity, preset)
        return stream_driver.counted(stream_driver.run(_union([messages, *told]), task), self.name)

    @cached_property
    def output(self) -> stream_driver.Output:
        """How tagged output is told apart."""
        compiled = self.compiled
        return stream_driver.Output(compiled.finisher, compiled.flat_schema, self._refusing)

    @property
    def _refusing(self) -> RefusedColumns:
        feeds = self.compiled.feeds
        return RefusedColumns(tuple(f.name for f in feeds), tuple(f.refused_schema for f in feeds))

    @property
    def refused(self) -> DataFrame:
        """Batch: the rows that have no place in any window, with the reason.

        In a stream refused rows come from the query that makes the results; use
        :func:`muntin.write` with ``refused=``.
        """
        if self.is_streaming:
            raise MuntinError(
                "a stream's refused rows come from the same query as its results: "
                "mt.write(plan, results=..., refused=...)"
            )
        lanes = self._lanes(self.compiled.operator, in_batch=True)
        return self._refusing.together([self._refused(lanes, lane) for lane in lanes])

    def _refused(self, lanes: Sequence[InputRoute], lane: InputRoute) -> DataFrame:
        """The refused rows of one input."""
        feed = self.compiled.feeds[lane.source]
        worker = shipped("muntin.spark.exchange.batch_driver", "refusals", lane)
        refused = feed.prepared(True).mapInArrow(worker, feed.refused_schema)
        if not feed.may_refuse:
            return refused
        messages = self._messages(lanes, originals=True)
        found = batch_driver.fallen(
            messages, self.compiled.operator, lane.source, feed.refused_schema
        )
        return refused.unionByName(found)

    @property
    def explanation(self) -> object:
        """What ``explain`` prints, as data."""
        return self.compiled.explained()

    def explain(self) -> None:
        """Print which panes, shards and state the plan uses, and what that costs."""
        print(self.explanation)


def _union(messages: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionByName, messages)
