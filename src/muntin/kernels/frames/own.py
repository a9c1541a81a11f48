"""The framing function with the answers of a user's own function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numba

from muntin.kernels.arrays import Bytes, Ints
from muntin.kernels.compile import BYTES, INT, INTS, kernel, ready
from muntin.kernels.frames.records import (
    ASKED_ARRAY,
    EXTENDS,
    EXTENDS_LAST,
    FOUND_ARRAY,
    OPEN,
    OPENS,
    OPENS_LAST,
    REAL,
    STATE_ARRAY,
)
from muntin.kernels.frames.step import MOST, decide, end, settle


@kernel(INT, ASKED_ARRAY, STATE_ARRAY, INT, INT, INTS, BYTES, INTS, BYTES, FOUND_ARRAY)
def settle_row(
    asked: Any,
    states: Any,
    key: int,
    row: int,
    order: Ints,
    what: Bytes,
    reach: Ints,
    gap: Bytes,
    found: Any,
) -> int:
    """Apply a row before its value is read; return how many frames that closed."""
    held = reach[row] if len(reach) else order[row]
    between = gap[row] if len(gap) else 1
    return settle(asked[0], states[key], key, row, order[row], what[row], held, between, found, 0)


@kernel(INT, ASKED_ARRAY, STATE_ARRAY, INT, INT, INTS, INTS, INT, FOUND_ARRAY)
def decide_row(
    asked: Any,
    states: Any,
    key: int,
    row: int,
    order: Ints,
    reach: Ints,
    answer: int,
    found: Any,
) -> int:
    """Apply a real row by the answer given for it; return how many frames that closed."""
    held = reach[row] if len(reach) else order[row]
    return decide(
        asked[0], states[key], key, row, order[row], 1, 1, answer, 0.0, 0.0, held, found, 0
    )


@kernel(INT, ASKED_ARRAY, STATE_ARRAY, INT, FOUND_ARRAY)
def end_key(asked: Any, states: Any, key: int, found: Any) -> int:
    """End a key: no more rows of it will come. Return how many frames that closed."""
    return end(asked[0], states[key], key, found, 0)


@dataclass(frozen=True)
class Answers:
    """A user's functions; two with the same ``digest`` are equal and compile only once."""

    digest: str
    open: Callable[..., Any] = field(compare=False)
    update: Callable[..., Any] = field(compare=False)
    close: Callable[..., Any] = field(compare=False)


@lru_cache(maxsize=16)
def compiled_walk(answers: Answers) -> Callable[..., int]:
    """Return the loop over rows with a user's functions compiled into it."""
    settled, decided, ended_ = ready(settle_row), ready(decide_row), ready(end_key)
    opens, update, closes = (
        numba.njit(function) for function in (answers.open, answers.update, answers.close)
    )

    @numba.njit(nogil=True)
    def answer(mode: int, row: Any, numbers: Any) -> int:
        if mode == OPEN and update(row, numbers):
            return EXTENDS | (EXTENDS_LAST if closes(row, numbers) else 0)
        numbers[:] = 0.0
        if opens(row, numbers):
            return OPENS | (OPENS_LAST if closes(row, numbers) else 0)
        return 0

    # It calls kernels that are compiled already, so that little is left to compile.
    @numba.njit(nogil=True)
    def walk(
        asked: Any,
        starts: Ints,
        order: Ints,
        what: Bytes,
        reach: Ints,
        gap: Bytes,
        values: Any,
        ended: int,
        states: Any,
        numbers: Any,
        found: Any,
        place: Ints,
    ) -> int:
        n, key, row = 0, place[0], place[1]
        while key < len(starts) - 1:
            while row < starts[key + 1]:
                if n + MOST > len(found):
                    place[0], place[1] = key, row
                    return n
                n += settled(asked, states, key, row, order, what, reach, gap, found[n:])
                if what[row] == REAL:
                    response = answer(states[key].mode, values[row], numbers[key])
                    n += decided(asked, states, key, row, order, reach, response, found[n:])
                row += 1
            if n + MOST > len(found):
                place[0], place[1] = key, row
                return n
            if ended:
                n += ended_(asked, states, key, found[n:])
            key += 1
        place[0], place[1] = key, row
        return n

    typed_walk: Callable[..., int] = walk
    return typed_walk
