from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from muntin.errors import ArgumentError
from muntin.specs.disorder import (
    MOST_ROWS,
    Disorder,
    Each,
    RowSlack,
    Slack,
    disorder_or_none,
    each,
    ordered,
    per_key,
    per_partition,
    punctuated,
    slack,
)
from muntin.specs.idle import clock, follow
from muntin.specs.lengths import Duration, Number, parse_length


def test_ordered_has_no_slack() -> None:
    assert ordered() == Slack("generous", None)
    assert ordered(late="consistent").late == "consistent"
    assert str(ordered()) == "ordered"


def test_slack() -> None:
    assert slack("10 seconds") == Slack("generous", Duration(10_000_000))
    assert slack(timedelta(0)) == Slack("generous", Duration(0))
    assert slack(0.5, late="consistent") == Slack("consistent", parse_length("slack", "0.5"))
    assert slack(5).lengths == (Number(Decimal(5)),)
    assert str(slack("90 s")) == "slack 90 seconds"


def test_slack_by_rows() -> None:
    assert slack(rows=7, late="consistent") == RowSlack("consistent", 7)
    assert slack(rows=MOST_ROWS).lengths == ()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: slack(rows=-1), "rows=-1 cannot be used: it is a whole number from 0 to 100,000"),
        (lambda: slack(rows=MOST_ROWS + 1), "for more disorder use a length"),
        (lambda: slack(rows=2.5), "rows=2.5"),  # type: ignore[arg-type]
        (lambda: slack("1 s", rows=2), "a length or a number of rows, not both"),
        (lambda: slack(), "slack=None cannot be used: a length is a duration"),
        (lambda: punctuated(" "), "where=' ' cannot be used: it is SQL text or a PySpark column"),
        (lambda: punctuated(None), "where=None"),
        (lambda: punctuated("p", key="k"), "key='k' cannot be used: it is True"),  # type: ignore[arg-type]
        (lambda: per_key("-1 s"), "slack='-1 s' cannot be used: it must not be negative"),
        (lambda: per_key(idle="wait"), "mt.wait(), mt.follow('5 minutes') or mt.clock("),  # type: ignore[arg-type]
        (lambda: each([]), "each=[] cannot be used: it is the name of a column, or several"),
        (lambda: each(7), "each=7"),  # type: ignore[arg-type]
        (lambda: each("q", expect="ab"), "expect='ab' cannot be used: it is a list of values"),
        (lambda: each(["q", "r"], expect=["a"]), "each has 2 values, one for every column"),
        (lambda: per_partition(column=""), "each=''"),
        (lambda: follow("-1 s"), "follow='-1 s' cannot be used: it must not be negative"),
        (lambda: clock(5), "clock=5 cannot be used: it is a length of time"),
        (lambda: clock("0 s"), "clock='0 s'"),
    ],
)
def test_a_rule_that_cannot_be(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert says in str(caught.value)


def test_lengths_that_an_axis_must_be_fine_enough_for() -> None:
    rule = per_key(2, idle=follow("0.25"))
    assert rule.lengths == (Number(Decimal(2)), Number(Decimal("0.25")))
    assert rule.finest == Number(Decimal("0.25"))
    assert punctuated("p").finest is None


def test_only_the_clock_needs_a_clock() -> None:
    assert each("q", idle=clock("1 s")).needs_clock
    assert not each("q", idle=follow(3)).needs_clock
    assert not slack(3).needs_clock


def test_partitions_are_those_of_kafka_unless_named() -> None:
    rule = per_partition("1 s", idle=follow("5 s"))
    assert rule.resolved(["topic", "partition", "value"]) == each(
        ["topic", "partition"], "1 s", idle=follow("5 s")
    )
    assert rule.resolved(["partition", "value"]) == each("partition", "1 s", idle=follow("5 s"))
    assert per_partition(column="shard") == each("shard")


def test_expected_values_are_tuples_once_each() -> None:
    assert each("q", expect=["a", "b", "a"]) == Each(
        "generous", columns=("q",), expect=(("a",), ("b",))
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (slack("1 s"), ordered(), True),
        (slack("1 s"), slack(rows=1), False),
        (per_key("1 s"), per_key("2 s"), True),
        (per_key(idle=follow(1)), per_key(idle=follow(2)), True),
        (per_key(idle=follow(1)), per_key(), False),
        (per_key(idle=clock("1 s")), per_key(idle=clock("2 s")), False),
        (punctuated("a"), punctuated("b"), True),
        (punctuated("a"), punctuated("a", key=True), False),
        (each("a"), each("b"), False),
    ],
)
def test_what_a_checkpoint_belongs_to(one: Disorder, other: Disorder, same: bool) -> None:
    assert (one.state_kind == other.state_kind) is same


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("-1 s", "slack='-1 s' cannot be used: it must not be negative, such as '10 seconds'"),
        (-1, "slack=-1 cannot be used: it must not be negative, such as '10 seconds'"),
        (
            "soon",
            "slack='soon' cannot be used: "
            "a length is a duration such as '5 minutes' or a number such as 10 or '0.5'",
        ),
    ],
)
def test_a_slack_that_cannot_be(given: object, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        slack(given)
    assert str(caught.value) == message


@pytest.mark.parametrize("make", [ordered, lambda late: slack("1 s", late=late)])
def test_lateness_is_one_of_two(make: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        make(late="never")
    assert str(caught.value) == "late='never' cannot be used: it is 'generous' or 'consistent'"


def test_what_a_stream_takes() -> None:
    assert disorder_or_none(None) is None
    chosen = slack("1 s")
    assert disorder_or_none(chosen) is chosen
    with pytest.raises(ArgumentError) as caught:
        disorder_or_none("10 seconds")
    assert str(caught.value) == (
        "disorder='10 seconds' cannot be used: it is mt.ordered(), mt.slack('10 seconds'), "
        "mt.slack(rows=100), mt.punctuated('condition'), mt.per_key('10 seconds'), "
        "mt.each('sensor', '10 seconds') or mt.per_partition(), or None for batch"
    )
