"""Matches of a pattern among the rows of each key: leftmost, then longest [Frames, appendix E].

A pattern becomes an automaton whose states are the steps of the pattern [Glushkov's construction]:
in step q after a row that satisfies the condition of q. A row has a bit for each condition that it
satisfies, so several steps may follow from one, and any of them counts.

Rows are read twice. Backwards, :func:`match_ends` computes for every row where the longest match
that begins there ends: from each step, the farthest last row that can still be reached. Forwards,
:func:`choose_matches` takes matches one after another. So rows are not read again for every start,
however long a match is that does not come about. Only where a match exceeds a maximum, the longest
one within the maximum is searched from its first row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from muntin.kernels.arrays import EVER, Bytes, Ints
from muntin.kernels.compile import (
    BYTES,
    INT,
    INTS,
    NONE,
    OUT_INTS,
    kernel,
    part,
    tuple_of,
)
from muntin.kernels.frames.records import ASKED_ARRAY, BREAKS, CARRIED, NEVER, REAL
from muntin.kernels.frames.step import double_of, longer_than
from muntin.specs.frames.pattern import (
    Alternatives,
    NamedRow,
    PatternNode,
    Repeated,
    Successive,
)

#: No match begins at a row.
NO_MATCH = -1
#: A match that begins at a row may end with a row that has not come.
OPEN_END = EVER


class Automaton(NamedTuple):
    """The steps of a pattern.

    ``bit`` is the condition of a step, ``accepts`` is 1 if a match may end with it, ``rows_left``
    is the fewest further rows with which a match ends (EVER if there are none). The steps that may
    follow step p are ``follows[at[p]:at[p + 1]]``; p is the number of steps for the first row.
    """

    bit: Ints
    accepts: Bytes
    at: Ints
    follows: Ints
    rows_left: Ints


AUTOMATON = tuple_of(Automaton, INTS, BYTES, INTS, INTS, INTS)


@dataclass(frozen=True)
class _Fragment:
    """A part of an automaton: its first and its last steps; ``empty`` if it may have no row."""

    first: list[int]
    last: list[int]
    empty: bool


@dataclass
class _Builder:
    """Collects the steps of a pattern and which steps may follow each other."""

    names: Sequence[str]
    bit: list[int] = field(default_factory=list)
    follows: list[set[int]] = field(default_factory=list)

    def fragment(self, node: PatternNode) -> _Fragment:
        match node:
            case NamedRow(name):
                self.bit.append(self.names.index(name))
                self.follows.append(set())
                step = [len(self.bit) - 1]
                return _Fragment(step, step, False)
            case Successive(parts):
                fragment = self.fragment(parts[0])
                for following in parts[1:]:
                    fragment = self._joined(fragment, self.fragment(following))
                return fragment
            case Alternatives(parts):
                fragments = [self.fragment(each) for each in parts]
                first = [step for each in fragments for step in each.first]
                last = [step for each in fragments for step in each.last]
                return _Fragment(first, last, any(each.empty for each in fragments))
            case Repeated():
                return self._repeated(node)
        raise NotImplementedError(f"{node} is no part of a pattern")

    def _joined(self, one: _Fragment, other: _Fragment) -> _Fragment:
        for step in one.last:
            self.follows[step].update(other.first)
        first = [*one.first, *other.first] if one.empty else one.first
        last = [*one.last, *other.last] if other.empty else other.last
        return _Fragment(first, last, one.empty and other.empty)

    def _repeated(self, node: Repeated) -> _Fragment:
        """Return a repetition written out: a{2,4} is a a (a (a)?)?, and a{2,} is a a+."""
        tail: _Fragment | None = None
        if node.high is not None:
            for _ in range(node.high - node.low):
                copy = self.fragment(node.part)
                tail = copy if tail is None else self._joined(copy, tail)
                tail = _Fragment(tail.first, tail.last, True)
        else:
            tail = self.fragment(node.part)
            for step in tail.last:
                self.follows[step].update(tail.first)
            tail = _Fragment(tail.first, tail.last, tail.empty or node.low == 0)
        for _ in range(node.low - (node.high is None and node.low > 0)):
            copy = self.fragment(node.part)
            tail = copy if tail is None else self._joined(copy, tail)
        assert tail is not None  # a repetition has at least one copy
        return tail


def automaton(tree: PatternNode, names: Sequence[str]) -> Automaton:
    """Return the automaton of a pattern; condition i has the i-th of the names."""
    builder = _Builder(names)
    whole = builder.fragment(tree)
    steps = [*builder.follows, set(whole.first)]
    accepts = np.zeros(len(builder.bit), np.uint8)
    accepts[whole.last] = 1
    at = np.concatenate([[0], np.cumsum([len(each) for each in steps])])
    follows = [step for each in steps for step in sorted(each)]
    columns = (
        np.array(builder.bit, np.int64),
        accepts,
        at.astype(np.int64),
        np.array(follows, np.int64),
        _rows_left(steps, accepts),
    )
    for column in columns:
        column.flags.writeable = False
    return Automaton(*columns)


def _rows_left(steps: Sequence[set[int]], accepts: Bytes) -> Ints:
    """Return for each step the fewest further rows with which a match ends."""
    left = np.full(len(steps), EVER)
    for _ in steps:
        before = left.copy()
        for step, following in enumerate(steps):
            rows = [0 if accepts[each] else int(before[each]) for each in following]
            best = min(rows, default=EVER)
            left[step] = best + 1 if best < EVER else EVER
        if np.array_equal(before, left):
            break
    return left


@kernel(NONE, INTS, BYTES, INTS, AUTOMATON, INT, OUT_INTS, OUT_INTS)
def match_ends(
    starts: Ints,
    what: Bytes,
    satisfied: Ints,
    steps: Automaton,
    ended: int,
    farthest: Ints,
    nearest: Ints,
) -> None:
    """Compute for every row where the longest match that begins there ends, and the shortest.

    ``farthest`` becomes a row, NO_MATCH or OPEN_END. ``nearest`` becomes a row, or OPEN_END if no
    match ends among these rows; it is left out if it is empty. ``satisfied`` has a bit for each
    condition that a row satisfies. A missing row that does not break satisfies all of them, but it
    is never first, and a carried one never last.
    """
    bit, accepts, at, follows, _ = steps
    size = len(bit)
    far, far_with = np.empty(size + 1, np.int64), np.empty(size, np.int64)
    near, near_with = np.empty(size + 1, np.int64), np.empty(size, np.int64)
    with_nearest = len(nearest) > 0
    for key in range(len(starts) - 1):
        for step in range(size + 1):
            goes_on = not ended and at[step] < at[step + 1]
            far[step] = OPEN_END if goes_on else NO_MATCH
            near[step] = OPEN_END
        for row in range(starts[key + 1] - 1, starts[key] - 1, -1):
            kind, bits = what[row], satisfied[row]
            for step in range(size):
                far_with[step], near_with[step] = NO_MATCH, OPEN_END
                if kind == BREAKS or (kind == REAL and not (bits >> bit[step]) & 1):
                    continue
                far_with[step], near_with[step] = far[step], near[step]
                if accepts[step] and kind != CARRIED:
                    near_with[step] = row
                    if far[step] == NO_MATCH:
                        far_with[step] = row
            for step in range(size + 1):
                best, least = NO_MATCH, OPEN_END
                for place in range(at[step], at[step + 1]):
                    best = max(best, far_with[follows[place]])
                    if with_nearest:
                        least = min(least, near_with[follows[place]])
                far[step], near[step] = best, least
            farthest[row] = far[size] if kind == REAL else NO_MATCH
            if with_nearest:
                nearest[row] = near[size] if kind == REAL else OPEN_END


@part
def _as_long_as(asked: Any, first: int, last: int) -> bool:
    if asked.min_duration < 0:
        return True
    if asked.doubles:
        return bool(double_of(last) - double_of(first) >= asked.min_length)
    return bool(last - first >= asked.min_duration)


@part
def _too_long(asked: Any, first: int, last: int) -> bool:
    if asked.max_duration < 0:
        return False
    return longer_than(asked, first, last, asked.max_duration, asked.max_length)


@part
def _last_end(
    steps: Automaton,
    what: Bytes,
    satisfied: Ints,
    first: int,
    last: int,
    reached: Bytes,
    following: Bytes,
) -> int:
    """Return the last row, up to ``last``, with which a match from ``first`` ends, or NO_MATCH.

    ``reached`` becomes the steps in which matches are after ``last``.
    """
    bit, accepts, at, follows, _ = steps
    size = len(bit)
    found = NO_MATCH
    reached[:] = 0
    reached[size] = 1
    for row in range(first, last + 1):
        kind, bits = what[row], satisfied[row]
        following[:] = 0
        alive = False
        for step in range(size + 1):
            if not reached[step] or kind == BREAKS:
                continue
            for place in range(at[step], at[step + 1]):
                after = follows[place]
                if kind != REAL or (bits >> bit[after]) & 1:
                    following[after] = 1
                    alive = True
                    if accepts[after] and kind != CARRIED:
                        found = row
        reached[:] = following
        if not alive:
            break
    return found


@part
def _may_grow(
    asked: Any,
    steps: Automaton,
    order: Ints,
    what: Bytes,
    satisfied: Ints,
    first: int,
    stop: int,
    horizon: int,
    reached: Bytes,
    following: Bytes,
) -> bool:
    """Return True if a match from ``first`` may end with a row after those that came.

    Such rows lie at ``horizon`` or after it; NEVER if nothing is known.
    """
    if horizon != NEVER and _too_long(asked, order[first], horizon):
        return False
    if asked.max_count < 0:
        return True
    room = asked.max_count - (stop - first)
    if room < 1:
        return False
    _last_end(steps, what, satisfied, first, stop - 1, reached, following)
    nearest_end = EVER
    for step in range(len(steps.bit)):
        if reached[step]:
            nearest_end = min(nearest_end, steps.rows_left[step])
    return bool(nearest_end <= room)


@kernel(
    INT,
    ASKED_ARRAY,
    INTS,
    INTS,
    BYTES,
    INTS,
    AUTOMATON,
    INT,
    INTS,
    INTS,
    INTS,
    OUT_INTS,
    OUT_INTS,
    OUT_INTS,
)
def choose_matches(
    asked_: Any,
    starts: Ints,
    order: Ints,
    what: Bytes,
    satisfied: Ints,
    steps: Automaton,
    ended: int,
    horizon: Ints,
    farthest: Ints,
    nearest: Ints,
    low: Ints,
    high: Ints,
    needed: Ints,
) -> int:
    """Choose matches that meet the local conditions, one after another; return their number.

    ``low`` and ``high`` become their first and last rows, ``needed`` the first row of each key from
    which a match may still begin or grow.
    """
    asked = asked_[0]
    reached, following = np.zeros((2, len(steps.bit) + 1), np.uint8)
    n = 0
    for key in range(len(starts) - 1):
        stop = starts[key + 1]
        first = starts[key]
        limit = first  # the last row within the maxima of a match from ``first``
        while first < stop:
            end = farthest[first]
            if end == NO_MATCH:
                first += 1
                continue
            if (
                end == OPEN_END
                and not ended
                and _may_grow(
                    asked,
                    steps,
                    order,
                    what,
                    satisfied,
                    first,
                    stop,
                    horizon[key],
                    reached,
                    following,
                )
            ):
                break
            limit = max(limit, first)
            while (
                limit + 1 < stop
                and (asked.max_count < 0 or limit + 2 - first <= asked.max_count)
                and not _too_long(asked, order[first], order[limit + 1])
            ):
                limit += 1
            if end > limit:
                end = NO_MATCH
                if nearest[first] <= limit:
                    end = _last_end(steps, what, satisfied, first, limit, reached, following)
            fits = end != NO_MATCH and end - first + 1 >= asked.min_count
            if fits and _as_long_as(asked, order[first], order[end]):
                low[n], high[n] = first, end
                n += 1
                first = end + 1
            else:
                first += 1
        needed[key] = first
    return n
