"""Spark's ``xxhash64`` of some columns, to the bit: 64-bit xxHash with the seed 42.

The hash of a column is the seed of the next one, and a null leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import Bytes, Ints, Words
from muntin.kernels.compile import BYTES, INTS, NONE, OUT_WORDS, WORDS, inline, kernel, part
from muntin.kernels.numbers.decimals import words

_SEED = 42
_PRIME_1 = np.uint64(0x9E37_79B1_85EB_CA87)
_PRIME_2 = np.uint64(0xC2B2_AE3D_27D4_EB4F)
_PRIME_3 = np.uint64(0x1656_67B1_9E37_79F9)
_PRIME_4 = np.uint64(0x85EB_CA77_C2B2_AE63)
_PRIME_5 = np.uint64(0x27D4_EB2F_1656_67C5)
_LOW_HALF = np.uint64(0xFFFF_FFFF)
_WORD, _STRIPE = 8, 32
#: Decimals of up to so many digits are hashed as one number.
_DIGITS_OF_A_LONG = 18
_NO_BYTES = np.zeros(1, np.uint8)


def hashable(type_: pa.DataType) -> bool:
    """Return whether the hash of a type is known."""
    if pa.types.is_decimal128(type_):
        return bool(type_.precision <= _DIGITS_OF_A_LONG)
    tests = (
        pa.types.is_boolean,
        pa.types.is_signed_integer,
        pa.types.is_float32,
        pa.types.is_float64,
        pa.types.is_string,
        pa.types.is_date32,
        pa.types.is_timestamp,
    )
    return any(test(type_) for test in tests)


def xxhash64(columns: Sequence[pa.Array], rows: int) -> Ints:
    """Return the hash of each row of some columns, whose types are all :func:`hashable`."""
    hashes = np.full(rows, _SEED, np.uint64)
    for column in columns:
        valid = np.ones(rows, np.uint8)
        if column.null_count:
            valid = column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
        if pa.types.is_string(column.type):
            _add_strings(*_contents(column), valid, hashes)
        elif _is_half(column.type):
            _add_halves(_bits(column), valid, hashes)
        else:
            _add_words(_bits(column), valid, hashes)
    return hashes.view(np.int64)


def _is_half(type_: pa.DataType) -> bool:
    """Return whether Spark hashes values as 32 bits."""
    return bool(
        pa.types.is_boolean(type_)
        or pa.types.is_date32(type_)
        or pa.types.is_float32(type_)
        or (pa.types.is_integer(type_) and not pa.types.is_int64(type_))
    )


def _bits(column: pa.Array) -> Words:
    """Return the values as words; those of 32 bits are in the lower half."""
    if pa.types.is_decimal(column.type):
        return words(column)[0]
    if pa.types.is_floating(column.type):
        # Every NaN is the same one, and -0.0 is 0.0.
        values = column.fill_null(0.0).to_numpy(
            zero_copy_only=False
        ) + column.type.to_pandas_dtype()(0)
        values[np.isnan(values)] = np.nan
        half = pa.types.is_float32(column.type)
        bits: npt.NDArray[np.unsignedinteger] = values.view(np.uint32 if half else np.uint64)
        return bits.astype(np.uint64)
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    whole: Ints = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return whole.view(np.uint64)


def _contents(column: pa.Array) -> tuple[Ints, Bytes]:
    """Return where each string starts and the last one ends, and the bytes of all."""
    _, offsets, data = column.buffers()
    starts = np.frombuffer(offsets, np.int32)[column.offset :][: len(column) + 1].astype(np.int64)
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else _NO_BYTES
    return starts, content


@inline
def _turned(value: np.uint64, by: int) -> np.uint64:
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))


@inline
def _mixed(value: np.uint64) -> np.uint64:
    value = (value ^ (value >> np.uint64(33))) * _PRIME_2
    value = (value ^ (value >> np.uint64(29))) * _PRIME_3
    return value ^ (value >> np.uint64(32))


@inline
def _with_word(value: np.uint64, word: np.uint64) -> np.uint64:
    value = value ^ (_turned(word * _PRIME_2, 31) * _PRIME_1)
    return _turned(value, 27) * _PRIME_1 + _PRIME_4


@inline
def _with_half(value: np.uint64, half: np.uint64) -> np.uint64:
    value = value ^ (half * _PRIME_1)
    return _turned(value, 23) * _PRIME_2 + _PRIME_3


@kernel(NONE, WORDS, BYTES, OUT_WORDS)
def _add_words(values: Words, valid: Bytes, hashes: Words) -> None:
    for row in range(len(values)):
        if valid[row]:
            seed = hashes[row] + _PRIME_5 + np.uint64(8)
            hashes[row] = _mixed(_with_word(seed, values[row]))


@kernel(NONE, WORDS, BYTES, OUT_WORDS)
def _add_halves(values: Words, valid: Bytes, hashes: Words) -> None:
    for row in range(len(values)):
        if valid[row]:
            seed = hashes[row] + _PRIME_5 + np.uint64(4)
            hashes[row] = _mixed(_with_half(seed, values[row] & _LOW_HALF))


@part
def _number(content: Bytes, place: int, size: int) -> np.uint64:
    """Return so many bytes as a number, the lowest byte first."""
    number = np.uint64(0)
    for at in range(size):
        number |= np.uint64(content[place + at]) << np.uint64(8 * at)
    return number


@part
def _round(lane: np.uint64, word: np.uint64) -> np.uint64:
    return _turned(lane + word * _PRIME_2, 31) * _PRIME_1


@part
def _with_lane(value: np.uint64, lane: np.uint64) -> np.uint64:
    return (value ^ _round(np.uint64(0), lane)) * _PRIME_1 + _PRIME_4


@part
def _stripes(content: Bytes, start: int, end: int, seed: np.uint64) -> np.uint64:
    """Return the hash of stripes of 32 bytes, in four lanes."""
    one, two = seed + _PRIME_1 + _PRIME_2, seed + _PRIME_2
    three, four = seed, seed - _PRIME_1
    for place in range(start, end, _STRIPE):
        one = _round(one, _number(content, place, _WORD))
        two = _round(two, _number(content, place + 8, _WORD))
        three = _round(three, _number(content, place + 16, _WORD))
        four = _round(four, _number(content, place + 24, _WORD))
    value = _turned(one, 1) + _turned(two, 7) + _turned(three, 12) + _turned(four, 18)
    for lane in (one, two, three, four):
        value = _with_lane(value, lane)
    return value


@kernel(NONE, INTS, BYTES, BYTES, OUT_WORDS)
def _add_strings(starts: Ints, content: Bytes, valid: Bytes, hashes: Words) -> None:
    for row in range(len(hashes)):
        if not valid[row]:
            continue
        place, end = starts[row], starts[row + 1]
        value = hashes[row] + _PRIME_5
        if end - place >= _STRIPE:
            whole = place + (end - place) // _STRIPE * _STRIPE
            value = _stripes(content, place, whole, hashes[row])
            place = whole
        value += np.uint64(end - starts[row])
        while place + _WORD <= end:
            value = _with_word(value, _number(content, place, _WORD))
            place += _WORD
        if place + 4 <= end:
            value = _with_half(value, _number(content, place, 4))
            place += 4
        while place < end:
            value = _turned(value ^ (np.uint64(content[place]) * _PRIME_5), 11) * _PRIME_1
            place += 1
        hashes[row] = _mixed(value)
