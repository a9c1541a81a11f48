"""Labels for shards that Spark spreads evenly over its partitions, however many there are.

Spark hashes the shard column again (Murmur3, seed 42), so labels 0, 1, 2... leave partitions
empty. The hash of a 32-bit integer can be inverted: the label of shard ``i`` is the integer whose
hash is ``i``, and lands in partition ``i mod partitions``. Labels are the keys of the state, so
they must not depend on the number of partitions; these do not.
"""

from __future__ import annotations

_MASK = 0xFFFF_FFFF
_SEED = 42


def shard_label(shard: int) -> int:
    """The 32-bit integer whose Spark hash is ``shard``.

    >>> spark_hash(shard_label(5))
    5
    """
    value = _undo_finalize(shard & _MASK)
    value = (value - 0xE654_6B64) * pow(5, -1, 2**32) & _MASK
    value = _rotate(value, 32 - 13) ^ _SEED
    value = value * pow(0x1B87_3593, -1, 2**32) & _MASK
    value = _rotate(value, 32 - 15)
    value = value * pow(0xCC9E_2D51, -1, 2**32) & _MASK
    return value - 2**32 if value >= 2**31 else value


def spark_hash(value: int) -> int:
    """Spark's ``hash`` of a 32-bit integer."""
    mixed = (value & _MASK) * 0xCC9E_2D51 & _MASK
    mixed = _rotate(mixed, 15) * 0x1B87_3593 & _MASK
    state = _rotate(_SEED ^ mixed, 13)
    state = (state * 5 + 0xE654_6B64) & _MASK
    state ^= 4  # the length of the value in bytes
    state ^= state >> 16
    state = state * 0x85EB_CA6B & _MASK
    state ^= state >> 13
    state = state * 0xC2B2_AE35 & _MASK
    state ^= state >> 16
    return state - 2**32 if state >= 2**31 else state


def _undo_finalize(state: int) -> int:
    state ^= state >> 16
    state = state * pow(0xC2B2_AE35, -1, 2**32) & _MASK
    state ^= (state >> 13) ^ (state >> 26)
    state = state * pow(0x85EB_CA6B, -1, 2**32) & _MASK
    state ^= state >> 16
    return state ^ 4


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _MASK
