"""What ``explain`` reports about the state of a pane; nothing here starts Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin.aggregates.bind import bind
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.parse import parse_column
from muntin.spark.explain.state_profile import KeptPart

COUNT = AggregateCall("count", "count(*)", (), (), ansi=True)


def kept(function: str, type_: pa.DataType) -> KeptPart:
    call = AggregateCall(function, f"{function}(x)", (0,), (type_,), ansi=True)
    bound = [bind(COUNT), bind(call)]
    return KeptPart([a for b in bound for a in b.accumulators], "pane")


@pytest.mark.parametrize(
    ("function", "type_", "size"),
    [
        ("max", pa.int8(), "17 bytes and the key"),
        ("max", pa.int64(), "24 bytes and the key"),
        ("max", pa.bool_(), "17 bytes and the key"),
        ("max", pa.decimal128(20, 2), "32 bytes and the key"),
        ("max", pa.string(), "16 bytes, the key and the values"),
        ("last", pa.string(), "24 bytes, the key and the values"),
        ("last", pa.date32(), "28 bytes and the key"),
        ("min", pa.binary(), "16 bytes, the key and the values"),
    ],
)
def test_sizes_are_those_of_the_types(function: str, type_: pa.DataType, size: str) -> None:
    keeping = kept(function, type_)
    assert keeping.size == size
    assert keeping.bounded
    assert keeping.more == ""


@pytest.mark.parametrize(
    ("function", "more"),
    [
        ("median", "; and each distinct value of a pane with its count"),
        ("collect", "; and each value of a pane with its place"),
    ],
)
def test_values_are_said_beside_the_size(function: str, more: str) -> None:
    keeping = kept(function, pa.float64())
    assert (keeping.size, keeping.bounded, keeping.more) == ("16 bytes and the key", False, more)


def test_kept_rows_grow_with_the_rows() -> None:
    (correlated,) = parse_column("count(*) FILTER (WHERE x > avg(x)) AS n", []).aggregates
    call = AggregateCall(
        "correlated", str(correlated), (0,), (pa.int64(),), True, correlated.options
    )
    keeping = KeptPart(bind(call).accumulators, "cell")
    assert not keeping.bounded
    assert keeping.more == "; and each row of a cell, so it grows with the rows"
