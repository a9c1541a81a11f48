"""Frames of a stream: ``stream(...).frames(kind, ...)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.text import Column
from muntin.semantics.errors import ArgumentError
from muntin.semantics.framing.properties import Framing
from muntin.spark.compile_frames import CompiledFrames
from muntin.spark.explain_frames import frames_explanation
from muntin.spark.plan import Plan
from muntin.spark.segmented import Segmented


@dataclass(frozen=True, eq=False)
class Frames(Segmented):
    """Frames of a stream: as they are, or with aggregates of their own rows."""

    framing: Framing

    @property
    def df(self) -> DataFrame:
        """One row per frame.

        The ``by`` columns, ``frame_id``, ``frame_start``, ``frame_end``, ``n`` (rows),
        ``n_missing`` (missing rows that it bridges) and ``status``: ``final``, or ``partial`` for
        a fragment.
        """
        return self.plan().df

    def agg(self, *aggregates: str | Aggregate) -> DataFrame:
        """Aggregates of each frame's own rows, as an ordinary Spark DataFrame.

        The ``by`` columns, ``frame_id``, ``frame_start``, ``frame_end``, ``status``, then one
        column per aggregate: SQL text (``"avg(loss_rate) AS mean"``) or ``mt.*`` functions.
        """
        if not aggregates:
            raise ArgumentError("aggregates", (), "name at least one, or use .df")
        return self.plan(*aggregates).df

    def plan(self, *aggregates: str | Aggregate) -> Plan:
        """As :attr:`df` or :meth:`agg`, but a plan: for :func:`muntin.write`, and refused rows."""
        plan = self._planned(aggregates)
        if self.source.df.isStreaming and self.framing.longest:
            raise ArgumentError(
                "longest",
                True,
                "which frame is the longest is known only when input ends, and a stream does not; "
                "leave it out, or read a batch",
            )
        return plan

    def explain(self, *aggregates: str | Aggregate) -> None:
        """Print what is looked for, how rows travel, and what a stream keeps."""
        plan = self.plan(*aggregates)
        assert isinstance(plan.compiled, CompiledFrames)
        print(frames_explanation(plan.compiled, streaming=plan.is_streaming))

    def compiled(self, columns: Sequence[Column]) -> CompiledFrames:
        return CompiledFrames(self.source, self.framing, tuple(columns), prefix=self.prefix)
