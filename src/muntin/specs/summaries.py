"""A summary of a stream: how often each value of an attribute came, in which part of the past.

The past is cut into granularities [Promising tuples 3]. The first one is the most recent stretch of
``granularity``; each further one is ``rate`` times as long as the one before, and none takes more
room than another. So the past is remembered ever more coarsely, up to ``depth`` granularities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from muntin.errors import ArgumentError
from muntin.specs.axis import Axis
from muntin.specs.lengths import Length, positive_length

#: How values are counted in a cell of a summary.
SummaryMethod = Literal["sketch", "exact", "frequencies"]


@dataclass(frozen=True)
class StreamSummary:
    """The counts of an attribute's values, over zones of time that become coarser with their age.

    Args:
        stream: The stream, or the input of a stream, that is summarized.
        attribute: The column whose values are counted.
        granularity: The length of the first granularity.
        rate: How many times longer each further granularity is.
        depth: How many granularities there are; what is older is forgotten.
        zones: A zone that ends early is no shorter than this part of the granularity.
        longest: The longest a zone of the first granularity may be; a quarter of the granularity if
            it is not given.
        theta: A zone ends when the confidence in its counts falls below this number.
        method: ``"sketch"`` is a count-sketch, ``"exact"`` a dictionary, and ``"frequencies"`` the
            frequent items of DataSketches, which cannot be subtracted.
        buckets: Into how many buckets values are hashed; each bucket of a zone is a cell.
        width: The counters in a row of a cell's sketch.
        rows: The rows of a cell's sketch, an odd number.

    >>> print(StreamSummary("store", "item", "1 minute", rate=4, depth=3))
    SUMMARY ON store(item) WITH GRANULARITY 1 minute AND COLLAPSE(4, 3)
    """

    stream: str
    attribute: str
    granularity: Length
    rate: int
    depth: int
    zones: int
    longest: Length | None
    theta: float
    method: SummaryMethod
    buckets: int
    width: int
    rows: int

    def __init__(
        self,
        stream: str,
        attribute: str,
        granularity: object,
        rate: object = 4,
        depth: object = 3,
        *,
        zones: object = 16,
        longest: object = None,
        theta: object = 0.2,
        method: object = "sketch",
        buckets: object = 4,
        width: object = 64,
        rows: object = 5,
    ) -> None:
        limit = None if longest is None else positive_length("longest", longest)
        for name, value in (
            ("stream", stream),
            ("attribute", attribute),
            ("granularity", positive_length("granularity", granularity)),
            ("rate", _whole("rate", rate, 2)),
            ("depth", _whole("depth", depth, 1)),
            ("zones", _whole("zones", zones, 1)),
            ("longest", limit),
            ("theta", _share("theta", theta)),
            ("method", _method(method)),
            ("buckets", _whole("buckets", buckets, 1)),
            ("width", _whole("width", width, 2)),
            ("rows", _whole("rows", rows, 1)),
        ):
            object.__setattr__(self, name, value)
        if self.rows % 2 == 0:
            raise ArgumentError("rows", rows, "an odd number has a median, such as 5")

    def ticks(self, axis: Axis) -> ZoneLengths:
        """Return the lengths of zones and granularities on an axis."""
        whole = axis.length("granularity", self.granularity)
        longest = None if self.longest is None else axis.length("longest", self.longest)
        if longest is None:
            longest = max(1, whole // 4)
        if longest > whole:
            expected = f"a zone is no longer than the granularity, {self.granularity}"
            raise ArgumentError("longest", str(self.longest), expected)
        least = min(longest, max(1, whole // self.zones))
        return ZoneLengths(whole, self.rate, self.depth, least, longest)

    def __str__(self) -> str:
        return (
            f"SUMMARY ON {self.stream}({self.attribute}) WITH GRANULARITY {self.granularity} "
            f"AND COLLAPSE({self.rate}, {self.depth})"
        )


@dataclass(frozen=True)
class ZoneLengths:
    """The lengths of a summary in ticks.

    ``whole`` is the length of the first granularity. Each further one is ``rate`` times as long as
    the one before. A zone of granularity ``i`` above the first is as long as granularity ``i - 1``,
    so that a granularity has ``rate`` zones.
    """

    whole: int
    rate: int
    depth: int
    least: int
    longest: int

    def length(self, granularity: int) -> int:
        """Return the length of a granularity, which is counted from 1.

        >>> [ZoneLengths(60, 4, 3, 5, 15).length(number) for number in (1, 2, 3)]
        [60, 240, 960]
        """
        return int(self.whole * self.rate ** (granularity - 1))

    def zone(self, granularity: int) -> int:
        """Return the length of a zone of a granularity above the first."""
        return self.length(granularity - 1)

    def span(self, granularity: int) -> int:
        """Return how far back a granularity and those before it reach.

        >>> ZoneLengths(60, 4, 3, 5, 15).span(3)
        1260
        """
        return sum(self.length(number) for number in range(1, granularity + 1))

    def begin(self, start: int, order: int, *, doubted: bool) -> int:
        """Return where the zone begins that a row at ``order`` is in, after one from ``start`` on.

        It is ``start`` if that zone goes on. ``doubted`` says that the confidence in it is too low.
        """
        block = order // self.whole * self.whole
        if block > start:
            return block + (order - block) // self.longest * self.longest
        if order - start >= self.longest:
            return start + (order - start) // self.longest * self.longest
        return order if doubted and order - start >= self.least else start


def _whole(argument: str, given: object, least: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise ArgumentError(argument, given, f"a whole number from {least} on")
    return given


def _share(argument: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise ArgumentError(argument, given, "a number from 0 to 1")
    return float(given)


def _method(given: object) -> SummaryMethod:
    for method in get_args(SummaryMethod):
        if given == method:
            return method  # type: ignore[no-any-return]
    raise ArgumentError("method", given, "'sketch', 'exact' or 'frequencies'")
