"""Between which multiples of a boundary's ``every`` the values of a column lie.

The same as ``semantics.framing.levels``. All that is asked of a level is whether two are equal, so
where every number is a level of its own it stands for itself, and none leaves the type it has.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints
from muntin.kernels.numbers.decimals import from_words, words
from muntin.kernels.numbers.order_keys import doubles_order
from muntin.kernels.ticks import to_ticks
from muntin.specs.axis import DOUBLE_DIGITS, Axis, Domain
from muntin.specs.frames.kinds import DOUBLE_LEVELS

#: Levels of decimals that may not fit 64 bits.
WIDE = pa.decimal128(38, 0)
_ROOM = 2**63
_WORD = 2**64 - 1


def of_integers(values: Ints, each: Fraction) -> Ints:
    """Levels of whole numbers, ``each`` being how many of them lie between two multiples."""
    part, whole = each.denominator, each.numerator
    if whole <= part:
        return values
    if whole * part >= _ROOM:
        return np.array([value * part // whole for value in values.tolist()], np.int64)
    # value * part // whole, of which no step leaves 64 bits.
    return values // whole * part + values % whole * part // whole


def of_wide_decimals(column: pa.Array, each: Fraction) -> pa.Array:
    """Levels of decimals of more than 18 digits, as :data:`WIDE`."""
    low, high = words(column)
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    part, whole = each.denominator, each.numerator
    if whole > part:
        pairs = zip(high.tolist(), low.tolist(), strict=True)
        found = [(above * 2**64 + below) * part // whole for above, below in pairs]
        low = np.array([level & _WORD for level in found], np.uint64)
        high = np.array([level >> 64 for level in found], np.int64)
    return from_words(low, high, WIDE, valid)


def of_doubles(values: npt.NDArray[np.float64], every: Fraction, digits: int) -> Ints:
    """Levels of doubles, ``digits`` being the decimals of ``every``; of NaN they mean nothing."""
    ticks = to_ticks(pa.array(values), Axis(Domain.DOUBLE, min(digits, DOUBLE_DIGITS)))
    # Ticks within reach are fewer than this, so that all of them lie on one side or the other.
    each = min(int(every * 10**digits), _ROOM - 1)
    found = ticks.tick // np.int64(each)
    far = ticks.refusal != 0 if digits <= DOUBLE_DIGITS else np.ones(len(values), np.bool_)
    for row in np.flatnonzero(far & ~np.isnan(values)).tolist():
        found[row] = _of_double(values[row : row + 1], every)
    return found


def _of_double(value: npt.NDArray[np.float64], every: Fraction) -> int:
    """The level of one value that ticks do not reach."""
    written = float(value[0])
    if math.isfinite(written):
        level = math.floor(Fraction(Decimal(repr(written))) / every)
        if abs(level) < DOUBLE_LEVELS:
            return level
    # The order of a double that lies so far out is above all levels.
    return int(doubles_order(value)[0])
