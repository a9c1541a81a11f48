"""What the simulations share: chance that depends on the seed alone, times, and late arrivals."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.errors import ArgumentError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class StreamModel:
    """The base of the simulations: tables that depend on the arguments alone, row by row late.

    A model is a frozen dataclass with these fields and others.
    """

    start: datetime
    seed: int
    disordered: float
    disorder_seconds: float

    def _check(
        self,
        *,
        above_zero: Iterable[str] = (),
        not_negative: Iterable[str] = (),
        shares: Iterable[str] = (),
    ) -> None:
        """Raise if one of these fields, or of the fields of every model, cannot be used."""
        for name in above_zero:
            if not (value := getattr(self, name)) > 0:
                raise ArgumentError(name, value, "it must be above zero")
        for name in (*not_negative, "disorder_seconds"):
            if not (value := getattr(self, name)) >= 0:
                raise ArgumentError(name, value, "it must not be negative")
        for name in (*shares, "disordered"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise ArgumentError(name, value, "it is a share, from 0 to 1")
        if self.start.tzinfo is None:
            raise ArgumentError("start", self.start, "it needs a time zone, such as tzinfo=UTC")

    def _rng(self, purpose: str) -> np.random.Generator:
        return generator(self.seed, purpose)

    def _timestamps(self, micros: Integers) -> pa.Array:
        return timestamps(self.start, micros)

    def _second(self, moment: datetime) -> float:
        """Return the seconds from the start to a moment."""
        return (moment - self.start) / timedelta(seconds=1)

    def _arrived(
        self, stream: str, rows: pa.Table, micros: Integers, missing: float = 0
    ) -> pa.Table:
        """Return the rows, which happened at these microseconds, in the order of arrival."""
        rng = self._rng(f"arrival of {stream}")
        return in_arrival_order(rng, rows, micros, self.disordered, self.disorder_seconds, missing)


def in_arrival_order(
    rng: np.random.Generator,
    rows: pa.Table,
    micros: Integers,
    disordered: float,
    seconds: float,
    missing: float = 0,
) -> pa.Table:
    """Return the rows, which happened at these microseconds, in the order of their arrival.

    A share of them is ``disordered``, late by no more than these ``seconds``; another share is
    ``missing``.

    >>> rows, when = pa.table({"n": [1, 2, 3]}), np.array([0, 1, 2])
    >>> rng = np.random.default_rng(7)
    >>> in_arrival_order(rng, rows, when, disordered=0, seconds=60)["n"].to_pylist()
    [1, 2, 3]
    >>> in_arrival_order(rng, rows, when, disordered=1, seconds=60)["n"].to_pylist()
    [3, 2, 1]
    """
    n = len(micros)
    delay = rng.uniform(0, seconds * 1e6, n)
    delay[rng.random(n) >= disordered] = 0
    came = np.flatnonzero(rng.random(n) >= missing)
    order = came[np.argsort((micros + delay)[came], kind="stable")]
    return rows.take(pa.array(order))


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return chance for one purpose: more of one thing does not change how another is drawn.

    >>> int(generator(7, "incidents").integers(100)) == int(generator(7, "waves").integers(100))
    False
    """
    return np.random.default_rng([seed, *purpose.encode()])


def timestamps(start: datetime, micros: Integers) -> pa.Array:
    """Return microseconds since the start as UTC timestamps.

    >>> timestamps(datetime(2026, 3, 3, tzinfo=UTC), np.array([1_500_000]))[0].as_py().isoformat()
    '2026-03-03T00:00:01.500000+00:00'
    """
    first = (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return pa.array(first + micros, pa.timestamp("us", tz="UTC"))
