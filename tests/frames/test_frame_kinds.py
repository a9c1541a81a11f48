"""Kinds of frames as users write them, and the errors if they cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import muntin as mt
from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse_conditions import parse_bridge, parse_comparison, parse_two_rows
from muntin.expressions.nodes import All, BooleanConstant, Comparison, Constant, Missing, Slot, Text
from muntin.expressions.spark_expressions import Sql
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.kinds import Between, Boundary, Crossing, Delta, Threshold, Trend
from muntin.specs.frames.pattern import Pattern
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.specs.frames.schemes import Schedule, Scheme

SUM = Aggregate("sum", (Sql("vehicles"),))
HUNDRED = Decimal(100)


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (mt.threshold("speed <= 30"), Threshold("speed <= 30")),
        (mt.boundary("status"), Boundary("status")),
        (mt.boundary("depth", every=0.5), Boundary("depth", "0.5")),
        (mt.delta("x", 5.0), Delta("x", 5)),
        (
            mt.delta("x", 5, "first", "minimal", start="y > 1", restart="drop"),
            Delta("x", 5, "first", "minimal", "y > 1", "drop"),
        ),
        (mt.aggregate("sum(vehicles) >= 100"), Crossing(SUM, ">=", HUNDRED)),
        (mt.aggregate("100 > sum(vehicles)"), Crossing(SUM, "<", HUNDRED)),
        (
            mt.aggregate("sum(vehicles) > 100", "maximal", start="y > 1"),
            Crossing(SUM, ">", HUNDRED, "maximal", "y > 1", "close"),
        ),
        (mt.trend("temp", "increasing"), Trend("temp", "increasing")),
        (mt.trend("temp", "decreasing", strict=False), Trend("temp", "decreasing", False)),
        (mt.between("a", "b", "start"), Between("a", "b", "start")),
        (mt.density("sum(vehicles) < 100", "60 seconds"), Density(SUM, "<", HUNDRED, "1 minute")),
        (mt.density(p=0.05, rate=2, per=60), Cluster(0.05, 2.0, 60)),
        (mt.density(p=0.05, rate=2, per=60, weight="n"), Cluster(0.05, 2.0, 60, "n")),
        (mt.region("b", along="milepost"), Region("b", "milepost")),
        (mt.pattern("a+ b", a="x > 1", b="y"), Pattern("a+ b", {"b": "y", "a": "x > 1"})),
        (mt.pattern("pattern", pattern="x"), Pattern("pattern", {"pattern": "x"})),
        (mt.region("b", "milepost", 2, "all"), Region("b", "milepost", "2", "all")),
    ],
    ids=lambda kind: getattr(kind, "label", ""),
)
def test_a_kind_is_what_its_words_say(made: FrameKind, kind: FrameKind) -> None:
    assert made == kind


def test_schemes_and_schedules_have_public_names() -> None:
    assert mt.adjacent("10 seconds") == Scheme("adjacent", overlap="10 seconds")
    assert mt.cover() == Scheme("cover", fill="drained")
    assert mt.cover("saturated") == Scheme("cover", fill="saturated")
    assert mt.schedule("20 seconds") == Schedule("20 seconds")
    assert mt.schedule(20, origin=5) == Schedule(20, 5)


NAMES = """
    threshold boundary delta aggregate trend between density region adjacent cover schedule
    Frames Framing FramingFunction CompiledFraming Schedule Scheme TieError OwnFramingError
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_every_public_name_says_what_it_is(name: str) -> None:
    assert name in mt.__all__
    assert getattr(mt, name).__doc__


GIVEN = "it is SQL text or a PySpark column"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: mt.threshold(None), f"where=None cannot be used: {GIVEN}"),
        (lambda: mt.threshold("  "), f"where='  ' cannot be used: {GIVEN}"),
        (lambda: mt.boundary(""), f"value='' cannot be used: {GIVEN}"),
        (lambda: mt.delta(None, 5), f"value=None cannot be used: {GIVEN}"),
        (lambda: mt.trend("", "flat"), f"value='' cannot be used: {GIVEN}"),
        (lambda: mt.between("", "x"), f"start='' cannot be used: {GIVEN}"),
        (lambda: mt.between("x", None), f"end=None cannot be used: {GIVEN}"),
        (lambda: mt.region(None, "milepost"), f"where=None cannot be used: {GIVEN}"),
        (
            lambda: mt.density(),
            "density=None cannot be used: give a condition and per=, or p=, rate= and per=",
        ),
        (
            lambda: mt.density(p=0.05, per="1 minute"),
            "density=None cannot be used: give a condition and per=, or p=, rate= and per=",
        ),
        (
            lambda: mt.density("sum(x) > 3", per="1 minute", p=0.05),
            "p=0.05 cannot be used: density takes a condition or p= and rate=, not both",
        ),
        (
            lambda: mt.density("sum(x) > 1", per=5, weight="n"),
            "weight='n' cannot be used: it goes with p= and rate=; a condition has its sum",
        ),
        (
            lambda: mt.density("sum(x) > 3"),
            "per=None cannot be used: say over how long: per='1 minute'",
        ),
        (
            lambda: mt.aggregate("sum(x) = 3"),
            "condition='sum(x) = 3' cannot be used: = and <> hold at single rows, so they bound no "
            "frame; use <, <=, > or >=",
        ),
        (
            lambda: mt.aggregate("3 <> sum(x)"),
            "condition='sum(x) <> 3' cannot be used: = and <> hold at single rows",
        ),
        (
            lambda: mt.density("count(*) = 3", per=5),
            "condition='count(*) = 3' cannot be used: use one of <, <=, > and >=",
        ),
        (
            lambda: mt.aggregate(7),  # type: ignore[arg-type]
            "condition=7 cannot be used: write SQL text such as 'sum(vehicles) >= 100'",
        ),
    ],
)
def test_a_mistake_is_named(made: Callable[[], Any], says: str) -> None:
    with pytest.raises(mt.ArgumentError) as refused:
        made()
    assert str(refused.value).startswith(says)


# -- An aggregate compared with a number -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "aggregate", "sign", "limit"),
    [
        ("sum(v) >= 100", "sum(v)", ">=", "100"),
        ("sum(v) >= -1.5", "sum(v)", ">=", "-1.5"),
        ("-2 < min(v)", "min(v)", ">", "-2"),
        ("3 >= max(v)", "max(v)", "<=", "3"),
        ("7 = avg(v)", "avg(v)", "=", "7"),
        ("(sum(v)) <= (3)", "sum(v)", "<=", "3"),
        ("count(*) < 1e2", "count(*)", "<", "100"),
        ("sum(v) FILTER (WHERE v > 0) > 3", "sum(v) FILTER (WHERE v > 0)", ">", "3"),
    ],
)
def test_a_comparison_is_turned_so_that_the_aggregate_stands_left(
    text: str, aggregate: str, sign: str, limit: str
) -> None:
    found, compared, number = parse_comparison(text)
    assert (str(found), compared, number) == (aggregate, sign, Decimal(limit))


USAGE = "compare one aggregate with a number, such as 'sum(vehicles) >= 100'"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sum(v)", USAGE),
        ("100", USAGE),
        ("v >= 3", USAGE),
        ("sum(v) >= avg(v)", USAGE),
        ("sum(v) >= x", USAGE),
        ("sum(v) >= 'a'", USAGE),
        ("sum(v) >= NULL", USAGE),
        ("sum(v) >= TRUE", USAGE),
        ("sum(v) >= 1e999", USAGE),
        ("sum(v) + 1 >= 3", USAGE),
        ("100 >= 3", USAGE),
        ("sum(v) >= 1 AND sum(v) <= 3", USAGE),
        ("NOT sum(v) > 3", USAGE),
        ("sum(v) BETWEEN 1 AND 3", USAGE),
        ("sum(v) > 3 AS s", USAGE),
        ("sum(v) OVER () > 3", "OVER has no place here"),
        ("max(DISTINCT v) > 3", "DISTINCT stands in count(DISTINCT x), sum and avg"),
        ("sum(v", "this is not SQL that can be read: Expecting )\n  sum(v\n      ^"),
    ],
)
def test_what_is_no_comparison_is_shown(text: str, says: str) -> None:
    with pytest.raises(mt.ExpressionError) as refused:
        parse_comparison(text)
    assert str(refused.value).startswith(says)
    assert f"\n  {text}" in str(refused.value)


def test_a_comparison_too_deep_to_read() -> None:
    with pytest.raises(mt.ExpressionError, match="sum"):
        parse_comparison(f"sum({'(' * 5000}v{')' * 5000}) > 3")


# -- A condition on the rows around a missing one --------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree", "columns"),
    [
        ("prev.v < next.v", Comparison("<", Slot(0), Slot(1)), ["prev.v", "next.v"]),
        (
            "prev.v < 30 AND next.v < prev.v",
            All(
                (
                    Comparison("<", Slot(0), Constant(Decimal(30))),
                    Comparison("<", Slot(1), Slot(0)),
                )
            ),
            ["prev.v", "next.v"],
        ),
        ("prev.v IS NULL", Missing(Slot(0)), ["prev.v"]),
        ("next.s = 'a'", Comparison("=", Slot(0), Text("a")), ["next.s"]),
        ("prev.`a b` > 1", Comparison(">", Slot(0), Constant(Decimal(1))), ["prev.`a b`"]),
    ],
)
def test_a_bridge_has_a_slot_for_each_column(text: str, tree: object, columns: list[str]) -> None:
    assert parse_bridge(text) == (tree, columns)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max(prev.x) > 1", "an aggregate cannot stand in a condition on rows"),
        ("prev.x >", "this is not SQL that can be read: something is missing"),
        ("sqrt(prev.x) > 1", "'sqrt(prev.x)' cannot be used; + - * / abs, comparisons, BETWEEN"),
        (
            "prev.s RLIKE 'a'",
            "cannot be used; + - * / abs, comparisons, BETWEEN, IN, LIKE, % and div, coalesce, "
            "nullif, if, CASE, least, greatest, timestampdiff, datediff, intervals, constants, "
            "IS NULL, AND, OR and NOT can",
        ),
        ("prev.x > 1 AS y", "a condition has no alias"),
        ("prev.s LIKE next.s", "LIKE takes a constant pattern here, such as 'a%'"),
        ("prev.s LIKE 'a/b' ESCAPE '/'", "in LIKE '/' stands before _ or % or itself"),
        ("next.ts - prev.ts < INTERVAL 1 MONTH", "from days to microseconds: INTERVAL 90 SECONDS"),
        ("next.ts - prev.ts < INTERVAL '1:30' MINUTE TO SECOND", "an interval has one unit here"),
        (
            "timestampdiff(MONTH, prev.ts, next.ts) < 2",
            "SECOND, MINUTE, HOUR, DAY, WEEK, not MONTH",
        ),
        ("prev.ts > TIMESTAMP 'noon'", "'noon' is no time; write TIMESTAMP '2026-01-31 12:00:00'"),
    ],
)
def test_what_is_no_bridge_is_shown(text: str, says: str) -> None:
    with pytest.raises(mt.ExpressionError) as refused:
        parse_bridge(text)
    assert says in str(refused.value)
    assert f"\n  {text}" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "tree", "parts"),
    [
        (
            "prev.v % 2 = 1 AND next.v < prev.v",
            All((Slot(0), Comparison("<", Slot(1), Slot(2)))),
            [("`v` % 2 = 1", "prev.v"), ("`v`", "next.v"), ("`v`", "prev.v")],
        ),
        ("next.ts < prev.ts + INTERVAL 1 MINUTE", Comparison("<", Slot(0), Slot(1)),
            [("`ts`", "next.ts"), ("`ts` + INTERVAL '1' MINUTE", "prev.ts")]),
        ("sqrt(prev.v) > 1", Slot(0), [("SQRT(`v`) > 1", "prev.v")]),
        ("prev.s.a = next.`a b`", Comparison("=", Slot(0), Slot(1)),
            [("`s`.`a`", "prev.s.a"), ("`a b`", "next.`a b`")]),
        ("TRUE", BooleanConstant(True), []),
    ],
)  # fmt: skip
def test_what_looks_at_one_row_is_left_to_spark(
    text: str, tree: object, parts: list[tuple[str, str]]
) -> None:
    found, of_one_row = parse_two_rows(text)
    assert found == tree
    assert [(part.text, *part.columns) for part in of_one_row] == parts


def test_a_bridge_too_deep_to_read() -> None:
    with pytest.raises(mt.ExpressionError, match="nested too deeply"):
        parse_bridge(f"{'(' * 5000}prev.x{')' * 5000} > 3")
