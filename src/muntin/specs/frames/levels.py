"""Between which multiples of ``every`` a value lies: what a boundary reads of a row."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

#: From so many multiples of ``every`` on, doubles may no longer tell one from the next.
DOUBLE_LEVELS = 2**53


def level(value: Any, every: Decimal) -> Any:
    """What all values between two neighbouring multiples have in common, and no others.

    Doubles are taken as they are written, so that 0.3 is three times 0.1. So far out that they do
    not tell multiples apart, and at the infinities, each is a level of its own: every row that has
    a value lies in a frame.

    >>> level(0.3, Decimal("0.1")), level(-5, Decimal(10)), level(Decimal("7.5"), Decimal(1))
    (3, -1, 7)
    >>> level(1e300, Decimal(1))
    ('beyond', 1e+300)
    """
    if value is None or value != value:
        return None  # there is no value
    if not isinstance(value, float):
        return math.floor(Fraction(value) / Fraction(every))
    if math.isinf(value):
        return ("beyond", value)
    found = math.floor(Fraction(Decimal(repr(value))) / Fraction(every))
    return found if abs(found) < DOUBLE_LEVELS else ("beyond", value)
