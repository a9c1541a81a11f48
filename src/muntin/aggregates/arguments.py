"""The constants of aggregates: shares and counts, checked where they are written."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real

from muntin.errors import ArgumentError


def quantile_shares(argument: str, given: object) -> float | tuple[float, ...]:
    """One share of the way from the least value to the greatest, or several."""
    if isinstance(given, list | tuple) and given:
        return tuple(_share(argument, share, given) for share in given)
    return _share(argument, given, given)


def _share(argument: str, share: object, given: object) -> float:
    number = _number(share)
    if number is None or not 0 <= number <= 1:
        raise ArgumentError(argument, given, "it must be a number from 0 to 1, or a list of them")
    return number


def positive_share(argument: str, given: object) -> float:
    """A part of all rows: more than nothing, at most all."""
    number = _number(given)
    if number is None or not 0 < number <= 1:
        raise ArgumentError(argument, given, "it must be a number above 0 and at most 1")
    return number


def positive_count(argument: str, given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ArgumentError(argument, given, "it must be a whole number from 1 up")
    # Nothing has more items than 64 bits count.
    return min(given, 2**62)


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, Real | Decimal):
        return None
    return float(given)
