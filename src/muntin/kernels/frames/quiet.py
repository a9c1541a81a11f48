"""What punctuation alone says of open frames: how long they last for sure, and which are over.

A key that is quiet has no row to tell. But where no row can come any more a frame goes on, or what
could join it comes too late.
"""

from __future__ import annotations

from typing import Any

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import INT, INTS, kernel, part
from muntin.kernels.frames.records import (
    ASKED_ARRAY,
    COMPLETE,
    FINAL,
    FOUND_ARRAY,
    INTERVAL,
    NEVER,
    OPEN,
    POINT,
    STATE_ARRAY,
    UNTIL_NEXT,
)
from muntin.kernels.frames.step import broken, close, longer_than, report

#: The most that is reported of a key: a fragment, and that it is over.
MOST_QUIET = 2


@part
def _sure_end(asked: Any, state: Any, horizon: int) -> int:
    """Up to where a frame lasts, whatever comes from there on."""
    if asked.reading == INTERVAL:
        return int(min(state.reach, max(state.last, horizon)))
    if asked.reading == UNTIL_NEXT:
        return int(max(state.last, horizon))
    return int(state.last)


@part
def _past_cut(asked: Any, state: Any, joins: int) -> bool:
    """Whether a row that comes is cut off, wherever it lies."""
    if not asked.cut or asked.max_duration < 0:
        return False
    return longer_than(asked, state.first, joins, asked.max_duration, asked.max_length)


@kernel(INT, ASKED_ARRAY, INTS, INTS, INT, INT, STATE_ARRAY, FOUND_ARRAY)
def look_at_quiet(
    asked_: Any,
    horizon: Ints,
    joins: Ints,
    breaks: int,
    tells: int,
    states: Any,
    found: Any,
) -> int:
    """Report what is sure of open frames; returns how much was found.

    The next row of a key, or one that is missing, lies at ``horizon`` or behind it, and one that
    may join a frame at ``joins``; NEVER where nothing is known. ``breaks`` says that a gap ends a
    frame, ``tells`` that open frames are reported by what punctuation says.
    """
    asked = asked_[0]
    n = 0
    for key in range(len(states)):
        state = states[key]
        if (state.mode != OPEN and state.mode != COMPLETE) or horizon[key] == NEVER:
            continue
        if tells and asked.fragments >= 0:
            n = report(asked, state, key, _sure_end(asked, state, horizon[key]), found, n)
        if asked.reading == POINT:
            if state.mode == OPEN and _past_cut(asked, state, joins[key]):
                n = close(asked, state, key, NEVER, FINAL, found, n)
        elif asked.reading == INTERVAL and state.reach <= horizon[key]:
            # A row that comes leaves the frame its end.
            if state.mode == COMPLETE or _past_cut(asked, state, joins[key]):
                n = close(asked, state, key, NEVER, FINAL, found, n)
            elif breaks and state.reach < horizon[key]:
                n = broken(asked, state, key, state.reach, found, n)
    return n
