"""Approximate aggregates: sketches of Apache DataSketches, kept by panes and merged by union.

A sketch has a limited size for any number of rows, and the sketches of two panes can be merged. The
error of an answer is documented with ``mt.approx_count_distinct`` and its relatives; measured
errors are in the docs (Sketches). A sketch is an own aggregate like a user's. SQL text calls it by
a name, see ``DEFINITIONS``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import datasketches
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasketches import (
    frequent_strings_sketch,
    hll_sketch,
    hll_union,
    kll_doubles_sketch,
)

from muntin.aggregates.definition import Definition, SqlNode
from muntin.aggregates.own_aggregate import Columns, OwnAggregate, grouped_sum
from muntin.errors import ArgumentError, UnsupportedTypeError
from muntin.kernels.arrays import Ints
from muntin.kernels.numbers.equal_values import by_group, decoded, tally
from muntin.kernels.numbers.order_keys import orderable

_BYTES = pa.large_binary()  # 2 GB of sketches are only 500,000 panes
_HLL_8 = datasketches.tgt_hll_type.HLL_8
_ALL = datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES


class _Sketch(OwnAggregate):
    """An aggregate whose partial rows are serialized sketches, merged by union."""

    partials: Sequence[pa.DataType] = (_BYTES,)

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        blobs = partials[0].to_pylist()
        results = []
        for rows in by_group(groups, count):
            group = [blobs[row] for row in rows]
            results.append(group[0] if len(group) == 1 else self.union(group))
        return [pa.array(results, _BYTES)]

    def union(self, blobs: Sequence[bytes]) -> bytes:
        raise NotImplementedError

    def require(self, type_: pa.DataType, holds: bool, wanted: str) -> None:
        if not holds:
            raise UnsupportedTypeError(f"needs {wanted}, but its argument is {type_}")


@dataclass(frozen=True)
class ApproxCountDistinct(_Sketch):
    """HyperLogLog with the smallest number of registers that is enough for ``error``."""

    error: float

    def __post_init__(self) -> None:
        _check_error(self.error, 1.04 / math.sqrt(2**21), 1.04 / math.sqrt(2**7))

    @property
    def name(self) -> str:
        return "approx_count_distinct"

    @property
    def lg_k(self) -> int:
        return max(7, math.ceil(2 * math.log2(1.04 / self.error)))

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        self.require(types[0], orderable(types[0]), "a type that has an order")
        return pa.int64()

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        values, place, _, rows = tally(columns[0], groups, count)
        results = []
        for group in rows:
            sketch = hll_sketch(self.lg_k, _HLL_8)
            for value in place[group].tolist():
                item = values[value]
                # The dot is needed because the sketch ignores an empty text.
                sketch.update(f".{item}" if isinstance(item, str) else item)
            results.append(sketch.serialize_compact())
        return [pa.array(results, _BYTES)]

    def union(self, blobs: Sequence[bytes]) -> bytes:
        union = hll_union(self.lg_k)
        for blob in blobs:
            union.update(hll_sketch.deserialize(blob))
        return bytes(union.get_result(_HLL_8).serialize_compact())

    def finish(self, partials: Columns) -> pa.Array:
        return pa.array([self._estimate(blob) for blob in partials[0].to_pylist()], pa.int64())

    def _estimate(self, blob: bytes) -> int:
        # A sketch that was never merged has a better estimate, but that depends on the order of
        # its values. Merged with itself, its estimate depends on the values alone.
        sketch, union = hll_sketch.deserialize(blob), hll_union(self.lg_k)
        union.update(sketch)
        union.update(sketch)
        return round(float(union.get_estimate()))


@dataclass(frozen=True)
class ApproxQuantile(_Sketch):
    """A KLL sketch of the doubles, and the number of NaN, which are greater than every double."""

    p: float | tuple[float, ...]
    error: float
    partials = (_BYTES, pa.int64())

    def __post_init__(self) -> None:
        for share in self.p if isinstance(self.p, tuple) else (self.p,):
            if not _is_number(share) or not 0 <= share <= 1:
                raise ArgumentError("p", share, "it must be a share from 0 to 1, such as 0.95")
        if self.p == ():
            raise ArgumentError("p", self.p, "give at least one share, such as 0.95")
        _check_error(self.error, kll_doubles_sketch.get_normalized_rank_error(65535, False), 0.2)

    @property
    def name(self) -> str:
        return "approx_percentile"

    @property
    def k(self) -> int:
        """The least k whose error is small enough; errors fall as k grows."""
        low, high = 8, 65535
        while low < high:
            middle = (low + high) // 2
            if kll_doubles_sketch.get_normalized_rank_error(middle, False) <= self.error:
                high = middle
            else:
                low = middle + 1
        return low

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        type_ = types[0]
        number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        self.require(type_, number or pa.types.is_decimal(type_), "a number")
        return pa.list_(pa.float64()) if isinstance(self.p, tuple) else pa.float64()

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        doubles = columns[0].cast(pa.float64(), safe=False)
        valid = pc.is_valid(doubles).to_numpy(zero_copy_only=False)
        values = doubles.drop_null().to_numpy(zero_copy_only=False) + 0.0  # -0.0 is 0.0
        results, k = [], self.k
        for rows in by_group(groups[valid], count):
            sketch = kll_doubles_sketch(k)
            sketch.update(values[rows])  # leaves NaN out
            results.append(sketch.serialize())
        nans = np.bincount(groups[valid][np.isnan(values)], minlength=count)
        return [pa.array(results, _BYTES), pa.array(nans.astype(np.int64))]

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        sketches = super().merge(partials[:1], groups, count)
        return [*sketches, grouped_sum(partials[1], groups, count)]

    def union(self, blobs: Sequence[bytes]) -> bytes:
        sketch = kll_doubles_sketch(self.k)
        for blob in blobs:
            sketch.merge(kll_doubles_sketch.deserialize(blob))
        return bytes(sketch.serialize())

    def finish(self, partials: Columns) -> pa.Array:
        results: list[object] = []
        for blob, nans in zip(*(column.to_pylist() for column in partials), strict=True):
            sketch = kll_doubles_sketch.deserialize(blob)
            if sketch.n + nans == 0:
                results.append(None)
            elif isinstance(self.p, tuple):
                results.append([_quantile(sketch, nans, share) for share in self.p])
            else:
                results.append(_quantile(sketch, nans, self.p))
        return pa.array(results, self.result((pa.float64(),)))


def _quantile(sketch: kll_doubles_sketch, nans: int, share: float) -> float:
    rank = share * (sketch.n + nans)
    if rank > sketch.n or sketch.n == 0:
        return math.nan
    if rank == 0:
        return float(sketch.get_min_value())
    if rank == sketch.n:
        return float(sketch.get_max_value())
    return float(sketch.get_quantile(rank / sketch.n, inclusive=True))


@dataclass(frozen=True)
class ApproxTopK(_Sketch):
    """Frequent items (Misra and Gries): a table of at most 0.75 * 2**lg_k values and counts."""

    k: int
    error: float
    _item: pa.DataType | None = None

    def __post_init__(self) -> None:
        if type(self.k) is not int or self.k < 1:
            raise ArgumentError("k", self.k, "it must be a whole number above zero")
        _check_error(self.error, 3.5 / 2**25, 3.5 / 2**3)

    @property
    def name(self) -> str:
        return "approx_top_k"

    @property
    def lg_k(self) -> int:
        return max(3, math.ceil(math.log2(3.5 / self.error)))

    def typed(self, types: Sequence[pa.DataType]) -> ApproxTopK:
        return replace(self, _item=types[0])

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        self.require(types[0], orderable(types[0]), "a type that has an order")
        counts = [(name, pa.int64()) for name in ("count", "low", "high")]
        return pa.list_(pa.struct([("item", types[0]), *counts]))

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        values, place, times, rows = tally(columns[0], groups, count)
        results = []
        for group in rows:
            sketch = frequent_strings_sketch(self.lg_k)
            for value, weight in zip(place[group].tolist(), times[group].tolist(), strict=True):
                sketch.update(str(values[value]), weight)
            results.append(_packed(sketch, 0))
        return [pa.array(results, _BYTES)]

    def union(self, blobs: Sequence[bytes]) -> bytes:
        sketch, lost = frequent_strings_sketch(self.lg_k), 0
        for blob in blobs:
            more, more_lost = _unpacked(blob)
            sketch.merge(more)
            lost += more_lost
        return _packed(sketch, lost)

    def finish(self, partials: Columns) -> pa.Array:
        entries, ends = [], [0]
        for blob in partials[0].to_pylist():
            sketch, lost = _unpacked(blob)
            items = sorted(sketch.get_frequent_items(_ALL), key=lambda item: (-item[1], item[0]))
            entries += [
                (name, n + lost, low, high + lost) for name, n, low, high in items[: self.k]
            ]
            ends.append(len(entries))
        assert self._item is not None
        type_ = self.result((self._item,))
        names, *counts = ([row[part] for row in entries] for part in range(4))
        items = decoded(names, self._item)
        columns = [items, *(pa.array(column, pa.int64()) for column in counts)]
        rows = pa.StructArray.from_arrays(columns, fields=list(type_.value_type))
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), rows, type=type_)


def _packed(sketch: frequent_strings_sketch, lost: int) -> bytes:
    """Serialize a sketch with ``lost``, by which its counts may be too small in addition.

    A sketch that has just dropped all its values forgets how often they may have occurred when it
    is written or merged (datasketches 5.2). So that number is stored with it.
    """
    if sketch.is_empty():
        lost += sketch.get_upper_bound("")
    return lost.to_bytes(8, "little") + bytes(sketch.serialize())


def _unpacked(blob: bytes) -> tuple[frequent_strings_sketch, int]:
    return frequent_strings_sketch.deserialize(blob[8:]), int.from_bytes(blob[:8], "little")


@dataclass(frozen=True)
class SketchDefinition(Definition):
    """A sketch in SQL text: ``make`` builds it from its constants, messages show ``usage``."""

    _: KW_ONLY
    make: Callable[..., OwnAggregate]
    usage: str


DEFINITIONS = (
    SketchDefinition(
        "approx_count_distinct",
        ("approx_count_distinct",),
        nodes={"ApproxDistinct": SqlNode("approx_count_distinct", ("accuracy",))},
        make=lambda error=0.02: ApproxCountDistinct(error),
        usage="approx_count_distinct(x) or approx_count_distinct(x, error)",
    ),
    SketchDefinition(
        "approx_percentile",
        ("approx_percentile",),
        nodes={
            "ApproxQuantile": SqlNode(
                "approx_percentile", ("quantile", "accuracy", "weight", "error_tolerance")
            )
        },
        make=lambda p, accuracy=100: ApproxQuantile(shares_of(p), 1 / accuracy if accuracy else 0),
        usage="approx_percentile(x, 0.95) or approx_percentile(x, array(0.5, 0.95), accuracy)",
    ),
    SketchDefinition(
        "approx_top_k",
        ("approx_top_k",),
        nodes={"ApproxTopK": SqlNode("approx_top_k", ("expression", "counters"))},
        make=lambda k=5: ApproxTopK(k, 0.001),
        usage="approx_top_k(x) or approx_top_k(x, k)",
    ),
)


def shares_of(given: object) -> float | tuple[float, ...]:
    """Return one share, or a tuple of several; the sketch checks them."""
    if isinstance(given, list | tuple):
        return tuple(given)
    return given  # type: ignore[return-value]  # checked by the sketch


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_error(error: float, least: float, most: float) -> None:
    if not _is_number(error) or not least <= error <= most:
        raise ArgumentError("error", error, f"it must lie between {least:.2g} and {most:.2g}")
