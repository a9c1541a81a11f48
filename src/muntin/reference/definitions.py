"""``windows``, ``extent`` and ``wids``, word for word [Window-ids 3.3 and 3.4].

Slow and obvious: these three functions are what Muntin means by a window, and the oracle of its
tests. ``T`` is a collection of values of the progressing attribute, ``S`` a specification laid
on an axis. Nothing here looks at panes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from muntin.specs.axis import Axis
from muntin.specs.windows import Edges


def bounds(wid: int, axis: Axis, spec: Edges) -> tuple[Any, Any]:
    """Return the values at which a window starts and ends, in the column's own type."""
    return axis.value(spec.start(wid)), axis.value(spec.end(wid))


def holds(wid: int, value: Any, axis: Axis, spec: Edges) -> bool:
    """Return True if a window holds a value: ``start <= value < end``, and no window is below 0.

    A latch holds what is before its start, too.
    """
    if _begins(spec) and wid < 0:
        return False
    start, end = bounds(wid, axis, spec)
    return bool((spec.latch or start <= value) and value < end)


def extent(wid: int, values: Sequence[Any], axis: Axis, spec: Edges) -> list[Any]:
    """Return the values of ``values`` that lie in window ``wid``."""
    return [value for value in values if holds(wid, value, axis, spec)]


def wids(value: Any, axis: Axis, spec: Edges, until: int | None = None) -> range:
    """Return the windows that hold a value, the inverse of :func:`extent`.

    Landmark windows never end, so they are listed up to ``until``.
    """
    first = _first_window_after(value, axis, spec)
    if _begins(spec) and value < axis.value(spec.first_tick):
        return range(0)
    if spec.landmark:
        if until is None:
            raise ValueError("a landmark window holds a row for ever: say until which window")
        return range(first, until + 1)
    last = first
    while holds(last, value, axis, spec):
        last += 1
    return range(first, last)


def _begins(spec: Edges) -> bool:
    """Return True if there are no windows before the origin."""
    return spec.clipped or (spec.landmark and not spec.latch)


def windows(values: Sequence[Any], axis: Axis, spec: Edges, until: int | None = None) -> set[int]:
    """Return the windows to which some value belongs."""
    return {wid for value in values for wid in wids(value, axis, spec, until)}


def _first_window_after(value: Any, axis: Axis, spec: Edges) -> int:
    """Return the first window whose end is beyond a value, by bisection on the definition."""
    below, above = _bracket(value, axis, spec)
    while above - below > 1:
        middle = (below + above) // 2
        if axis.value(spec.end(middle)) > value:
            above = middle
        else:
            below = middle
    return above


def _bracket(value: Any, axis: Axis, spec: Edges) -> tuple[int, int]:
    for reach in _doubling():
        below, above = -reach, reach
        if axis.value(spec.end(below)) <= value < axis.value(spec.end(above)):
            return below, above
    raise AssertionError("unreachable: the windows cover the axis")


def _doubling() -> Iterator[int]:
    reach = 1
    while True:
        yield reach
        reach *= 2
