"""Whether values of an aggregate meet the condition that frames are asked for with."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.evaluate import evaluate
from muntin.expressions.nodes import Comparison, Constant, Inner, Slot
from muntin.expressions.values import Value, from_arrow, truth
from muntin.kernels.arrays import Mask


def comparable(type_: pa.DataType) -> bool:
    """Whether values of a type can be compared with a number; of truths true is 1."""
    number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    return bool(number or pa.types.is_decimal(type_) or pa.types.is_boolean(type_))


def meets(values: pa.Array, sign: str, limit: Decimal) -> Mask:
    """Where values compare so with a limit; null and NaN do not."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int64())

    def slot(place: int) -> Value:
        return from_arrow(values)

    def inner(node: Inner) -> Value:
        raise AssertionError(node)  # there is none in a comparison with a number

    answer = truth(evaluate(Comparison(sign, Slot(0), Constant(limit)), slot, inner))
    unknown = pc.is_null(values, nan_is_null=True).to_numpy(zero_copy_only=False)
    found: Mask = answer.true & answer.valid & ~unknown
    return found
