"""Shards: how many a query has, and the labels by which Spark finds them.

Spark hashes the shard column again (Murmur3, seed 42), so the labels 0, 1, 2... would leave
partitions empty. The hash of a 32-bit integer can be inverted. The label of shard ``i`` is the
integer whose hash is ``i``, so the shard is in partition ``i mod partitions``. Labels are the keys
of the state, so they must not depend on the number of partitions, and these labels do not.

A stream has a shard for each partition, unless another number is given, or set in the session for
streams that are started then. Spark keeps the number of partitions in the checkpoint, whatever the
session says at a restart, and tells it to every task, as it does with all settings of the session.
"""

from __future__ import annotations

from pyspark import TaskContext

#: Stands for as many shards as the stream has partitions; only its tasks know how many.
PER_PARTITION = 0
#: A stream does not get more shards than this by itself. Every shard costs a call in every
#: micro-batch, and the 200 partitions that Spark has if nobody sets them are not meant for small
#: machines. More cores than this need a given number of shards.
MOST_SHARDS = 64
#: The setting of the session that gives the number of shards.
SHARDS_SETTING = "spark.muntin.shards"
#: Where a task finds the number of partitions of its query: as its checkpoint has it, or, in its
#: first run, as the session has it.
_PARTITIONS = ("spark.sql.streaming.internal.stateStore.partitions", "spark.sql.shuffle.partitions")
_SPARKS_OWN = 200
_MASK = 0xFFFF_FFFF
_SEED = 42


def shards_of(partitions: int) -> int:
    """Return how many shards a stream with so many partitions has by itself."""
    return min(partitions, MOST_SHARDS)


def shards_here(shards: int) -> int:
    """Return the number of shards, in a task of the query."""
    if shards != PER_PARTITION:
        return shards
    return _number(SHARDS_SETTING) or shards_of(_number(*_PARTITIONS) or _SPARKS_OWN)


def _number(*names: str) -> int | None:
    """Return the first of some settings that the task knows."""
    context = TaskContext.get()
    found = [None if context is None else context.getLocalProperty(name) for name in names]
    return next((int(number) for number in found if number is not None), None)


def shard_labels(shards: int) -> list[int]:
    """Return the labels of all shards."""
    return [shard_label(shard) for shard in range(shards)]


def shard_label(shard: int) -> int:
    """Return the 32-bit integer whose Spark hash is ``shard``.

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
    """Return Spark's ``hash`` of a 32-bit integer."""
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
