"""Between which constants a value lies, as a small number.

With the constants in order, the value equal to constant ``i`` has the code ``2 i + 1``, and one
between it and the constant before has ``2 i``. A table of buckets says where a value can lie among
the constants, so that only few of them are looked at; what is outside the middle of the constants
is found by halving.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Bytes, Floats, Ints
from muntin.kernels.compile import (
    BYTES,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    NONE,
    OUT_INTS,
    array_of,
    fused,
    kernel,
    tuple_of,
)

Codes = npt.NDArray[np.int32]
CODES = array_of(np.dtype(np.int32), readonly=True)
OUT_CODES = array_of(np.dtype(np.int32))


class Buckets(NamedTuple):
    """How many constants are below each bucket; a value's bucket is ``(value - low) * scale``."""

    starts: Ints
    low: float
    scale: float


BUCKETS = tuple_of(Buckets, OUT_INTS, FLOAT, FLOAT)
_BUCKETS_A_CONSTANT = 2


def buckets(constants: Ints | Floats) -> Buckets:
    """Return buckets over the constants, which are in order; one in a hundred may lie outside."""
    count = max(1, _BUCKETS_A_CONSTANT * len(constants))
    low, scale = 0.0, 0.0
    if len(constants):
        cut = len(constants) // 100
        low, high = float(constants[cut]), float(constants[-1 - cut])
        with np.errstate(all="ignore"):
            wide = np.float64(count) / (np.float64(high) - np.float64(low))
        scale = float(wide) if np.isfinite(wide) and np.isfinite(low) else 0.0
        low = low if scale else 0.0
    starts = np.zeros(count + 1, np.int64)
    fill: Any = _fill_whole if constants.dtype == np.int64 else _fill_doubles
    fill(constants, low, scale, starts)
    return Buckets(starts, low, scale)


@fused
def _bucket(value: Any, low: float, scale: float, count: int) -> int:
    """Return the bucket of a value: never below that of a smaller value."""
    at = (float(value) - low) * scale
    if not at > 0.0:
        return 0
    return count - 1 if at >= count else int(at)


@fused
def _code(value: Any, constants: Any, starts: Ints, low: float, scale: float) -> Any:
    bucket = _bucket(value, low, scale, len(starts) - 1)
    first, end = starts[bucket], starts[bucket + 1]
    while first < end:
        middle = (first + end) >> 1
        if constants[middle] < value:
            first = middle + 1
        else:
            end = middle
    if first < len(constants) and constants[first] == value:
        return 2 * first + 1
    return 2 * first


@fused
def _fill(constants: Any, low: float, scale: float, starts: Ints) -> None:
    for place in range(len(constants)):
        starts[_bucket(constants[place], low, scale, len(starts) - 1) + 1] += 1
    for bucket in range(1, len(starts)):
        starts[bucket] += starts[bucket - 1]


@kernel(NONE, INTS, FLOAT, FLOAT, OUT_INTS)
def _fill_whole(constants: Ints, low: float, scale: float, starts: Ints) -> None:
    _fill(constants, low, scale, starts)


@kernel(NONE, FLOATS, FLOAT, FLOAT, OUT_INTS)
def _fill_doubles(constants: Floats, low: float, scale: float, starts: Ints) -> None:
    _fill(constants, low, scale, starts)


class CodeTarget(NamedTuple):
    """Where codes are written: ``base`` plus a code to ``place``, ``place + step`` and so on."""

    codes: Codes
    base: int
    place: int
    step: int


TARGET = tuple_of(CodeTarget, OUT_CODES, INT, INT, INT)


@kernel(NONE, INTS, BYTES, INTS, BUCKETS, TARGET)
def code_integers(
    values: Ints, valid: Bytes, constants: Ints, among: Buckets, out: CodeTarget
) -> None:
    """Write the codes of integers; null has the code after the last."""
    starts, low, scale = among.starts, among.low, among.scale
    for row in range(len(values)):
        code = 2 * len(constants) + 1
        if valid[row]:
            code = _code(values[row], constants, starts, low, scale)
        out.codes[out.place + row * out.step] = out.base + code


@kernel(NONE, FLOATS, BYTES, FLOATS, BUCKETS, INT, INT, TARGET)
def code_doubles(
    values: Floats,
    valid: Bytes,
    constants: Floats,
    among: Buckets,
    nan: int,
    null: int,
    out: CodeTarget,
) -> None:
    """Write the codes of doubles, among constants that are not NaN, and those of NaN and null."""
    starts, low, scale = among.starts, among.low, among.scale
    for row in range(len(values)):
        value = values[row]
        code = null
        if valid[row]:
            code = nan
            if value == value:
                code = _code(value, constants, starts, low, scale)
        out.codes[out.place + row * out.step] = out.base + code
