"""Frames of a stream: ``stream(...).frames(kind, ...)``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from muntin.aggregates.parse import Column
from muntin.errors import ArgumentError
from muntin.spark.api.plan import AggregatedResult, Given, Plan
from muntin.spark.api.segments import Segments
from muntin.spark.plan.frames import FramePlan
from muntin.specs.emission import Emission, Emit, Every
from muntin.specs.frames.framing import Framing

if TYPE_CHECKING:
    from muntin.spark.plot.chart import Chart


@dataclass(frozen=True, eq=False, repr=False)
class Frames(Segments, AggregatedResult):
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

    def agg(
        self,
        *aggregates: Given,
        emit: Emit = "final",
        every: Every = None,
        confidence: float | None = None,
    ) -> DataFrame:
        """Return aggregates of each frame's own rows, as an ordinary Spark DataFrame.

        The ``by`` columns, ``frame_id``, ``frame_start``, ``frame_end``, ``status``, then one
        column per aggregate: SQL text (``"avg(loss_rate) AS mean"``) or ``mt.*`` functions. ``n``
        and ``n_missing`` may be named as well: ``frames.agg("n", "sum(v) / n AS mean")``.

        Args:
            aggregates: What is computed.
            emit: ``"final"``: each frame once. ``"early"``: also frames that are open, after every
                micro-batch, with the columns ``change`` and ``final``.
            every: With ``emit="early"``, how far the stream progresses along ``on`` between two
                reports of what is open, such as ``"1 minute"``.
            confidence: With ``emit="early"``, adds ``_low`` and ``_high`` to each average.
        """
        if not aggregates:
            raise ArgumentError("aggregates", (), "name at least one, or use .df")
        return super().agg(*aggregates, emit=emit, every=every, confidence=confidence)

    def plan(
        self,
        *aggregates: Given | Column,
        emit: Emit = "final",
        every: Every = None,
        confidence: float | None = None,
    ) -> Plan:
        """Return the same as :attr:`df` or :meth:`agg`, but a plan: for :func:`muntin.write`."""
        return self._checked_plan(aggregates, Emission(emit, every, confidence))

    def explain(self, *aggregates: Given) -> None:
        """Print what is looked for, how rows travel, and what a stream keeps."""
        self.plan(*aggregates).explain()

    def plot(
        self,
        value: object = None,
        *,
        frames: object = None,
        rows: object = None,
        key: object = None,
        path: str | Path | None = None,
        width: int = 720,
        height: int = 180,
        title: str | None = None,
        label: str | None = None,
        limit: int = 12,
    ) -> Chart:
        """Draw the series with its frames shaded and labelled.

        The chart shows itself in a notebook, and ``path`` writes it to a file. Frames of a region
        are rectangles on a map of the values. A series with more rows than pixels is thinned on
        Spark to the first, last, least and greatest row of every pixel, which looks the same.
        Pictures need ``pip install 'muntin[plot]'``.

        Args:
            value: What to draw: a column, SQL text or a PySpark column; a number or text. Unless
                given, the one column that the kind of frame reads: ``x`` of ``threshold("x > 5")``.
            frames: The frames, if they have been collected: a list of rows, a pandas or a Spark
                DataFrame, from :attr:`df` or :meth:`agg`. A stream needs them.
            rows: The rows to draw, in any of these forms. A stream needs them too.
            key: The key to draw, or a list of keys; a tuple where ``by`` has several columns.
            path: A file that ends in ``.png``, ``.svg`` or ``.html``.
            width: Of the chart, in pixels.
            height: Of the chart of one key.
            title: Instead of the kind of frame.
            label: The column of ``frames`` that labels them, instead of ``frame_id``.
            limit: How many keys are drawn unless ``key`` names them, those with frames first.

        Returns:
            An altair chart, with one chart below the other where there are several keys.
        """
        from muntin.spark.plot.frames import plot  # which needs a package that others do without

        return plot(
            self.source,
            self.framing,
            self.prefix,
            value,
            frames=lambda: self.df,
            found=frames,
            rows=rows,
            key=key,
            path=path,
            width=width,
            height=height,
            title=title,
            label=label,
            limit=limit,
        )

    @cached_property
    def bare(self) -> FramePlan:
        return FramePlan(self.source, self.framing, prefix=self.prefix)
