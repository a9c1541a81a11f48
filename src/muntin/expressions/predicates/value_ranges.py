"""Which values of one part satisfy a condition: ranges between constants, and perhaps null.

An *edge* lies just before or just after a constant, below all values or above all. Constants are
integers or texts; the values of one part have constants of one kind, so that edges are ordered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Point = int | str
#: ``(0,)`` is below all values and ``(2,)`` above; ``(1, point, 0)`` is just before a point, and
#: ``(1, point, 1)`` just after it.
Edge = tuple[int] | tuple[int, Point, int]
LOWEST: Edge = (0,)
HIGHEST: Edge = (2,)


def before(point: Point) -> Edge:
    return 1, point, 0


def after(point: Point) -> Edge:
    return 1, point, 1


@dataclass(frozen=True)
class ValueRanges:
    """Values between pairs of edges, in order and apart from each other; with null or without.

    >>> low, high = ValueRanges.between(LOWEST, after(5)), ValueRanges.between(before(3), HIGHEST)
    >>> (low & high).pairs
    (((1, 3, 0), (1, 5, 1)),)
    >>> (low | high) == ANY_VALUE
    True
    """

    pairs: tuple[tuple[Edge, Edge], ...]
    null: bool = False

    @classmethod
    def between(cls, low: Edge, high: Edge) -> ValueRanges:
        return cls(((low, high),) if low < high else ())

    @classmethod
    def points(cls, points: Iterable[Point]) -> ValueRanges:
        """Return some points, which need be neither in order nor different.

        >>> ValueRanges.points([3, 1, 3]).pairs
        (((1, 1, 0), (1, 1, 1)), ((1, 3, 0), (1, 3, 1)))
        """
        ordered = sorted(set(points))
        return cls(tuple((before(point), after(point)) for point in ordered))

    @classmethod
    def any_of(cls, several: Sequence[ValueRanges]) -> ValueRanges:
        """Return the values that are in one of several, sorted once for all of them."""
        joined: list[tuple[Edge, Edge]] = []
        for low, high in sorted(pair for ranges in several for pair in ranges.pairs):
            if joined and low <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], high)
            else:
                joined.append((low, high))
        return cls(tuple(joined), any(ranges.null for ranges in several))

    @classmethod
    def all_of(cls, several: Sequence[ValueRanges]) -> ValueRanges:
        """Return the values that are in each of several.

        >>> low = ValueRanges.between(LOWEST, after(5))
        >>> ValueRanges.all_of([low, ValueRanges.between(before(3), HIGHEST), low]).pairs
        (((1, 3, 0), (1, 5, 1)),)
        """
        outside = cls.any_of([ranges.others() for ranges in several])
        return cls(outside.others().pairs, all(ranges.null for ranges in several))

    @property
    def is_empty(self) -> bool:
        return not self.pairs and not self.null

    @property
    def is_everything(self) -> bool:
        return self.null and self.pairs == ANY_VALUE.pairs

    def others(self) -> ValueRanges:
        """Return the values that are not null and not here."""
        edges = [LOWEST, *(edge for pair in self.pairs for edge in pair), HIGHEST]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return ValueRanges(tuple((low, high) for low, high in pairs if low < high))

    def __and__(self, other: ValueRanges) -> ValueRanges:
        both = self.null and other.null
        if len(self.pairs) == 1 == len(other.pairs):
            (low, high), (low_too, high_too) = self.pairs[0], other.pairs[0]
            return ValueRanges(
                ValueRanges.between(max(low, low_too), min(high, high_too)).pairs, both
            )
        return ValueRanges.all_of((self, other))

    def __or__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges.any_of((self, other))


NO_VALUE = ValueRanges(())
ANY_VALUE = ValueRanges(((LOWEST, HIGHEST),))
ONLY_NULL = ValueRanges((), null=True)
