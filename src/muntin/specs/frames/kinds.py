"""The kinds whose frames grow row by row: what opens, holds and closes a frame [Frames 4.3].

One class for each public function (``mt.threshold`` and its relatives) and for each word of SQL's
``FRAME`` clause. :mod:`muntin.specs.frames.row_kinds` has the kinds that look back at rows, and
:mod:`muntin.specs.frames.own_function` users' own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal

from muntin.errors import ArgumentError, Mention
from muntin.specs.frames.frame_kind import (
    FrameKind,
    FramingProperties,
    Operand,
    Sign,
    Span,
    Starting,
    checked_span,
    clash,
    shown,
    truth,
)
from muntin.specs.lengths import Length, positive_length

Direction = Literal["increasing", "decreasing", "flat"]
Against = Literal["range", "first"]
Edge = Literal["both", "start", "end", "neither"]


@dataclass(frozen=True)
class Threshold(FrameKind):
    """Maximal runs of rows for which a condition holds.

    >>> print(Threshold("loss_rate > 0.3").label)
    threshold(loss_rate > 0.3)
    """

    where: object
    word: ClassVar[str] = "threshold"

    @property
    def label(self) -> str:
        return f"threshold({shown(self.where)})"

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (Operand("where", self.where, "condition"),)


@dataclass(frozen=True)
class Boundary(FrameKind):
    """Frames that end where a value changes, or where it crosses a multiple of ``every``.

    >>> print(Boundary("depth", every=1.0).label)
    boundary(depth, every=1)
    >>> print(Boundary("due", every="1 hour").label)
    boundary(due, every=1 hour)
    """

    value: object
    every: Length | None
    word: ClassVar[str] = "boundary"

    def __init__(self, value: object, every: object = None) -> None:
        object.__setattr__(self, "value", value)
        object.__setattr__(
            self, "every", None if every is None else positive_length("every", every)
        )

    @property
    def schemes(self) -> tuple[str, ...]:
        return ("partition", "disjoint")

    @property
    def label(self) -> str:
        steps = "" if self.every is None else f", every={self.every}"
        return f"boundary({shown(self.value)}{steps})"

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (Operand("value", self.value, "value"),)


@dataclass(frozen=True)
class Delta(Starting):
    """Frames in which a value stays within ``size``: ``max - min < size``, or from the first row.

    A maximal frame ends before the row that breaks this; that row opens the next frame if it may
    start one. A minimal frame ends with the first row that makes ``max - min > size``.

    >>> print(Delta("x", 5.0).label)
    delta(x, 5)
    """

    value: object
    size: Length
    against: Against
    span_: Span
    word: ClassVar[str] = "delta"

    def __init__(
        self,
        value: object,
        size: object,
        against: object = "range",
        span: object = "maximal",
        start: object = None,
        restart: object = None,
    ) -> None:
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "size", positive_length("size", size))
        if against not in ("range", "first"):
            raise ArgumentError("against", against, "it is 'range' (max - min) or 'first'")
        object.__setattr__(self, "against", against)
        object.__setattr__(self, "span_", checked_span(span))
        self._set_start(start, restart)

    @property
    def span(self) -> Span:
        return self.span_

    @property
    def label(self) -> str:
        more = "" if self.against == "range" else ", against=first"
        more += "" if self.span == "maximal" else ", span=minimal"
        return f"delta({shown(self.value)}, {self.size}{more}{self._start_label})"

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (Operand("value", self.value, "value"),)

    def check(self, framing: FramingProperties) -> None:
        super().check(framing)
        if self.span == "minimal" and not self.closes and framing.max_count == 1:
            clash(Mention("span", "minimal"), "max_count", "a value moves from one row to another")


@dataclass(frozen=True)
class Crossing(Starting):
    """Frames that end where an aggregate of their rows crosses a limit: ``sum(vehicles) >= 100``.

    ``<`` and ``<=`` ask for maximal frames: the row that crosses opens the next frame. ``>`` and
    ``>=`` ask for minimal frames: the row that crosses is the last one inside. ``aggregate`` is the
    parsed aggregate.
    """

    aggregate: object
    sign: Sign
    limit: Decimal
    span_: Span
    word: ClassVar[str] = "aggregate"

    def __init__(
        self,
        aggregate: object,
        sign: object,
        limit: Decimal,
        span: object = None,
        start: object = None,
        restart: object = None,
    ) -> None:
        if sign not in ("<", "<=", ">", ">="):
            raise ArgumentError(
                "condition",
                f"{aggregate} {sign} {limit}",
                "= and <> hold at single rows, so they bound no frame; use <, <=, > or >=",
            )
        object.__setattr__(self, "aggregate", aggregate)
        object.__setattr__(self, "sign", sign)
        object.__setattr__(self, "limit", limit)
        usual = "maximal" if sign in ("<", "<=") else "minimal"
        object.__setattr__(self, "span_", usual if span is None else checked_span(span))
        self._set_start(start, restart)

    @property
    def span(self) -> Span:
        return self.span_

    @property
    def label(self) -> str:
        more = f", span={self.span}{self._start_label}"
        return f"aggregate({self.aggregate} {self.sign} {self.limit}{more})"

    @property
    def running_aggregates(self) -> tuple[object, ...]:
        return (self.aggregate,)

    @property
    def condition_text(self) -> str:
        """The condition, for messages."""
        return f"{self.aggregate} {self.sign} {self.limit}"

    @property
    def rows_counted(self) -> tuple[int, int | None]:
        """The fewest and the most rows of a frame for which a condition on ``count(*)`` holds."""
        if self.sign in ("<", "<="):
            most = math.ceil(self.limit) - 1 if self.sign == "<" else math.floor(self.limit)
            return 1, max(0, most)
        least = math.floor(self.limit) + 1 if self.sign == ">" else math.ceil(self.limit)
        return (max(least, 1) if self.span == "minimal" else 1), None

    def check(self, framing: FramingProperties) -> None:
        super().check(framing)
        if str(self.aggregate) != "count(*)":
            return
        word = self.condition_text
        least, most = self.rows_counted
        # The aggregate does not count the missing rows that a frame bridges; min_count does.
        fewest = framing.min_count if framing.missing == "break" else None
        if most is not None and fewest is not None and fewest > most:
            clash(word, "min_count", f"such a frame has no more than {most} rows")
        if framing.max_count is not None and framing.max_count < least and not self.closes:
            clash(word, "max_count", f"such a frame has at least {least} rows")


@dataclass(frozen=True)
class AggregateCondition(Starting):
    """Frames by a condition on several aggregates: ``sum(v) >= 100 AND count(*) >= 5``.

    ``aggregates`` are the parsed aggregates and ``where`` is the parsed condition on them, in which
    ``duration`` comes after them. ``signs`` are those of its comparisons; None if something other
    than AND joins them. If all of them are ``>`` or ``>=``, frames are minimal; if all are ``<`` or
    ``<=``, maximal. A maximal frame grows while the condition holds row by row.
    """

    text: str
    aggregates: tuple[object, ...]
    where: object
    span_: Span
    word: ClassVar[str] = "aggregate"

    def __init__(
        self,
        text: str,
        aggregates: tuple[object, ...],
        where: object,
        signs: tuple[str, ...] | None,
        span: object = None,
        start: object = None,
        restart: object = None,
    ) -> None:
        object.__setattr__(self, "text", " ".join(text.split()))
        object.__setattr__(self, "aggregates", aggregates)
        object.__setattr__(self, "where", where)
        by_signs: Span | None = None
        if signs is not None and set(signs) <= {">", ">="}:
            by_signs = "minimal"
        elif signs is not None and set(signs) <= {"<", "<="}:
            by_signs = "maximal"
        if span is None and by_signs is None:
            raise ArgumentError(
                "span",
                None,
                f"{self.text!r} does not say which frames it makes, as > and >= alone, or < and "
                "<= alone, joined by AND would; give span='minimal' (a frame ends with the first "
                "row that makes it true) or span='maximal' (it grows while it is true)",
            )
        object.__setattr__(self, "span_", by_signs if span is None else checked_span(span))
        self._set_start(start, restart)

    @property
    def span(self) -> Span:
        return self.span_

    @property
    def label(self) -> str:
        return f"aggregate({self.text}, span={self.span}{self._start_label})"

    @property
    def running_aggregates(self) -> tuple[object, ...]:
        return self.aggregates

    @property
    def condition_text(self) -> str:
        """The condition, for messages."""
        return self.text


@dataclass(frozen=True)
class Trend(FrameKind):
    """Maximal runs of at least two rows in which a value rises, falls or stays.

    Unless it is ``strict``, a rise or a fall continues where neighbours are equal.
    """

    value: object
    direction: Direction
    strict: bool
    word: ClassVar[str] = "trend"
    least_rows: ClassVar[int] = 2

    def __init__(self, value: object, direction: object, strict: bool = True) -> None:
        if direction not in ("increasing", "decreasing", "flat"):
            raise ArgumentError(
                "direction", direction, "it is 'increasing', 'decreasing' or 'flat'"
            )
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "direction", direction)
        object.__setattr__(self, "strict", truth("strict", strict))

    @property
    def label(self) -> str:
        loosely = "" if self.strict or self.direction == "flat" else ", strict=False"
        return f"trend({shown(self.value)}, {self.direction}{loosely})"

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (Operand("value", self.value, "value"),)

    def check(self, framing: FramingProperties) -> None:
        if framing.max_count == 1:
            clash("trend", "max_count", "a trend has at least two rows")


@dataclass(frozen=True)
class TrendRuns(FrameKind):
    """Maximal runs of rows of one direction: up, down, or neither from the row before.

    A row's direction is that of the step from the row before it to it; the first row, also the
    first after a missing row that breaks a run, has the direction of the second. Every row lies in
    one frame. The direction of a row that stays alone is null.

    >>> print(TrendRuns("x").label)
    trend(x)
    """

    value: object
    word: ClassVar[str] = "trend"

    @property
    def label(self) -> str:
        return f"trend({shown(self.value)})"

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (Operand("value", self.value, "value"),)

    @property
    def own_columns(self) -> tuple[str, ...]:
        return ("direction",)

    def check(self, framing: FramingProperties) -> None:
        later = "the direction of a first row is known only with the second; give a direction"
        if framing.cut:
            clash("cut", "trend", later)
        if framing.fragments is not None:
            clash("fragments", "trend", later)
        if framing.readings == "interval":
            clash("trend", "interval", "without a direction it takes rows as points")


@dataclass(frozen=True)
class Between(FrameKind):
    """From a row where ``start`` holds to the next row where ``end`` holds.

    ``inclusive`` decides which of these two rows belong to the frame. A start inside an open frame
    changes nothing. A row for which both hold is a frame of its own.
    """

    start: object
    end: object
    inclusive: Edge
    word: ClassVar[str] = "between"
    null_is_missing: ClassVar[bool] = False

    def __init__(self, start: object, end: object, inclusive: object = "both") -> None:
        if inclusive not in ("both", "start", "end", "neither"):
            raise ArgumentError("inclusive", inclusive, "it is 'both', 'start', 'end' or 'neither'")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "inclusive", inclusive)

    @property
    def label(self) -> str:
        rows = "" if self.inclusive == "both" else f", inclusive={self.inclusive}"
        return f"between({shown(self.start)}, {shown(self.end)}{rows})"

    @property
    def operands(self) -> tuple[Operand, ...]:
        start = Operand("start", self.start, "condition")
        return start, Operand("end", self.end, "condition")

    def check(self, framing: FramingProperties) -> None:
        if framing.cut:
            clash("cut", "between", "between decides itself where a frame ends")
