from __future__ import annotations

import pickle
import re
from collections.abc import Callable

import pyarrow as pa
import pytest

from muntin.aggregates.bind import bind, synopses
from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate
from muntin.aggregates.synopses import functions as mt
from muntin.aggregates.synopses.composed import Composed
from muntin.aggregates.synopses.count_sum_avg import ApproxAvg, ApproxCount, ApproxSum
from muntin.aggregates.synopses.distinct import DistinctValues
from muntin.aggregates.synopses.norms import Vector
from muntin.aggregates.synopses.protocol import SynopsisKind
from muntin.aggregates.synopses.tables import HashCounts, ValueHistogram
from muntin.errors import ArgumentError
from muntin.specs.lengths import Duration, Number

OWN = Vector(1.0)
CASES: list[tuple[Aggregate, str, SynopsisKind]] = [
    (mt.approx_count(), "approx_count(*)", ApproxCount(0.05)),
    (mt.approx_count("x", bounds=True), "approx_count(x)", ApproxCount(0.05, True)),
    (mt.approx_sum("x", eps=0.1), "approx_sum(x)", ApproxSum(0.1)),
    (mt.approx_avg("x"), "approx_avg(x)", ApproxAvg(0.05)),
    (mt.approx_distinct_window("x"), "approx_distinct_window(x)", DistinctValues(0.05)),
    (mt.lp_norm("i", "a", p=1), "lp_norm(i, a, 1)", Composed(Vector(1.0), 0.1, False, 1.0)),
    (mt.own_synopsis(OWN, "i", "a"), "Vector(i, a)", Composed(OWN, 0.05)),
    (mt.hash_counts("x", buckets=8), "hash_counts(x)", HashCounts(8, 0.05)),
    (mt.value_histogram("x", [1, 2]), "value_histogram(x)", ValueHistogram((1.0, 2.0), 0.05)),
    (
        mt.value_histogram("x", [1], of="sum", amount="y"),
        "value_histogram(x, y)",
        ValueHistogram((1.0,), 0.05, "sum"),
    ),
]


@pytest.mark.parametrize(("aggregate", "name", "kind"), CASES, ids=[name for _, name, _ in CASES])
def test_names_and_kinds(aggregate: Aggregate, name: str, kind: SynopsisKind) -> None:
    assert aggregate.column_name == name
    definition = synopses()[aggregate.function]
    assert definition.kind(aggregate.options, None, 0) == kind
    assert definition.within(aggregate.options) is None
    assert pickle.loads(pickle.dumps(aggregate.options)) == aggregate.options
    # It is part of the fingerprint of a checkpoint, so it must be the same in every run.
    assert not re.search(r"0x[0-9a-f]{6}", str(aggregate))
    # As the operator uses it.
    assert isinstance(kind.result, pa.DataType)
    assert kind.load(kind.new().dump()).dump() == kind.new().dump()


def test_other_aggregates_have_no_kind() -> None:
    assert "sum" not in synopses()


def test_within_is_refused_where_nothing_slides() -> None:
    options = mt.approx_sum("x", within=5).options
    call = AggregateCall("approx_sum", "approx_sum(x)", (0,), (pa.float64(),), True, options)
    with pytest.raises(ArgumentError, match=r"within='5' .* approx_sum\(x\) can ask .* by_tuple"):
        bind(call)


def test_within_is_a_length() -> None:
    in_time, in_ticks = mt.approx_count(within="10 minutes"), mt.approx_sum("x", within=5)
    assert synopses()["approx_count"].within(in_time.options) == Duration(600_000_000)
    assert isinstance(synopses()["approx_sum"].within(in_ticks.options), Number)
    assert mt.approx_count(within="1 hour") != mt.approx_count(within="2 hours")


def test_a_condition_is_kept() -> None:
    filtered = mt.approx_count(eps=0.1).filter("speed < 30").alias("slow")
    assert filtered.column_name == "slow"
    assert synopses()["approx_count"].kind(filtered.options, None, 0) == ApproxCount(0.1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: mt.approx_count(eps=2), "eps=2 .* above 0 and at most 1"),
        (lambda: mt.approx_sum("*"), r"column='\*' .* column name"),
        (lambda: mt.approx_avg("x", within="soon"), "within='soon'"),
        (lambda: mt.approx_avg("x", within=0), "within=0 .* longer than zero"),
        (lambda: mt.lp_norm("i", "a", p=0), "p=0 .* from 1 to 2"),
        (lambda: mt.lp_norm("i", 3), "amount=3 .* column name"),
        (lambda: mt.own_synopsis(OWN), "columns=.* that `init` takes"),
        (lambda: mt.own_synopsis(3, "x"), "function=3 .* constant, init, compose, value"),
        (lambda: mt.hash_counts("x", buckets=0), "buckets=0 "),
        (lambda: mt.value_histogram("x", []), "edges="),
        (lambda: mt.value_histogram("x", [1], of="sum"), "amount=None .* add up"),
        (lambda: mt.value_histogram("x", [1], amount="y"), "amount='y' .* only"),
        (lambda: mt.value_histogram("x", [1], of="max", amount="y"), "of='max' "),
    ],
)
def test_what_is_refused(wrong: Callable[[], Aggregate], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        wrong()
