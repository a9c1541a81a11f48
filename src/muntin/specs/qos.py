"""What the answers of a query are worth: quality-of-service graphs [AU-34, AV-22, AV-23, AV-24].

A graph is piecewise linear: points of a position and a worth, and outside of them the worth of the
nearest. The worths of a graph are divided by the largest, so that queries can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from muntin.errors import ArgumentError
from muntin.specs.lengths import Duration, parse_length

#: What a graph is about: seconds of delay, the share of rows that counts, or values of a column.
About = Literal["delay", "share", "value"]
#: Positions and worths, as they are given.
Points = Iterable[tuple[object, object]]

_POINTS = "it is a list of points, such as [('2 seconds', 1.0), ('10 seconds', 0.0)]"
#: A worth that is less than the largest by no more than this is in the good zone.
_GOOD = 1e-9
_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class QosGraph:
    """One graph of a query; ``column`` is whose values a graph of values is about."""

    about: About
    points: tuple[tuple[float, float], ...]
    column: str | None = None

    def worth(self, position: float) -> float:
        """Return what an answer is worth at a position, between 0 and 1.

        >>> QosGraph("delay", ((2.0, 1.0), (10.0, 0.0))).worth(4)
        0.75
        """
        first, last = self.points[0], self.points[-1]
        if position <= first[0]:
            return first[1]
        for (low, left), (high, right) in pairwise(self.points):
            if position <= high:
                return left + (right - left) * (position - low) / (high - low)
        return last[1]

    @property
    def good_until(self) -> float:
        """The last position up to which nothing is lost, of a graph that falls."""
        best = [position for position, worth in self.points if worth >= 1 - _GOOD]
        return max(best)

    def __str__(self) -> str:
        unit = " SECONDS" if self.about == "delay" else ""
        points = ", ".join(f"{at:.12g}{unit} {worth:.12g}" for at, worth in self.points)
        column = "" if self.column is None else f"{self.column} "
        return f"{self.about.upper()} {column}{points}"


#: An answer is worth all up to ten seconds, and nothing after a minute, if nothing else is given.
DEFAULT_DELAY = QosGraph("delay", ((10.0, 1.0), (60.0, 0.0)))
#: Every row counts, if nothing else is given: a query without tolerance never loses a row.
NO_TOLERANCE = QosGraph("share", ((1.0, 1.0),))


@dataclass(frozen=True)
class Qos:
    """What the answers of a query are worth, for an engine that has too much to do.

    Args:
        delay: Points of a length of time and a worth, such as ``[("2 seconds", 1.0), ("10 seconds",
            0.0)]``: what an answer is worth that comes so late. It does not rise. By default
            everything up to 10 seconds, and nothing after a minute.
        share: Points of a share of the rows and a worth, such as ``[(1, 1.0), (0.3, 0.8), (0.1,
            0.0)]``: what an answer is worth that so many rows count in. It does not fall, and
            all rows are worth most. By default nothing may be left out: no row is ever shed.
        value: A numeric column, and points of a value and a worth, such as ``("speed", [(0, 1.0),
            (60, 0.1)])``: which rows matter. By default all of them alike.

    >>> print(Qos(delay=[("2 seconds", 1.0), ("10 seconds", 0.0)]))
    DELAY 2 SECONDS 1, 10 SECONDS 0
    """

    delay: QosGraph = DEFAULT_DELAY
    share: QosGraph = NO_TOLERANCE
    value: QosGraph | None = None

    def __init__(
        self,
        delay: Points | QosGraph | None = None,
        share: Points | QosGraph | None = None,
        value: tuple[str, Points] | QosGraph | None = None,
    ) -> None:
        own_delay = DEFAULT_DELAY if delay is None else _graph("delay", delay)
        own_share = NO_TOLERANCE if share is None else _graph("share", share)
        _check_delay(own_delay, delay)
        _check_share(own_share, share)
        object.__setattr__(self, "delay", own_delay)
        object.__setattr__(self, "share", own_share)
        object.__setattr__(self, "value", None if value is None else _value(value))

    @property
    def least_share(self) -> float:
        """The smallest share of the rows with which answers are still worth something."""
        points = self.share.points
        if points[0][1] > 0:
            return points[0][0]
        return next(low for (low, _), (_, right) in pairwise(points) if right > 0)

    @property
    def tolerant(self) -> bool:
        """Whether rows may be left out at all."""
        return self.least_share < 1

    @property
    def plain(self) -> dict[str, object]:
        """The graphs that are not the default, as lists of numbers; :meth:`of` reads them."""
        found: dict[str, object] = {}
        if self.delay != DEFAULT_DELAY:
            found["delay"] = [list(point) for point in self.delay.points]
        if self.share != NO_TOLERANCE:
            found["share"] = [list(point) for point in self.share.points]
        if self.value is not None:
            found["value"] = [self.value.column, [list(point) for point in self.value.points]]
        return found

    @classmethod
    def of(cls, given: object) -> Qos | None:
        """Return what is given as ``qos=``: None, graphs, or a mapping of their arguments."""
        if given is None or isinstance(given, Qos):
            return given
        known = ("delay", "share", "value")
        if not isinstance(given, Mapping) or not given or not set(given) <= set(known):
            reason = "it is mt.Qos(delay=, share=, value=), or a mapping with some of these"
            raise ArgumentError("qos", given, reason)
        return cls(**given)

    def __str__(self) -> str:
        graphs = [self.delay] if self.delay != DEFAULT_DELAY else []
        graphs += [self.share] if self.share != NO_TOLERANCE else []
        graphs += [] if self.value is None else [self.value]
        return ", ".join(map(str, graphs or [self.delay]))


def _value(given: object) -> QosGraph:
    if isinstance(given, QosGraph):
        return given
    if not isinstance(given, tuple | list) or len(given) != 2 or not isinstance(given[0], str):
        raise ArgumentError(
            "value", given, "it is a column and points, ('speed', [(0, 1), (9, 0)])"
        )
    return _graph("value", given[1], given[0])


def _graph(about: About, given: object, column: str | None = None) -> QosGraph:
    """Return points as a graph whose largest worth is 1; raise if they are none."""
    if isinstance(given, QosGraph):
        return given
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ArgumentError(about, given, _POINTS)
    points = []
    for pair in (pairs := [*given]):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentError(about, pairs, _POINTS)
        points.append((_position(about, pair[0]), _number(about, pair[1], "a worth")))
    if not points:
        raise ArgumentError(about, pairs, _POINTS)
    if any(low >= high for (low, _), (high, _) in pairwise(points)):
        points = sorted(points) if about == "share" else points
        if any(low >= high for (low, _), (high, _) in pairwise(points)):
            raise ArgumentError(about, pairs, "each position is above the one before it")
    most = max(worth for _, worth in points)
    if min(worth for _, worth in points) < 0 or not most > 0:
        raise ArgumentError(about, pairs, "worths are 0 or more, and one of them is above 0")
    return QosGraph(about, tuple((at, worth / most) for at, worth in points), column)


def _position(about: About, given: object) -> float:
    """Return where a point is; seconds for a delay."""
    if about == "delay" and isinstance(given, str):
        length = parse_length("delay", given)
        if not isinstance(length, Duration):
            raise ArgumentError("delay", given, "it is a length of time, such as '2 seconds'")
        return length.micros / _MICROSECONDS
    return _number(about, given, "a position")


def _number(about: About, given: object, what: str) -> float:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not math.isfinite(float(given)):  # type: ignore[arg-type]
        raise ArgumentError(about, given, f"{what} is a finite number")
    return float(given)  # type: ignore[arg-type]


def _check_delay(graph: QosGraph, given: object) -> None:
    if graph.points[0][0] < 0:
        raise ArgumentError("delay", given, "no answer comes before its rows: delays are 0 or more")
    if any(left < right for (_, left), (_, right) in pairwise(graph.points)):
        raise ArgumentError("delay", given, "an answer is not worth more when it is later")


def _check_share(graph: QosGraph, given: object) -> None:
    positions = [position for position, _ in graph.points]
    if positions[0] < 0 or positions[-1] > 1:
        raise ArgumentError("share", given, "shares are between 0 and 1")
    if any(left > right for (_, left), (_, right) in pairwise(graph.points)):
        raise ArgumentError("share", given, "an answer is not worth less when more rows count")
