"""Clusters: rows so close together that chance would rarely bring them [Frames, appendix H].

A candidate is a stretch of at least two rows of a key whose chance ``P(N >= k - 1)``, N Poisson
with mean ``rate * d / per``, is below ``p``. With weights, k - 1 is the sum of the weights of the
rows after the first. Least likely first, a candidate is a frame if it
shares no row with one taken before.

Rows come key by key in order; ``starts`` has the row where each key begins and, last, the number
of rows. Later rows can only form candidates that begin at *open* rows, the last ones of a key. So a
candidate that reaches an open row is uncertain, and so is one that shares a row with a less likely
uncertain one; everything else is certain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import NEVER, Floats, Ints
from muntin.kernels.compile import (
    FLOAT,
    FLOATS,
    INT,
    INTS,
    NONE,
    OUT_FLOATS,
    OUT_INTS,
    kernel,
    part,
    tuple_of,
)
from muntin.kernels.numbers.order_keys import NOTHING, order_doubles
from muntin.specs.axis import Axis, Domain

Marks = npt.NDArray[np.uint8]
#: Chances are compared as log10, rounded to parts of this size.
_PARTS = 1e9
#: Far more than the error of a logarithm: a chance above ``p`` by this is certainly above it.
_SLACK = 1e-8
_LOG_10 = math.log(10.0)
_LOG_HALF = math.log10(0.5)
#: The state of a row while candidates are chosen.
_FREE, _UNCERTAIN, _TAKEN = range(3)


@dataclass(frozen=True)
class Scan:
    """The definition of a cluster, with lengths in ticks and a maximum of count or duration."""

    p: float
    rate: float
    per: int
    min_count: int | None = None
    max_count: int | None = None
    min_duration: int | None = None
    max_duration: int | None = None


@dataclass(frozen=True)
class Clusters:
    """Frames that are certain, by key and start; ``low`` and ``high`` are first and last rows.

    ``log_chance`` is the decimal logarithm of the chance of each.
    ``needed`` is the first row of each key that must be passed again with the next rows. It is
    after every reported frame.
    """

    key: Ints
    low: Ints
    high: Ints
    log_chance: Floats
    needed: Ints


class _Limits(NamedTuple):
    """A scan in the form that kernels take; durations are differences of places."""

    log_p: float
    rate: float
    min_count: int
    max_count: int
    min_duration: float
    max_duration: float
    weighted: int


_LIMITS = tuple_of(_Limits, FLOAT, FLOAT, INT, INT, FLOAT, FLOAT, INT)


def clusters(
    starts: Ints,
    order: Ints,
    complete: Ints,
    ended: bool,
    axis: Axis,
    scan: Scan,
    weight: Ints | None = None,
) -> Clusters:
    """Return the clusters that are certain if all later rows have an order from ``complete`` on.

    All rows are final: no later row lies before one of them. ``weight`` is 1 for each row if it is
    not given.
    """
    place, reached = _places(starts, order, complete, axis)
    limits = _limits(scan, axis)._replace(weighted=int(weight is not None))
    counted = np.cumsum(np.ones(len(order), np.int64) if weight is None else weight)
    opened = starts[1:].copy()
    if not ended:
        _open_rows(starts, place, reached, limits, opened)
    key, low, high = (np.empty(len(order) // 2, np.int64) for _ in range(3))
    log = np.empty(len(order) // 2)
    needed = np.empty(len(opened), np.int64)
    n = _scan(starts, place, counted, opened, limits, key, low, high, log, needed)
    return Clusters(key[:n], low[:n], high[:n], log[:n], needed)


def chance_of(log: float) -> float:
    """Return the chance of a decimal logarithm, to six digits.

    >>> chance_of(-1.5)
    0.0316228
    """
    if math.isinf(log):
        return 0.0
    exponent = math.floor(log)
    return float(f"{10 ** (log - exponent):.5f}e{exponent}")


def _limits(scan: Scan, axis: Axis) -> _Limits:
    unit = float(10**axis.digits) if axis.domain is Domain.DOUBLE else 1.0
    return _Limits(
        log_p=math.log10(scan.p),
        rate=scan.rate / (scan.per / unit),
        min_count=max(2, scan.min_count or 2),
        max_count=NOTHING if scan.max_count is None else scan.max_count,
        min_duration=-math.inf if scan.min_duration is None else scan.min_duration / unit,
        max_duration=math.inf if scan.max_duration is None else scan.max_duration / unit,
        weighted=0,
    )


def _places(starts: Ints, order: Ints, complete: Ints, axis: Axis) -> tuple[Floats, Floats]:
    """Return rows and punctuations as doubles whose differences are durations."""
    known = complete != NEVER
    reached = np.full(len(complete), -math.inf)
    if axis.domain is Domain.DOUBLE:
        reached[known] = order_doubles(complete[known])
        return order_doubles(order), reached
    # Counted from the first row of the key, because a double may not hold ticks from zero.
    base = np.zeros(len(complete), np.int64)
    some = starts[:-1] < starts[1:]
    base[some] = order[starts[:-1][some]]
    reached[known] = (complete[known] - base[known]).astype(np.float64)
    return (order - np.repeat(base, np.diff(starts))).astype(np.float64), reached


@part
def _log_upper(least: int, mean: float) -> float:
    """Return the natural logarithm of ``P(N >= least)``, above the mean, summed from the first."""
    term = total = 1.0
    number = float(least)
    while term > 1e-18 * total:
        number += 1.0
        term *= mean / number
        total += term
    return least * math.log(mean) - mean - math.lgamma(least + 1.0) + math.log(total)


@part
def _log_lower(most: int, mean: float) -> float:
    """Return the natural logarithm of ``P(N <= most)``, below the mean, summed from the last."""
    term = total = 1.0
    number = float(most)
    while term > 1e-18 * total and number > 0.0:
        term *= number / mean
        number -= 1.0
        total += term
    return most * math.log(mean) - mean - math.lgamma(most + 1.0) + math.log(total)


@part
def log_chance(rows: int, mean: float) -> float:
    """Return the decimal logarithm of ``P(N >= rows - 1)``, N Poisson with this mean.

    The smaller tail is summed, so that nothing cancels. Logarithms do not underflow to zero.
    """
    least = rows - 1
    if least <= 0:
        return 0.0
    if mean <= 0.0:
        return -math.inf
    if least > mean:
        return _log_upper(least, mean) / _LOG_10
    return math.log1p(-math.exp(_log_lower(least - 1, mean))) / _LOG_10


@kernel(NONE, INTS, FLOATS, FLOATS, _LIMITS, OUT_INTS)
def _open_rows(starts: Ints, place: Floats, reached: Floats, limits: _Limits, opened: Ints) -> None:
    """Find the first row of each key with which a later row may form a candidate."""
    for key in range(len(opened)):
        row = stop = starts[key + 1]
        while row > starts[key] and stop - row + 1 < limits.max_count:
            duration = reached[key] - place[row - 1]
            if duration > limits.max_duration:
                break
            # The largest cluster that ends with the next row is the least likely one, unless the
            # next row may have any weight.
            if limits.max_count != NOTHING and not limits.weighted:
                chance = log_chance(limits.max_count, limits.rate * duration)
                if chance > limits.log_p + _SLACK:
                    break
            row -= 1
        opened[key] = row


@part
def _roomier(pool: Floats) -> Floats:
    wider = np.empty((2 * len(pool), 4))
    wider[: len(pool)] = pool
    return wider


@part
def _gather(
    place: Floats, counted: Ints, row: int, stop: int, limits: _Limits, pool: Floats
) -> tuple[int, int, Floats]:
    """Find candidates that share rows, directly or through others, the first from ``row`` on.

    Return how many there are, the first row after them, and the pool, which may have grown.
    """
    candidate_count = 0
    reach = row
    while row < stop and row <= reach:
        for count in range(limits.min_count, min(limits.max_count, stop - row) + 1):
            last = row + count - 1
            duration = place[last] - place[row]
            if duration > limits.max_duration:
                break
            if duration < limits.min_duration:
                continue
            mean = limits.rate * duration
            least = counted[last] - counted[row]
            # The median is at most log 2 below the mean, so this chance is at least one half.
            if limits.log_p < _LOG_HALF and least <= mean - 0.7:
                continue
            chance = log_chance(least + 1, mean)
            if chance < limits.log_p:
                if candidate_count == len(pool):
                    pool = _roomier(pool)
                pool[candidate_count, 0], pool[candidate_count, 1] = row, last
                pool[candidate_count, 2] = np.rint(chance * _PARTS)
                pool[candidate_count, 3] = chance
                candidate_count += 1
                reach = max(reach, last)
        row += 1
    return candidate_count, row, pool


@part
def _choose(pool: Floats, opened: int, mark: Marks, end: Ints, log: Floats) -> int:
    """Choose from candidates, which come by start; return where the first uncertain one begins.

    ``mark`` has the state of each row, ``end`` the last row of the frame that begins at a row and
    ``log`` its chance.
    """
    more_rows_first = np.argsort(pool[:, 0] - pool[:, 1], kind="mergesort")
    ranked = more_rows_first[np.argsort(pool[more_rows_first, 2], kind="mergesort")]
    uncertain = NOTHING
    for candidate in ranked:
        low, high = int(pool[candidate, 0]), int(pool[candidate, 1])
        state = mark[low : high + 1].max()
        if state == _TAKEN:
            continue
        if state == _UNCERTAIN or high >= opened:
            mark[low : high + 1] = _UNCERTAIN
            uncertain = min(uncertain, low)
        else:
            mark[low : high + 1] = _TAKEN
            end[low], log[low] = high, pool[candidate, 3]
    return uncertain


@kernel(INT, INTS, FLOATS, INTS, INTS, _LIMITS, *(OUT_INTS,) * 3, OUT_FLOATS, OUT_INTS)
def _scan(
    starts: Ints,
    place: Floats,
    counted: Ints,
    opened: Ints,
    limits: _Limits,
    out_key: Ints,
    out_low: Ints,
    out_high: Ints,
    out_log: Floats,
    needed: Ints,
) -> int:
    """Find the frames that are certain and start before all uncertain ones; return how many."""
    pool = np.empty((64, 4))
    mark, end = np.zeros(len(place), np.uint8), np.full(len(place), -1)
    log = np.zeros(len(place))
    frames = 0
    for key in range(len(opened)):
        row = starts[key]
        uncertain = NOTHING
        while row < opened[key] and uncertain == NOTHING:
            group = row
            stop = starts[key + 1]
            candidate_count, row, pool = _gather(place, counted, group, stop, limits, pool)
            if candidate_count:
                uncertain = _choose(pool[:candidate_count], opened[key], mark, end, log)
            for low in range(group, min(row, uncertain)):
                if end[low] >= 0:
                    out_key[frames], out_low[frames], out_high[frames] = key, low, end[low]
                    out_log[frames] = log[low]
                    frames += 1
        needed[key] = min(opened[key], uncertain)
    return frames
