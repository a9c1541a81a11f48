"""A hash of our own: the same in every run, on every machine and in every version."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Words
from muntin.kernels.compile import NONE, OUT_WORDS, WORDS, kernel

#: What splitmix64 adds before each finalizing: without it 0 would stay 0.
_GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)


def mixed(value: Words) -> Words:
    """The finalizer of splitmix64: every bit of the input moves every bit of the output."""
    out = np.empty(len(value), np.uint64)
    _mix(np.ascontiguousarray(value), out)
    return out


@kernel(NONE, WORDS, OUT_WORDS)
def _mix(values: Words, out: Words) -> None:
    for row in range(len(out)):
        value = values[row]
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
        out[row] = value ^ (value >> np.uint64(31))


def hash_doubles(values: npt.NDArray[np.float64]) -> Words:
    """A hash of each double; the two zeros are equal."""
    return mixed((values + 0.0).view(np.uint64) + _GOLDEN)
