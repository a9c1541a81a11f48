from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from muntin.semantics.disorder import Disorder, disorder_or_none, ordered, slack
from muntin.semantics.errors import ArgumentError
from muntin.semantics.lengths import Duration, Number, parse_length


def test_ordered_has_no_slack() -> None:
    assert ordered() == Disorder(None, "generous")
    assert ordered(late="consistent").late == "consistent"
    assert str(ordered()) == "ordered"


def test_slack() -> None:
    assert slack("10 seconds") == Disorder(Duration(10_000_000), "generous")
    assert slack(timedelta(0)).slack == Duration(0)
    assert slack(0.5, late="consistent") == Disorder(parse_length("slack", "0.5"), "consistent")
    assert isinstance(slack(5).slack, Number)
    assert str(slack("90 s")) == "slack 90 seconds"


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
        "disorder='10 seconds' cannot be used: "
        "it is mt.ordered() or mt.slack('10 seconds'), or None for batch"
    )
