"""``mt.Plan``: a computation over one stream or several, before it becomes a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import Column
from muntin.errors import MuntinError
from muntin.spark.described import Described, Line
from muntin.spark.explain.explanation import Explanation, explained
from muntin.spark.explain.state_of_plan import state_of
from muntin.spark.explain.state_profile import StateProfile
from muntin.spark.plan.plan import PlanParts
from muntin.spark.plan.results import TaggedOutput
from muntin.specs.emission import Emit, Every

if TYPE_CHECKING:
    from altair import Chart


#: An aggregate as users give it; a mapping has functions by column, as PySpark's ``agg`` takes it.
Given = str | Aggregate | SparkColumn | Mapping[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Described):
    """A computation over streams, such as ``.agg(...)``, before it becomes a DataFrame.

    ``df`` has the results, :func:`muntin.write` sends results and refused rows to two sinks, and
    ``explain()`` says what it will cost.
    """

    parts: PlanParts

    @classmethod
    def checked(cls, parts: PlanParts) -> Plan:
        """Return the plan of these parts; raise if something does not suit."""
        parts.check()
        return cls(parts)

    @property
    def description(self) -> str:
        first = "; ".join(f"{name} {text}" for name, text in self.explanation.lines[:2])
        return f"plan of a {'stream' if self.is_streaming else 'batch'}: {first}"

    def shown_lines(self) -> Sequence[Line]:
        return self.explanation.lines

    @property
    def is_streaming(self) -> bool:
        return self.parts.is_streaming

    @property
    def name(self) -> str:
        """The name of its counts in a streaming query's progress."""
        return self.parts.label

    @cached_property
    def df(self) -> DataFrame:
        """The results, one row per key and window."""
        if not self.is_streaming:
            return self.parts.batch_results()
        return self.output.results(self.tagged(keep_refused=False))

    def tagged(self, *, keep_refused: bool) -> DataFrame:
        """Return results, refused rows and counts of one streaming query, each with its tag."""
        return self.parts.tagged_output(keep_refused=keep_refused)

    @property
    def output(self) -> TaggedOutput:
        """Splits the output of a stream by tag."""
        return self.parts.output

    @property
    def refused(self) -> DataFrame:
        """The rows of a batch that have no place in any window, with the reason.

        In a stream refused rows come from the query that makes the results; use
        :func:`muntin.write` with ``refused=``.
        """
        if self.is_streaming:
            raise MuntinError(
                "a stream's refused rows come from the same query as its results: "
                "mt.write(plan, results=..., refused=...)"
            )
        return self.parts.batch_refused()

    @property
    def state(self) -> StateProfile:
        """What the plan keeps, whether that is bounded, and why."""
        return state_of(self.parts)

    @property
    def explanation(self) -> Explanation:
        """What ``explain`` prints, as data."""
        return explained(self.parts)

    def explain(self) -> None:
        """Print which panes, shards and state the plan uses, and what that costs."""
        print(self.explanation)


class Result(Described):
    """The base class of results that the methods of a stream return. Nothing runs yet."""

    @property
    def description(self) -> str:
        return f"{type(self).__name__.lower()} rows{self.plan().description.removeprefix('plan')}"

    def shown_lines(self) -> Sequence[Line]:
        return self.plan().shown_lines()

    def plan(self) -> Plan:
        """Return the plan: for :func:`muntin.write`, and for refused rows."""
        raise NotImplementedError

    def explain(self) -> None:
        """Print what is computed, how rows travel, and what a stream keeps."""
        self.plan().explain()


@dataclass(frozen=True, eq=False, repr=False)
class PlannedResult(Result):
    """A result that needs no aggregates: its plan is known."""

    parts: PlanParts

    @property
    def df(self) -> DataFrame:
        """The results, as an ordinary Spark DataFrame."""
        return self.plan().df

    def plan(self) -> Plan:
        """Return the same as :attr:`df`, but a plan: for :func:`muntin.write`, and refused rows."""
        return Plan(self.parts)


class AggregatedResult(Result):
    """A result that has aggregates in windows or frames."""

    def agg(
        self,
        *aggregates: Given,
        emit: Emit = "final",
        every: Every = None,
        confidence: float | None = None,
    ) -> DataFrame:
        """Return aggregates per key and window or frame, as an ordinary Spark DataFrame.

        The ``by`` columns, those of the window or frame, then one column per aggregate: SQL text
        (``"max(speed) AS hi"``), ``mt.*`` functions, or PySpark's own (``F.max("speed")``, also as
        ``{"speed": "max"}``) where Muntin has the same.

        Args:
            aggregates: What is computed.
            emit: ``"final"``: each result once. ``"early"``: also what is open, after every
                micro-batch, with the columns ``change`` and ``final``.
            every: With ``emit="early"``, how far the stream progresses along ``on`` between two
                reports of what is open, such as ``"1 minute"``.
            confidence: With ``emit="early"``, adds ``_low`` and ``_high`` to each average: the
                ends of an interval that holds the mean with this confidence, such as 0.95.
        """
        return self.plan(*aggregates, emit=emit, every=every, confidence=confidence).df

    def plan(
        self,
        *aggregates: Given | Column,
        emit: Emit = "final",
        every: Every = None,
        confidence: float | None = None,
    ) -> Plan:
        """Return the same as :meth:`agg`, but a plan: for :func:`muntin.write`, refused rows."""
        raise NotImplementedError

    def explain(self, *aggregates: Given) -> None:
        """Print what is computed, how rows travel, and what a stream keeps."""
        self.plan(*(aggregates or ("count(*)",))).explain()


class DrawnResult(AggregatedResult):
    """A result whose aggregates can be drawn."""

    @property
    def drawn_names(self) -> tuple[Sequence[str], str]:
        """The keys, and the prefix of the bounds."""
        raise NotImplementedError

    def plot(
        self,
        *aggregates: Given,
        value: str | None = None,
        rows: DataFrame | None = None,
        path: str | Path | None = None,
        width: int = 720,
        height: int = 240,
        title: str | None = None,
    ) -> Chart:
        """Draw the results: a line for each key of windows, a bar for each frame.

        The chart shows itself in a notebook, and ``path`` writes it to a file. Pictures need
        ``pip install 'muntin[plot]'``.

        Args:
            aggregates: What is computed; the number of rows unless given.
            value: The column that is drawn, the first number unless given.
            rows: The results, if they have been computed. A stream needs them: write it, and draw
                what was written.
            path: A file that ends in ``.png``, ``.svg`` or ``.html``.
            width: Of the chart, in pixels.
            height: Of the chart, in pixels.
            title: Above the chart.
        """
        from muntin.spark.plot.windows import draw, lines_of  # whose package others do without

        results = self.plan(*(aggregates or ("count(*)",))).df if rows is None else rows
        lines = lines_of(results, value, *self.drawn_names)
        where = None if path is None else Path(path)
        return draw(lines, where, width=width, height=height, title=title)
