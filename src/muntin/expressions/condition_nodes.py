"""What conditions on rows are made of beside arithmetic and comparisons: choices, text and times.

Each means what Spark's SQL means by it. Zones are those of the session: Spark measures the time
between two timestamps, and adds days to one, on its clocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

if TYPE_CHECKING:
    from muntin.expressions.nodes import Node


@dataclass(frozen=True)
class BooleanConstant:
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True)
class Null:
    """NULL, which has the type of what stands beside it."""


@dataclass(frozen=True)
class Choice:
    """CASE: the value of the first condition that is true, or another one."""

    cases: tuple[tuple[Node, Node], ...]
    otherwise: Node


@dataclass(frozen=True)
class LeastOrGreatest:
    """``least`` or ``greatest`` of those that are not null; NaN is greater than all."""

    which: Literal["least", "greatest"]
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Like:
    """LIKE with a constant pattern, as the regular expression that it stands for."""

    operand: Node
    pattern: str


@dataclass(frozen=True)
class TimeConstant:
    """A constant timestamp or date: its number, and its type."""

    value: int
    type: pa.DataType


@dataclass(frozen=True)
class IntervalConstant:
    """A constant length of time; one of days alone moves dates too."""

    micros: int
    days: bool


@dataclass(frozen=True)
class Dated:
    """The day of a timestamp on the clocks of a zone."""

    operand: Node
    zone: str


@dataclass(frozen=True)
class Elapsed:
    """How many whole units there are from one time to another on the clocks of a zone."""

    unit: int  # in microseconds
    start: Node
    end: Node
    zone: str


Part = (
    BooleanConstant
    | Null
    | Choice
    | LeastOrGreatest
    | Like
    | TimeConstant
    | IntervalConstant
    | Dated
    | Elapsed
)
