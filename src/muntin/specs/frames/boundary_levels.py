"""Levels of a value: the stretch between two multiples of a step in which it lies [Frames 4.3].

Multiples of a number are counted from zero. Those of a duration are counted from where windows
over a column of times are anchored: the Unix epoch, for whole days its midnight.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from muntin.specs.axis import Axis
from muntin.specs.lengths import Duration

#: From this many multiples of ``every`` on, two neighbouring doubles may be several levels apart.
DOUBLE_LEVELS = 2**53


def level(value: Any, every: Decimal) -> Any:
    """Return the level of a value: equal for all values between two multiples of ``every``.

    A double is read as it is written, so that 0.3 is three times 0.1. A double so large that its
    neighbours are several multiples away, and an infinity, is a level of its own. Only a value
    that is missing has no level, so every other row lies in a frame.

    >>> level(0.3, Decimal("0.1")), level(-5, Decimal(10)), level(Decimal("7.5"), Decimal(1))
    (3, -1, 7)
    >>> level(1e300, Decimal(1))
    ('beyond', 1e+300)
    """
    if value is None or value != value:
        return None
    if not isinstance(value, float):
        return math.floor(Fraction(value) / Fraction(every))
    if math.isinf(value):
        return ("beyond", value)
    number = math.floor(Fraction(Decimal(repr(value))) / Fraction(every))
    return number if abs(number) < DOUBLE_LEVELS else ("beyond", value)


def level_of_time(value: Any, every: Duration, axis: Axis) -> int | None:
    """Return the level of a timestamp or date; ``axis`` is that of its column.

    >>> from datetime import date
    >>> from muntin.specs.axis import Domain
    >>> level_of_time(date(1970, 1, 9), Duration(604_800_000_000), Axis(Domain.DATE))
    1
    """
    tick, each = axis.tick(value), axis.length("every", every)
    return None if tick is None else (tick - axis.default_origin(each)) // each
