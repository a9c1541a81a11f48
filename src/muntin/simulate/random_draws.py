"""What the simulations share: chance that depends on the seed alone, and times from a start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.errors import ArgumentError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Chance for one purpose: more of one thing does not change how another is drawn.

    >>> int(generator(7, "incidents").integers(100)) == int(generator(7, "waves").integers(100))
    False
    """
    return np.random.default_rng([seed, *purpose.encode()])


def timestamps(start: datetime, micros: Integers) -> pa.Array:
    """Microseconds since the start as UTC timestamps.

    >>> timestamps(datetime(2026, 3, 3, tzinfo=UTC), np.array([1_500_000]))[0].as_py().isoformat()
    '2026-03-03T00:00:01.500000+00:00'
    """
    first = (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return pa.array(first + micros, pa.timestamp("us", tz="UTC"))


def check_above_zero(name: str, given: float) -> None:
    if not given > 0:
        raise ArgumentError(name, given, "it must be above zero")


def check_not_negative(name: str, given: float) -> None:
    if not given >= 0:
        raise ArgumentError(name, given, "it must not be negative")


def check_share(name: str, given: float) -> None:
    if not 0 <= given <= 1:
        raise ArgumentError(name, given, "it is a share, from 0 to 1")


def check_zone(name: str, given: datetime) -> None:
    if given.tzinfo is None:
        raise ArgumentError(name, given, "it needs a time zone, such as tzinfo=UTC")
