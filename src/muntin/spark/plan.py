"""Plans: a window and its aggregates over a stream, ready to become a DataFrame."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame

from muntin.operators.frames.runs import in_batch
from muntin.semantics.errors import MuntinError
from muntin.spark import batch, streaming
from muntin.spark.compile import Compiled
from muntin.spark.exchange import announced, routed
from muntin.spark.explain import Explanation, explanation
from muntin.spark.explain_frames import FramesExplanation
from muntin.spark.explain_sequence import SequenceExplanation
from muntin.spark.fingerprint import fingerprint
from muntin.spark.ship import shipped


@dataclass(frozen=True, eq=False)
class Plan:
    """What ``.agg(...)`` computes, before it is a DataFrame.

    ``df`` has the results, :func:`muntin.write` sends results and refused rows to two sinks, and
    ``explain()`` says what it will cost.
    """

    compiled: Compiled

    @property
    def is_streaming(self) -> bool:
        return self.compiled.source.df.isStreaming

    @cached_property
    def name(self) -> str:
        """Under which the counts stand in a streaming query's progress.

        The columns it is about, and a digest of window and results: a query may hold two plans
        over the same columns. It is the same at every start.
        """
        compiled = self.compiled
        told, named = fingerprint(compiled), compiled.naming
        windows = (told["window"], told["unfinished"], named.by, named.prefix)
        what = repr((*windows, told["aggregates"], named.results))
        digest = hashlib.sha256(what.encode()).hexdigest()[:8]
        return "_".join(["muntin", *compiled.source.by, compiled.source.on, digest])

    @cached_property
    def df(self) -> DataFrame:
        """The results, one row per key and window."""
        if not self.is_streaming:
            return self._batch()
        return self.output.results(self.tagged(keep_refused=False))

    def _batch(self) -> DataFrame:
        compiled = self.compiled
        rule = compiled.punctuator.in_batch
        operator = in_batch(compiled.operator)
        messages = routed(compiled.prepared(), operator, rule, compiled.shards)
        flat = batch.run(messages, operator, compiled.flat_schema)
        return compiled.naming.apply(flat)

    def tagged(self, *, keep_refused: bool) -> DataFrame:
        """Streams: results, refused rows and counts of one query, told apart by ``tag``."""
        compiled = self.compiled
        prepared = compiled.prepared(originals=keep_refused)
        rule, shards = compiled.punctuator, compiled.shards
        messages = routed(prepared, compiled.operator, rule, shards)
        control = compiled.source.control
        if control is not None:
            messages = messages.unionByName(announced(control, compiled.axis, shards))
        task = streaming.ShardTask(compiled.operator, rule, fingerprint(compiled))
        return streaming.counted(streaming.run(messages, task), self.name)

    @cached_property
    def output(self) -> streaming.Output:
        """How tagged output is told apart."""
        compiled = self.compiled
        return streaming.Output(compiled.naming, compiled.flat_schema, compiled.refused_schema)

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
        compiled, rule = self.compiled, self.compiled.punctuator.in_batch
        prepared, operator = compiled.prepared(originals=True), compiled.operator
        worker = shipped("muntin.spark.batch", "refusals", operator, rule)
        refused = prepared.mapInArrow(worker, compiled.refused_schema)
        if operator.may_refuse:
            messages = routed(prepared, operator, rule, compiled.shards)
            fallen = batch.fallen(messages, operator, compiled.refused_schema)
            return refused.unionByName(fallen)
        return refused

    @property
    def explanation(self) -> Explanation | SequenceExplanation | FramesExplanation:
        """What ``explain`` prints, as data."""
        return explanation(self.compiled, streaming=self.is_streaming)

    def explain(self) -> None:
        """Print which panes, shards and state the plan uses, and what that costs."""
        print(self.explanation)
