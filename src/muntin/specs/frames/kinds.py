"""Kinds of frames: what opens, holds and closes a window that follows the data [Frames 4.3].

A kind is a frozen value that checks itself. What Spark evaluates for each row (a condition, a
value) is kept as it was given, SQL text or a PySpark column; :attr:`Kind.label` is what messages
call it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal

from muntin.errors import ArgumentError
from muntin.specs.lengths import Length, Number, parse_length

Span = Literal["maximal", "minimal"]
Restart = Literal["close", "drop", "continue"]
Direction = Literal["increasing", "decreasing", "flat"]
Against = Literal["range", "first"]
Edge = Literal["both", "start", "end", "neither"]
Sign = Literal["<", "<=", ">", ">="]


@dataclass(frozen=True)
class FrameKind:
    """What all kinds have in common."""

    #: Names the kind in messages.
    word: ClassVar[str] = ""

    @property
    def span(self) -> Span:
        """Whether a frame grows as long as its condition holds, or ends as soon as it does."""
        return "maximal"

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes that frames of this kind can have, the default first [Frames 4.2]."""
        return ("disjoint",)

    @property
    def lengths(self) -> tuple[Length, ...]:
        """The lengths along ``on`` that the kind itself has."""
        return ()

    @property
    def label(self) -> str:
        """The kind and its condition, for messages and for the fingerprint of a checkpoint."""
        raise NotImplementedError


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


@dataclass(frozen=True)
class Boundary(FrameKind):
    """Frames that end where a value changes, or crosses a multiple of ``every``.

    >>> print(Boundary("depth", every=1.0).label)
    boundary(depth, every=1)
    """

    value: object
    every: Number | None
    word: ClassVar[str] = "boundary"

    def __init__(self, value: object, every: object = None) -> None:
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "every", None if every is None else positive("every", every))

    @property
    def schemes(self) -> tuple[str, ...]:
        return ("partition", "disjoint")

    @property
    def label(self) -> str:
        steps = "" if self.every is None else f", every={self.every}"
        return f"boundary({shown(self.value)}{steps})"


@dataclass(frozen=True)
class Starting(FrameKind):
    """Kinds whose frames may begin at any row, or only where ``start`` holds.

    ``restart`` says what happens when such a row falls inside an open frame, one that would have
    taken it [Frames, appendix A]: ``close`` and report it, ``drop`` it, or ``continue`` it
    beside the new one.
    """

    start: object
    restart: Restart

    def _check_start(self, start: object, restart: object) -> None:
        if restart is not None and start is None:
            raise ArgumentError("restart", restart, "it goes with start=, a condition on rows")
        if restart not in (None, "close", "drop", "continue"):
            raise ArgumentError("restart", restart, "it is 'close', 'drop' or 'continue'")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "restart", restart or "close")

    @property
    def schemes(self) -> tuple[str, ...]:
        if self.start is not None:
            return ("partition",)
        return ("partition", "advancing", "adjacent", "cover", "unconstrained")

    @property
    def closes(self) -> bool:
        """Whether a start ends the open frame before it, however far that has come."""
        return self.start is not None and self.restart == "close"

    @property
    def _started(self) -> str:
        if self.start is None:
            return ""
        return f", start={shown(self.start)}, restart={self.restart}"


@dataclass(frozen=True)
class Delta(Starting):
    """Frames in which a value stays within ``size``: ``max - min < size``, or from the first row.

    Maximal, the row that breaks it opens the next if it may start one; minimal, a frame ends with
    the first row that makes ``max - min > size``.

    >>> print(Delta("x", 5.0).label)
    delta(x, 5)
    """

    value: object
    size: Number
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
        object.__setattr__(self, "size", positive("size", size))
        if against not in ("range", "first"):
            raise ArgumentError("against", against, "it is 'range' (max - min) or 'first'")
        object.__setattr__(self, "against", against)
        object.__setattr__(self, "span_", checked_span(span))
        self._check_start(start, restart)

    @property
    def span(self) -> Span:
        return self.span_

    @property
    def label(self) -> str:
        more = "" if self.against == "range" else ", against=first"
        more += "" if self.span == "maximal" else ", span=minimal"
        return f"delta({shown(self.value)}, {self.size}{more}{self._started})"


@dataclass(frozen=True)
class Crossing(Starting):
    """Frames whose end an aggregate of their rows decides: ``sum(vehicles) >= 100``.

    ``<`` and ``<=`` ask for maximal frames, the crossing row opens the next; ``>`` and ``>=`` for
    minimal ones, the crossing row is inside. ``aggregate`` is the aggregate as the parser read it.
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
        self._check_start(start, restart)

    @property
    def span(self) -> Span:
        return self.span_

    @property
    def rows_counted(self) -> tuple[int, int | None]:
        """How few and how many rows a frame that counts them has, if only its condition ends it."""
        if self.sign in ("<", "<="):
            most = math.ceil(self.limit) - 1 if self.sign == "<" else math.floor(self.limit)
            # It holds with the first row or never, and there a minimal frame ends.
            return 1, max(0, min(most, 1) if self.span == "minimal" else most)
        least = math.floor(self.limit) + 1 if self.sign == ">" else math.ceil(self.limit)
        least = max(least, 1)
        return (least, least) if self.span == "minimal" else (1, None)

    @property
    def label(self) -> str:
        more = f", span={self.span}{self._started}"
        return f"aggregate({self.aggregate} {self.sign} {self.limit}{more})"


@dataclass(frozen=True)
class Trend(FrameKind):
    """Maximal runs of at least two rows in which a value rises, falls or stays.

    Not ``strict``, equal neighbours do not end a rise or a fall.
    """

    value: object
    direction: Direction
    strict: bool
    word: ClassVar[str] = "trend"

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


@dataclass(frozen=True)
class Between(FrameKind):
    """From a row where ``start`` holds to the next where ``end`` does.

    ``inclusive`` says which of these two rows belong to the frame. A start inside an open frame
    changes nothing; a row that is both is a frame of its own.
    """

    start: object
    end: object
    inclusive: Edge
    word: ClassVar[str] = "between"

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


@dataclass(frozen=True)
class OwnKind(FrameKind):
    """A user's own framing function [Frames 4.4]; ``framing`` is what the user wrote."""

    framing: object
    name: str
    word: ClassVar[str] = "own"

    @property
    def label(self) -> str:
        return f"own({self.name})"


def shown(given: object) -> str:
    """What messages call a condition or a value: its text, or that of a PySpark column."""
    return str(given).removeprefix("Column<'").removesuffix("'>")


def positive(argument: str, given: object) -> Number:
    """A plain number above zero, read exactly."""
    length = parse_length(argument, given)
    if not isinstance(length, Number) or not length.positive:
        raise ArgumentError(argument, given, "it must be a number above zero")
    return length


def truth(argument: str, given: object) -> bool:
    """True or False; any other text or number would be taken for one of them unnoticed."""
    if not isinstance(given, bool):
        raise ArgumentError(argument, given, "it is True or False")
    return given


def checked_span(given: object) -> Span:
    if given == "maximal":
        return "maximal"
    if given == "minimal":
        return "minimal"
    raise ArgumentError("span", given, "it is 'maximal' or 'minimal'")
