"""Kinds of frames: their labels, what they allow, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from muntin.errors import ArgumentError
from muntin.specs.frames.frame_kind import FrameKind, Starting
from muntin.specs.frames.kinds import Between, Boundary, Crossing, Delta, Threshold, Trend
from muntin.specs.frames.own_function import FramingFunction, OwnKind
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.specs.lengths import Duration, Number

HUNDRED = Decimal(100)


class Column:
    """Prints as PySpark's columns do."""

    def __str__(self) -> str:
        return "Column<'(speed > 30)'>"


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        (Threshold("x > 3"), "threshold(x > 3)"),
        (Threshold(Column()), "threshold((speed > 30))"),
        (Boundary("depth"), "boundary(depth)"),
        (Boundary("depth", every=0.50), "boundary(depth, every=0.5)"),
        (Boundary("due", every="60 minutes"), "boundary(due, every=1 hour)"),
        (Delta("x", 5), "delta(x, 5)"),
        (Delta("due", "90 seconds"), "delta(due, 90 seconds)"),
        (
            Delta("x", "0.5", against="first", span="minimal"),
            "delta(x, 0.5, against=first, span=minimal)",
        ),
        (Delta("x", 5, start="s", restart="drop"), "delta(x, 5, start=s, restart=drop)"),
        (Crossing("sum(v)", ">=", HUNDRED), "aggregate(sum(v) >= 100, span=minimal)"),
        (
            Crossing("sum(v)", "<", HUNDRED, start="s"),
            "aggregate(sum(v) < 100, span=maximal, start=s, restart=close)",
        ),
        (Trend("t", "increasing"), "trend(t, increasing)"),
        (Trend("t", "decreasing", strict=False), "trend(t, decreasing, strict=False)"),
        (Trend("t", "flat", strict=False), "trend(t, flat)"),
        (Between("o", "c"), "between(o, c)"),
        (Between("o", "c", inclusive="start"), "between(o, c, inclusive=start)"),
        (
            Density("sum(v)", ">", Decimal(30), "1 minute"),
            "density(sum(v) > 30, per=1 minute)",
        ),
        (Cluster(0.05, 2, "1 minute"), "density(p=0.05, rate=2.0, per=1 minute)"),
        (Cluster(0.05, 2, 10, "n"), "density(p=0.05, rate=2.0, per=10, weight=n)"),
        (Region("slow", "mile"), "region(slow, along=mile, prefer=longest)"),
        (
            Region("slow", "mile", 2.0, prefer="all"),
            "region(slow, along=mile, min_extent=2, prefer=all)",
        ),
        (OwnKind(FramingFunction(), "Alternating"), "own(Alternating)"),
    ],
)
def test_a_label_says_what_was_asked_for(kind: FrameKind, label: str) -> None:
    assert kind.label == label


@pytest.mark.parametrize(
    ("kind", "schemes"),
    [
        (Threshold("x"), ("disjoint",)),
        (Boundary("x"), ("partition", "disjoint")),
        (Delta("x", 1), ("partition", "advancing", "adjacent", "cover", "unconstrained")),
        (Delta("x", 1, start="s"), ("partition",)),
        (Crossing("a", ">", HUNDRED, start="s", restart="continue"), ("partition",)),
        (Trend("x", "flat"), ("disjoint",)),
        (Between("a", "b"), ("disjoint",)),
        (Density("a", ">", HUNDRED, 1), ("disjoint",)),
        (Region("x", "mile"), ("disjoint",)),
        (Region("x", "mile", prefer="all"), ("unconstrained",)),
    ],
)
def test_the_schemes_a_kind_can_have(kind: FrameKind, schemes: tuple[str, ...]) -> None:
    assert kind.schemes == schemes


@pytest.mark.parametrize(
    ("sign", "usual"), [("<", "maximal"), ("<=", "maximal"), (">", "minimal"), (">=", "minimal")]
)
def test_the_sign_says_how_far_an_aggregate_frame_reaches(sign: str, usual: str) -> None:
    assert Crossing("sum(v)", sign, HUNDRED).span == usual
    for span in ("minimal", "maximal"):
        assert Crossing("sum(v)", sign, HUNDRED, span=span).span == span


def test_other_kinds_are_maximal_unless_asked() -> None:
    assert Delta("x", 1, span="minimal").span == "minimal"
    kinds = (Threshold("x"), Boundary("x"), Delta("x", 1), Trend("x", "flat"), Between("a", "b"))
    assert {kind.span for kind in kinds} == {"maximal"}


def test_lengths_along_on() -> None:
    assert Density("a", ">", HUNDRED, "1 minute").lengths == (Duration(60_000_000),)
    assert Cluster(0.05, 2, 10).lengths == (Number(Decimal(10)),)
    # The size of a delta is in units of its value, not of `on`.
    assert Delta("x", 5).lengths == Boundary("x", every=1).lengths == ()


def test_a_start_inside_an_open_frame_closes_it_unless_asked() -> None:
    assert Delta("x", 1, start="s").restart == "close"
    assert Delta("x", 1, start="s", restart="continue").restart == "continue"


def test_kinds_are_values() -> None:
    assert Delta("x", 5) == Delta("x", "5")
    assert hash(Region("x", "mile", 2)) == hash(Region("x", "mile", 2))
    assert Delta("x", 5) != Delta("x", 5, against="first")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Boundary("x", every=0), "every=0 cannot be used: it must be longer than zero"),
        (lambda: Boundary("x", every="-5 s"), "every='-5 s' cannot be used: it must be longer"),
        (lambda: Boundary("x", every="1 month"), "every='1 month' cannot be used: a month has no"),
        (lambda: Delta("x", -1), "size=-1 cannot be used: it must be longer than zero"),
        (lambda: Delta("x", None), "size=None cannot be used: a length is"),
        (
            lambda: Delta("x", 1, against="last"),
            "against='last' cannot be used: it is 'range' (max - min) or 'first'",
        ),
        (
            lambda: Delta("x", 1, span="longest"),
            "span='longest' cannot be used: it is 'maximal' or 'minimal'",
        ),
        (
            lambda: Trend("x", "increasing", strict="no"),  # type: ignore[arg-type]
            "strict='no' cannot be used: it is True or False",
        ),
        (
            lambda: Delta("x", 1, restart="drop"),
            "restart='drop' cannot be used: it goes with start=, a condition on rows",
        ),
        (
            lambda: Delta("x", 1, start="s", restart="stop"),
            "restart='stop' cannot be used: it is 'close', 'drop' or 'continue'",
        ),
        (
            lambda: Crossing("sum(v)", "=", HUNDRED),
            "condition='sum(v) = 100' cannot be used: = and <> hold at single rows, so they bound "
            "no frame; use <, <=, > or >=",
        ),
        (lambda: Crossing("sum(v)", "<>", HUNDRED), "condition='sum(v) <> 100' cannot be used"),
        (
            lambda: Crossing("sum(v)", "<", HUNDRED, span=3),
            "span=3 cannot be used: it is 'maximal'",
        ),
        (
            lambda: Crossing("sum(v)", "<", HUNDRED, restart="close"),
            "restart='close' cannot be used: it goes with start=",
        ),
        (
            lambda: Trend("x", "up"),
            "direction='up' cannot be used: it is 'increasing', 'decreasing' or 'flat'",
        ),
        (
            lambda: Between("a", "b", inclusive="left"),
            "inclusive='left' cannot be used: it is 'both', 'start', 'end' or 'neither'",
        ),
        (
            lambda: Density("sum(v)", "=", HUNDRED, 1),
            "condition='sum(v) = 100' cannot be used: use one of <, <=, > and >=",
        ),
        (lambda: Density("sum(v)", ">", HUNDRED, 0), "per=0 cannot be used: it must be longer"),
        (lambda: Cluster(0, 1, 1), "p=0 cannot be used: it must be a chance between 0 and 1"),
        (lambda: Cluster(1, 1, 1), "p=1 cannot be used: it must be a chance between 0 and 1"),
        (lambda: Cluster("0.1", 1, 1), "p='0.1' cannot be used: it must be a chance"),
        (lambda: Cluster(True, 1, 1), "p=True cannot be used: it must be a chance"),
        (lambda: Cluster(0.1, 0, 1), "rate=0 cannot be used: it must be rows per `per`, above 0"),
        (lambda: Cluster(0.1, 1, "0 s"), "per='0 s' cannot be used: it must be longer than zero"),
        (lambda: Region("x", ""), "along='' cannot be used: it must be the name of a number"),
        (lambda: Region("x", 3), "along=3 cannot be used: it must be the name of a number"),
        (lambda: Region("x", "mile", 0), "min_extent=0 cannot be used: it must be a number above"),
        (
            lambda: Region("x", "mile", prefer="largest"),
            "prefer='largest' cannot be used: it is 'longest', 'widest' or 'all'",
        ),
    ],
)
def test_wrong_arguments(made: Callable[[], FrameKind], message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        made()
    assert str(refused.value).startswith(message)


def test_kinds_with_starts() -> None:
    assert isinstance(Delta("x", 1), Starting)
    assert isinstance(Crossing("a", ">", HUNDRED), Starting)
    with pytest.raises(NotImplementedError):
        _ = FrameKind().label
