"""A hash of our own: the same in every run, on every machine and in every version."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import Words
from muntin.kernels.compile import BYTES, INTS, NONE, OUT_WORDS, WORDS, kernel
from muntin.kernels.numbers.decimals import words
from muntin.kernels.numbers.order_keys import order_keys

#: The constant that splitmix64 adds before each step; without it 0 would stay 0.
_GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)


def mixed(value: Words) -> Words:
    """Return the finalizer of splitmix64: every input bit affects every output bit."""
    out = np.empty(len(value), np.uint64)
    _mix(np.ascontiguousarray(value), out)
    return out


@kernel(NONE, WORDS, OUT_WORDS, in_python=True)
def _mix(values: Words, out: Words) -> None:
    for row in range(len(out)):
        value = values[row]
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
        out[row] = value ^ (value >> np.uint64(31))


def hash_doubles(values: npt.NDArray[np.float64]) -> Words:
    """Return a hash of each double; the two zeros are equal."""
    return mixed((values + 0.0).view(np.uint64) + _GOLDEN)


_NULL = np.uint64(0x9E37_79B9_7F4A_7C15)


def shard_of(columns: Sequence[pa.Array], rows: int, shards: int) -> npt.NDArray[np.int32]:
    """Return the shard of every row by its key columns."""
    hashed = np.zeros(rows, np.uint64)
    for column in columns:
        hashed = mixed(hashed * np.uint64(31) + value_hashes(column))
    return (hashed % np.uint64(shards)).astype(np.int32)


def value_hashes(column: pa.Array) -> Words:
    """Return the hash of each value of a column, with one hash for all nulls."""
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        hashed = _hash_bytes(column)
    elif pa.types.is_decimal(column.type):
        low, high = words(column)
        hashed = mixed(low + mixed(high.view(np.uint64)))
    else:
        hashed = mixed(order_keys(column).key.view(np.uint64))
    if column.null_count:
        hashed[column.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return hashed


def _hash_bytes(column: pa.Array) -> Words:
    whole = pa.concat_arrays([column]) if column.offset else column
    _, offsets, data = whole.buffers()
    ends = np.frombuffer(offsets, np.int32)[: len(column) + 1].astype(np.int64)
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else _NO_BYTES
    out = np.empty(len(column), np.uint64)
    _fnv(ends, content, out)
    return mixed(out)


_NO_BYTES = np.zeros(1, np.uint8)


@kernel(NONE, INTS, BYTES, OUT_WORDS, in_python=True)
def _fnv(ends: npt.NDArray[np.int64], content: npt.NDArray[np.uint8], out: Words) -> None:
    """Compute the FNV-1a hash of each string."""
    for row in range(len(out)):
        value = np.uint64(0xCBF2_9CE4_8422_2325)
        for place in range(ends[row], ends[row + 1]):
            value = (value ^ np.uint64(content[place])) * np.uint64(0x0000_0100_0000_01B3)
        out[row] = value
