"""The framing function with the answers of a user's own function.

Its frames follow each other, or one may begin at every row: :func:`compiled_candidates` finds for
each row the frame that begins there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from muntin.kernels.arrays import Bytes, Ints
from muntin.kernels.compile import BYTES, INT, INTS, NONE, kernel, ready
from muntin.kernels.frames.records import (
    ASKED_ARRAY,
    CLOSED,
    EXTENDS,
    EXTENDS_LAST,
    FOUND_ARRAY,
    NEVER,
    OPEN,
    OPENS,
    OPENS_LAST,
    REAL,
    STATE_ARRAY,
)
from muntin.kernels.frames.step import MOST, beyond, decide, end, settle


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


@kernel(NONE, STATE_ARRAY, INT)
def begin_anew(states: Any, key: int) -> None:
    """Forget what is known about a key, so that a frame may begin at its next row."""
    state = states[key]
    state.mode, state.previous, state.next_id, state.id = CLOSED, NEVER, 0, -1


@kernel(INT, ASKED_ARRAY, STATE_ARRAY, INT)
def is_beyond(asked: Any, states: Any, key: int) -> int:
    """Return 1 if the open frame of a key is beyond its maxima."""
    return int(beyond(asked[0], states[key]))


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
    import numba

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


@lru_cache(maxsize=16)
def compiled_candidates(answers: Answers) -> Callable[..., int]:
    """Return the loop that finds the frame that begins at each row, as ``found[row]``.

    Its arguments and ``fits`` are those of :func:`muntin.kernels.frames.walk.candidates`.
    """
    import numba

    settled, decided, ended_ = ready(settle_row), ready(decide_row), ready(end_key)
    anew, too_long = ready(begin_anew), ready(is_beyond)
    opens, update, closes = (
        numba.njit(function) for function in (answers.open, answers.update, answers.close)
    )

    @numba.njit(nogil=True)
    def answer(is_first: bool, row: Any, numbers: Any) -> int:
        if not is_first:
            if not update(row, numbers):
                return 0
            return EXTENDS | (EXTENDS_LAST if closes(row, numbers) else 0)
        numbers[:] = 0.0
        if not opens(row, numbers):
            return 0
        return OPENS | (OPENS_LAST if closes(row, numbers) else 0)

    @numba.njit(nogil=True)
    def candidates(
        asked: Any,
        starts: Ints,
        order: Ints,
        what: Bytes,
        reach: Ints,
        gap: Bytes,
        values: Any,
        ended: int,
        give_up: int,
        since: Ints,
        states: Any,
        numbers: Any,
        room: Any,
        found: Any,
    ) -> int:
        for key in range(len(starts) - 1):
            for first in range(since[key], starts[key + 1]):
                found[first].fits = -1
                if what[first] != REAL:
                    continue
                anew(states, key)
                n, row, ours = 0, first, True
                while row < starts[key + 1] and n == 0 and ours:
                    n = settled(asked, states, key, row, order, what, reach, gap, room)
                    if what[row] == REAL and (row == first or states[key].mode == OPEN):
                        response = answer(row == first, values[row], numbers)
                        n += decided(asked, states, key, row, order, reach, response, room[n:])
                    row += 1
                    ours = states[key].mode != CLOSED
                    if n == 0 and ours and give_up and too_long(asked, states, key):
                        found[first].fits, ours = 0, False
                if n == 0 and ours:
                    if not ended:
                        found[first].fits = -2
                        continue
                    n = ended_(asked, states, key, room)
                if n > 0:
                    found[first] = room[0]
        return len(found)

    typed: Callable[..., int] = candidates
    return typed
