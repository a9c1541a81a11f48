"""L_p norms of vectors over the last stretch, p from 1 to 2 [EH-12]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from muntin.aggregates.synopses.composed import Composable, Composed
from muntin.aggregates.synopses.exponential_histogram import checked_number
from muntin.aggregates.synopses.protocol import KeptRowsSynopsis
from muntin.errors import ArgumentError
from muntin.kernels.arrays import Floats, Words
from muntin.kernels.hashing import hash_doubles, mixed

_GROUPS = 5
_P = "the norm's p is a number from 1 to 2"
_ACCURACY = "the accuracy of a sketch is a number between 0 and 1 such as 0.1"


def lp_norm(
    p: float, eps: float, *, sketched: float | None = None, bounds: bool = False
) -> Composed:
    """Return the kind for ``(sum over i of |sum of amounts at i|^p)^(1/p)``; rows are (i, amount).

    Theorem 6 with C_f = 2^(p-1) proves that the p-th power of the norm is underestimated by at most
    eps + 2^(p-1) - 1. So the error goes to 0 with eps only for p = 1, where the norm is the sum.
    For p = 2 the paper's 4/k + 1 is the same statement. Measured errors are much smaller (docs,
    Synopses).

    The sketch of a bucket is its vector itself, which is exact and has an entry for each different
    i. ``sketched=a`` is for p = 2 and many i: a tug-of-war sketch of fixed size that is off by more
    than a in at most one of ten answers.
    """
    if not 1 <= checked_number("p", p, _P) <= 2:
        raise ArgumentError("p", p, _P)
    if sketched is None:
        function: Composable = Vector(float(p))
    elif p != 2:
        raise ArgumentError("sketched", sketched, "there is a sketch for p=2 only; leave it out")
    else:
        function = TugOfWar(sketched)
    return Composed(function, eps, bounds, 1 / p)


@dataclass(frozen=True)
class Vector:
    """The p-th power of the norm, with the vector as its own sketch."""

    p: float

    @property
    def constant(self) -> float:
        return math.pow(2.0, self.p - 1)

    def init(self, index: float, amount: float) -> dict[float, float]:
        _check(amount)
        return {index + 0.0: amount}  # the two zeros are one index

    def compose(
        self, older: Mapping[float, float], newer: Mapping[float, float]
    ) -> dict[float, float]:
        both = dict(older)
        for index, amount in newer.items():
            both[index] = both.get(index, 0.0) + amount
        return both

    def value(self, sketch: Mapping[float, float]) -> float:
        return math.fsum(amount**self.p for amount in sketch.values())


@dataclass(frozen=True)
class TugOfWar:
    """The square of the L_2 norm by sums with random signs (Alon, Matias, Szegedy).

    Each counter adds amounts with a sign that depends on i; its square is right on average, with
    a variance of at most twice the truth squared. The mean of 8 / accuracy^2 counters is off by
    more than ``accuracy`` in at most a quarter of cases, the median of five means in a tenth.
    """

    accuracy: float

    def __post_init__(self) -> None:
        if not 0 < checked_number("sketched", self.accuracy, _ACCURACY) < 1:
            raise ArgumentError("sketched", self.accuracy, _ACCURACY)

    @property
    def constant(self) -> float:
        return 2.0

    def init(self, index: float, amount: float) -> Floats:
        _check(amount)
        seeds: Words = np.arange(_GROUPS * math.ceil(8 / self.accuracy**2), dtype=np.uint64)
        signs = mixed(mixed(seeds + np.uint64(1)) ^ hash_doubles(np.array([index]))) >> np.uint64(
            63
        )
        return amount * (1.0 - 2.0 * signs.astype(np.float64))

    def compose(self, older: Floats, newer: Floats) -> Floats:
        return older + newer

    def value(self, sketch: Floats) -> float:
        return float(np.median((sketch**2).reshape(_GROUPS, -1).mean(axis=1)))


def _check(amount: float) -> None:
    if not 0 <= amount < math.inf:
        raise ArgumentError("amount", amount, "a norm over a window needs amounts from 0 upwards")


def _kind(p: float, eps: float, sketched: float | None, bounds: bool) -> Composed:
    return lp_norm(p, eps, sketched=sketched, bounds=bounds)


DEFINITIONS = (KeptRowsSynopsis("lp_norm", make=_kind, hashed=1),)
