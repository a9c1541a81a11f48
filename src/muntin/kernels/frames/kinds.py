"""What the value of a row is to a frame: outside of it, inside, or inside and the last.

Each kind says it in its own way, of the frame that is open and of one that the row would open.
"""

from __future__ import annotations

from typing import Any

from muntin.kernels.compile import part
from muntin.kernels.frames.measure import forget, holds, remember, spread_within
from muntin.kernels.frames.records import (
    ARMED,
    BETWEEN,
    BOUNDARY,
    CLOSED,
    DECREASING,
    DELTA,
    DENSITY,
    EXTENDS,
    EXTENDS_LAST,
    INCREASING,
    OPENS,
    OPENS_LAST,
    OWN,
    THRESHOLD,
    TREND,
)

OUTSIDE, INSIDE, LAST = range(3)


@part
def _related(asked: Any, state: Any, whole: int) -> bool:
    """Trend: whether a value follows the one before it as asked."""
    if asked.direction == INCREASING:
        return whole > state.at_last or (not asked.strict and whole == state.at_last)
    if asked.direction == DECREASING:
        return whole < state.at_last or (not asked.strict and whole == state.at_last)
    return bool(whole == state.at_last)


@part
def _taken(asked: Any, state: Any, counts: int, whole: int, real: float, weight: float) -> bool:
    """Delta and aggregate: take a row's value in; whether the condition holds with it."""
    if asked.kind == DELTA:
        return spread_within(asked, state, whole, real)
    if counts:
        remember(asked, state, whole, real, weight)
    return holds(asked, state)


@part
def _role(answer: int, inside: int, last: int) -> int:
    """What a user's own framing function has said of a row."""
    if not answer & inside:
        return OUTSIDE
    return LAST if answer & last else INSIDE


@part
def as_next(asked: Any, state: Any, counts: int, whole: int, real: float, weight: float) -> int:
    """What a real row is to the open frame."""
    kind = asked.kind
    if kind == THRESHOLD:
        return INSIDE if whole else OUTSIDE
    if kind == BOUNDARY:
        return INSIDE if whole == state.at_last else OUTSIDE
    if kind == TREND:
        inside = _related(asked, state, whole)
        state.at_last = whole
        return INSIDE if inside else OUTSIDE
    if kind == DENSITY:
        return INSIDE if whole == 1 else OUTSIDE
    if kind == OWN:
        return _role(whole, EXTENDS, EXTENDS_LAST)
    if kind == BETWEEN:
        if whole & 2:
            return LAST if asked.with_end else OUTSIDE
        return INSIDE
    holding = _taken(asked, state, counts, whole, real, weight)
    if asked.minimal:
        # Of a minimal delta frame the condition is that it is *not* within its size.
        over = not holding if kind == DELTA else holding
        return LAST if over else INSIDE
    return INSIDE if holding else OUTSIDE


@part
def as_first(asked: Any, state: Any, counts: int, whole: int, real: float, weight: float) -> int:
    """What a real row is to a frame that it would open; a state that is ARMED stays so."""
    kind = asked.kind
    if kind in (THRESHOLD, DENSITY):
        return INSIDE if whole else OUTSIDE
    if kind == BETWEEN:
        return _opens_between(asked, state, whole)
    if kind == OWN:
        return _role(whole, OPENS, OPENS_LAST)
    if kind in (BOUNDARY, TREND):
        state.at_last = whole
        return INSIDE
    forget(state)
    holding = _taken(asked, state, counts, whole, real, weight)
    if kind == DELTA:
        return INSIDE  # one row has not moved
    if asked.minimal:
        return LAST if holding else INSIDE
    return INSIDE if holding else OUTSIDE


@part
def _opens_between(asked: Any, state: Any, flags: int) -> int:
    starts, ends = flags & 1, flags & 2
    if state.mode == ARMED:
        if not ends:
            return INSIDE
        state.mode = CLOSED
        if asked.with_end:
            return LAST
    if not starts:
        return OUTSIDE
    if ends:
        # A row that is both is a frame of its own, unless both ends are left out.
        return LAST if asked.with_start or asked.with_end else OUTSIDE
    if asked.with_start:
        return INSIDE
    state.mode = ARMED
    return OUTSIDE
