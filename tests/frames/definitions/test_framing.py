"""The properties of a framing, and each pair of them that contradict each other."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

import muntin as mt
from muntin.errors import ArgumentError
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import (
    Between,
    Boundary,
    Crossing,
    Delta,
    Threshold,
    Trend,
    TrendRuns,
)
from muntin.specs.frames.own_function import FramingFunction, OwnKind
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.specs.frames.schemes import Schedule, Scheme, adjacent, cover, schedule
from muntin.specs.lengths import Duration, Number

THRESHOLD = Threshold("x > 3")
DELTA = Delta("x", 5)
SUM_OVER = Crossing("sum(v)", ">", Decimal(100))
MINIMAL = Delta("x", 5, span="minimal")
BETWEEN = Between("a", "b")
DENSITY = Density("sum(v)", ">", Decimal(30), 60)
CLUSTER = Cluster(0.05, 2, 60)
REGION = Region("slow", "mile")
EVERY_REGION = Region("slow", "mile", prefer="all")
OWN = OwnKind(FramingFunction(), "Mine")
DROPPING = Delta("x", 5, start="s", restart="drop")
CONTINUING = Delta("x", 5, start="s", restart="continue")
SLOTS = schedule(20)


@pytest.mark.parametrize(
    ("kind", "given", "clash"),
    [
        (
            THRESHOLD,
            {"min_duration": 10, "max_duration": 5},
            "min_duration and max_duration contradict each other: 10 is more than 5",
        ),
        (
            THRESHOLD,
            {"min_duration": "1 hour", "max_duration": "5 minutes"},
            "min_duration and max_duration contradict each other: 1 hour is more than 5 minutes",
        ),
        (
            THRESHOLD,
            {"min_count": 3, "max_count": 2},
            "min_count and max_count contradict each other: 3 is more than 2",
        ),
        (
            THRESHOLD,
            {"cut": True},
            "cut=True cannot be used: a frame is cut at max_duration or max_count; give one",
        ),
        (
            SUM_OVER,
            {"cut": True, "max_count": 5},
            "cut and aggregate contradict each other: its frames are minimal, and one that is cut "
            "does not meet its condition",
        ),
        (
            Region("speed < 30", "milepost", prefer="all"),
            {"cut": True, "max_count": 5},
            "cut and prefer='all' contradict each other: regions that overlap are not cut",
        ),
        (
            THRESHOLD,
            {"cut": True, "max_duration": 5, "readings": "until_next"},
            "cut and until_next contradict each other: how long a row holds is known only with the "
            "next one",
        ),
        (
            THRESHOLD,
            {"cut": True, "max_count": 5, "bounds": "liberal"},
            "cut and liberal contradict each other: where a frame is cut, the row beside it "
            "satisfies as well",
        ),
        (
            BETWEEN,
            {"cut": True, "max_count": 5},
            "cut and between contradict each other: between decides itself where a frame ends",
        ),
        (
            CLUSTER,
            {"cut": True, "max_count": 5},
            "cut and density contradict each other: density decides itself where a frame ends",
        ),
        (
            REGION,
            {"cut": True, "max_count": 5},
            "cut and region contradict each other: region decides itself where a frame ends",
        ),
        (
            CLUSTER,
            {"max_count": 1},
            "density and max_count contradict each other: a cluster has at least two rows",
        ),
        (
            MINIMAL,
            {"max_count": 1},
            "span='minimal' and max_count contradict each other: a value moves from one row to "
            "another",
        ),
        (
            Crossing("count(*)", "<=", Decimal(3)),
            {"min_count": 4},
            "count(*) <= 3 and min_count contradict each other: such a frame has no more than 3 "
            "rows",
        ),
        (
            Crossing("count(*)", "<", Decimal("3.5"), start="s"),
            {"min_count": 4},
            "count(*) < 3.5 and min_count contradict each other: such a frame has no more than 3 "
            "rows",
        ),
        (
            Crossing("count(*)", "<=", Decimal(3), span="minimal"),
            {"min_count": 4},
            "count(*) <= 3 and min_count contradict each other: such a frame has no more than 3 "
            "rows",
        ),
        (
            Crossing("count(*)", ">=", Decimal(5)),
            {"max_count": 4},
            "count(*) >= 5 and max_count contradict each other: such a frame has at least 5 rows",
        ),
        (
            MINIMAL,
            {"fragments": 10},
            "fragments and delta contradict each other: its frames are minimal, and certain only "
            "when they are over",
        ),
        (
            THRESHOLD,
            {"fragments": 10, "longest": True},
            "fragments and longest contradict each other: which frame is the longest is known only "
            "at the end",
        ),
        (
            THRESHOLD,
            {"fragments": 10, "max_duration": 20},
            "fragments and max_duration contradict each other: an open frame may yet become too "
            "long; add cut=True",
        ),
        (
            THRESHOLD,
            {"fragments": 10, "max_count": 20},
            "fragments and max_count contradict each other: an open frame may yet become too long",
        ),
        (
            DELTA,
            {"fragments": 10, "scheme": "unconstrained"},
            "fragments and unconstrained contradict each other: frames that overlap are reported "
            "whole",
        ),
        (
            CONTINUING,
            {"fragments": 10},
            "fragments and restart='continue' contradict each other: frames that overlap",
        ),
        (
            DROPPING,
            {"fragments": 10},
            "fragments and restart='drop' contradict each other: an open frame may yet be dropped",
        ),
        (
            REGION,
            {"fragments": 10},
            "fragments and region contradict each other: such a frame is certain only when it is "
            "over",
        ),
        (
            CLUSTER,
            {"fragments": 10, "max_count": 5},
            "fragments and max_count contradict each other",
        ),
        (
            THRESHOLD,
            {"readings": "interval"},
            "readings='interval' cannot be used: it needs until=, the column that ends it",
        ),
        (
            THRESHOLD,
            {"until": "end_ts"},
            "until='end_ts' cannot be used: it goes with readings='interval'",
        ),
        (
            THRESHOLD,
            {"readings": "until_next", "until": "end_ts"},
            "until='end_ts' cannot be used: it goes with readings='interval'",
        ),
        (
            THRESHOLD,
            {"readings": "interval", "until": "end_ts", "schedule": SLOTS},
            "interval and schedule contradict each other: either each row has its own end, or a "
            "schedule gives it one",
        ),
        (
            THRESHOLD,
            {"readings": "until_next", "bounds": "liberal"},
            "until_next and liberal contradict each other: a row that holds for a while leaves "
            "nothing to widen",
        ),
        (
            THRESHOLD,
            {"readings": "interval", "until": "end_ts", "bounds": "liberal"},
            "interval and liberal contradict each other",
        ),
        (
            DELTA,
            {"scheme": cover(), "bounds": "liberal"},
            "liberal and cover contradict each other: frames that overlap have no rows between "
            "them",
        ),
        (
            CONTINUING,
            {"bounds": "liberal"},
            "liberal and restart='continue' contradict each other: frames that overlap have no",
        ),
        (EVERY_REGION, {"bounds": "liberal"}, "liberal and prefer='all' contradict each other"),
        (
            REGION,
            {"readings": "until_next"},
            "region and until_next contradict each other: it takes rows as points",
        ),
        (
            CLUSTER,
            {"readings": "interval", "until": "end_ts", "max_count": 5},
            "density and interval contradict each other: it takes rows as points",
        ),
        (
            REGION,
            {"bounds": "liberal"},
            "region and liberal contradict each other: its frames are bounded by their own rows",
        ),
        (
            CLUSTER,
            {"bounds": "liberal", "max_count": 5},
            "density and liberal contradict each other",
        ),
        (
            THRESHOLD,
            {"ties": "first"},
            "ties='first' cannot be used: give the columns that order rows that tie with "
            "tie_order=",
        ),
        (
            THRESHOLD,
            {"ties": "mean", "tie_order": "seq"},
            "tie_order=['seq'] cannot be used: it goes with ties='first' or ties='last'",
        ),
        (
            THRESHOLD,
            {"tie_order": "seq"},
            "tie_order=['seq'] cannot be used: it goes with ties='first' or ties='last'",
        ),
        (
            DENSITY,
            {"missing": "satisfy"},
            "density and missing='satisfy' contradict each other: a missing row adds nothing to it",
        ),
        (
            CLUSTER,
            {"missing": "carry", "max_count": 5},
            "density and missing='carry' contradict each other",
        ),
        (
            REGION,
            {"schedule": SLOTS},
            "region and schedule contradict each other: its columns are the values of `on` "
            "themselves",
        ),
        (
            REGION,
            {"missing": "carry"},
            "region and missing='carry' contradict each other: use 'break' or 'satisfy'",
        ),
        (
            REGION,
            {"missing": "prev.x > 3"},
            "region and missing='prev.x > 3' contradict each other",
        ),
        (
            CLUSTER,
            {},
            "max_duration=None cannot be used: a density of p and rate needs it, or max_count: how "
            "long or large a frame may be",
        ),
        (
            OWN,
            {"missing": "prev.x > 3"},
            "Mine and missing='prev.x > 3' contradict each other: use 'break', 'satisfy' or ",
        ),
        (
            THRESHOLD,
            {"min_duration": "1 minute", "max_duration": 5},
            "min_duration and max_duration contradict each other: 1 minute and 5 are lengths of",
        ),
        (
            Trend("x", "flat"),
            {"max_count": 1},
            "trend and max_count contradict each other: a trend has at least two rows",
        ),
        (
            THRESHOLD,
            {"scheme": "advancing"},
            "threshold and scheme='advancing' contradict each other: its frames are disjoint",
        ),
        (
            Boundary("x"),
            {"scheme": "cover"},
            "boundary and scheme='cover' contradict each other: its frames are partition or ",
        ),
        (
            Trend("x", "flat"),
            {"scheme": adjacent(3)},
            "trend and scheme='adjacent' contradict each other: its frames are disjoint",
        ),
        (
            TrendRuns("x"),
            {"max_count": 4, "cut": True},
            "cut and trend contradict each other: the direction of a first row is known only with "
            "the second; give a direction",
        ),
        (
            TrendRuns("x"),
            {"fragments": 4},
            "fragments and trend contradict each other: the direction of a first row is known only "
            "with the second; give a direction",
        ),
        (
            TrendRuns("x"),
            {"readings": "interval", "until": "u"},
            "trend and interval contradict each other: without a direction it takes rows as points",
        ),
        (
            CONTINUING,
            {"scheme": "unconstrained"},
            "delta(start=...) and scheme='unconstrained' contradict each other: its frames are ",
        ),
    ],
)
def test_properties_that_contradict_each_other(
    kind: FrameKind, given: dict[str, Any], clash: str
) -> None:
    with pytest.raises(ArgumentError) as refused:
        Framing(kind, "ts", **given)
    assert str(refused.value).startswith(clash)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "threshold"}, "kind='threshold' cannot be used: it is made by mt.threshold"),
        ({"on": ""}, "on='' cannot be used"),
        ({"min_duration": 0}, "min_duration=0 cannot be used: it must be longer than zero"),
        ({"max_duration": "1 month"}, "max_duration='1 month' cannot be used: a month has no"),
        ({"fragments": -1}, "fragments=-1 cannot be used: it must be longer than zero"),
        ({"min_count": 0}, "min_count=0 cannot be used: it counts rows: a whole number above zero"),
        ({"min_count": True}, "min_count=True cannot be used: it counts rows"),
        ({"max_count": 2.0}, "max_count=2.0 cannot be used: it counts rows"),
        ({"cut": "no", "max_count": 2}, "cut='no' cannot be used: it is True or False"),
        ({"longest": "False"}, "longest='False' cannot be used: it is True or False"),
        ({"longest": 1}, "longest=1 cannot be used: it is True or False"),
        (
            {"missing": None},
            "missing=None cannot be used: it is 'break', 'satisfy', 'carry' or SQL",
        ),
        ({"missing": " "}, "missing=' ' cannot be used: it is 'break', 'satisfy', 'carry' or SQL"),
        (
            {"bounds": "wide"},
            "bounds='wide' cannot be used: it is one of 'conservative', 'liberal'",
        ),
        (
            {"readings": "line"},
            "readings='line' cannot be used: it is one of 'point', 'until_next', 'interval'",
        ),
        ({"readings": "interval", "until": ""}, "until='' cannot be used"),
        (
            {"ties": "any"},
            "ties='any' cannot be used: it is one of fail, refuse, first, last, mean, max, min, "
            "sum, or "
            "{column: one of the last four}",
        ),
        (
            {"ties": {"x": "median"}},
            "ties={'x': 'median'} cannot be used: it is one of mean, max, min, sum",
        ),
        ({"ties": "first", "tie_order": 3}, "tie_order=3 cannot be used: it must be a column name"),
        (
            {"scheme": "spiral"},
            "scheme='spiral' cannot be used: the schemes are disjoint, partition, advancing, "
            "adjacent, cover, unconstrained",
        ),
        (
            {"kind": DELTA, "scheme": "adjacent"},
            "scheme='adjacent' cannot be used: mt.adjacent('10 seconds') says how far they overlap",
        ),
    ],
)
def test_wrong_arguments(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        Framing(**{"kind": THRESHOLD, "on": "ts", **given})
    assert str(refused.value).startswith(message)


def test_schemes_check_themselves() -> None:
    assert str(adjacent("10 seconds")) == "adjacent(10 seconds)"
    assert adjacent(0).overlap == Number(Decimal(0))
    assert (str(cover()), str(cover("saturated"))) == ("cover(drained)", "cover(saturated)")
    assert [Scheme(name).overlapping for name in ("disjoint", "partition", "advancing")] == [
        False,
        False,
        True,
    ]
    for made, message in (
        (lambda: adjacent(-1), "overlap=-1 cannot be used: it must not be below zero"),
        (lambda: cover("full"), "fill='full' cannot be used: a cover is 'drained' or 'saturated'"),
        (lambda: Scheme("partition", fill="drained"), "fill='drained' cannot be used"),
        (lambda: Scheme("partition", overlap=1), "scheme='partition' cannot be used: mt.adjacent"),
    ):
        with pytest.raises(ArgumentError) as refused:
            made()
        assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("kind", "given", "overlapping"),
    [
        (THRESHOLD, {}, False),
        (DELTA, {}, False),
        (DELTA, {"scheme": "advancing"}, True),
        (DELTA, {"scheme": cover()}, True),
        (CONTINUING, {}, True),
        (DROPPING, {}, False),
        (REGION, {}, False),
        (EVERY_REGION, {}, True),
    ],
)
def test_which_framings_overlap(kind: FrameKind, given: dict[str, Any], overlapping: bool) -> None:
    assert Framing(kind, "ts", **given).overlapping == overlapping


def test_a_schedule_lies_on_an_axis() -> None:
    axis = Axis(Domain.TIMESTAMP)
    assert Schedule("20 seconds").period(axis) == 20_000_000
    assert Schedule("20 seconds").start(axis) == 0
    assert Schedule(20, origin=7).start(Axis(Domain.INTEGER)) == 7
    assert Schedule("1 minute", datetime(1970, 1, 1, 0, 0, 5)).start(axis) == 5_000_000
    assert str(Schedule(20, origin=7)) == "every 20 from 7"
    with pytest.raises(ArgumentError, match="schedule=0 cannot be used: it must be longer"):
        schedule(0)


def test_an_axis_as_fine_as_every_length() -> None:
    framing = Framing(DELTA, "x", min_duration="0.25", scheme=adjacent("0.5"))
    assert framing.lengths == (Number(Decimal("0.25")), Number(Decimal("0.5")))
    assert framing.axis(Domain.DECIMAL, scale=1, zone="UTC").digits == 2
    slots = Framing(THRESHOLD, "ts", fragments="1 minute", schedule=schedule("20 seconds"))
    assert slots.lengths == (Duration(60_000_000), Duration(20_000_000))


def test_ties_are_kept_in_one_form() -> None:
    framing = Framing(THRESHOLD, "ts", ties={"y": "sum", "x": "mean"})
    assert framing.ties == (("x", "mean"), ("y", "sum"))
    assert framing.combines_ties
    assert Framing(THRESHOLD, "ts", ties=framing.ties) == framing
    first = Framing(THRESHOLD, "ts", ties="first", tie_order=["seq", "id"])
    assert not first.combines_ties
    assert first.tie_order == ("seq", "id")


#   on                0 1 2 3        missing rows count for min_count, and not in count(*)
#   count(*) <= 3     [=====]        three rows and one that is missing
#   count(*) >= 5     [=|            a start closes it, though it has two rows only
def test_counts_that_other_properties_make_possible() -> None:
    few, many = Crossing("count(*)", "<=", Decimal(3)), Crossing("count(*)", ">=", Decimal(5))
    for missing in ("satisfy", "carry", "prev.x > 3"):
        assert Framing(few, "ts", missing=missing, min_count=4).min_count == 4
    assert Framing(few, "ts", min_count=3, max_count=1 + 2)
    assert Framing(many, "ts", max_count=5, min_count=5)
    assert Framing(Crossing("count(*)", "<", Decimal(0)), "ts")  # no frames, but no contradiction
    for restart, clash in (("close", False), ("drop", True), ("continue", True)):
        for kind in (
            Crossing("count(*)", ">=", Decimal(5), start="s", restart=restart),
            Delta("x", 5, span="minimal", start="s", restart=restart),
        ):
            if not clash:
                assert Framing(kind, "ts", max_count=1).max_count == 1
                continue
            with pytest.raises(ArgumentError, match="and max_count contradict each other"):
                Framing(kind, "ts", max_count=1)
    # A count of values says nothing about rows, and a maximal frame of many rows has no end.
    assert Framing(Crossing("count(x)", "<=", Decimal(3)), "ts", min_count=4)
    assert Framing(Crossing("count(*)", ">=", Decimal(1), span="maximal"), "ts", max_count=1)


def test_a_missing_policy_without_a_name_is_a_condition() -> None:
    assert Framing(THRESHOLD, "ts", missing="prev.x > 3").predicted
    assert not any(
        Framing(THRESHOLD, "ts", missing=named).predicted for named in ("break", "satisfy", "carry")
    )


def test_how_a_framing_prints() -> None:
    assert str(Framing(THRESHOLD, "ts")) == "FRAME threshold(x > 3) WATTR ts"
    cut = Framing(THRESHOLD, "ts", max_count=5, cut=True, readings="until_next")
    assert str(cut) == ("FRAME threshold(x > 3) WATTR ts max_count=5 readings=until_next cut")
    assert str(
        Framing(
            THRESHOLD,
            "ts",
            min_count=2,
            max_duration="5 minutes",
            missing="carry",
            bounds="liberal",
            ties="last",
            tie_order="seq",
            schedule=schedule("20 seconds"),
        )
    ) == (
        "FRAME threshold(x > 3) WATTR ts max_duration=5 minutes min_count=2 bounds=liberal "
        "ties=last missing=carry tie_order=seq schedule every 20 seconds"
    )
    assert str(
        Framing(DELTA, "ts", scheme=cover(), readings="interval", until="end_ts", longest=True)
    ) == ("FRAME delta(x, 5) WATTR ts readings=interval longest scheme=cover(drained) until=end_ts")


def test_a_trend_without_a_direction_is_strict() -> None:
    with pytest.raises(ArgumentError, match=r"strict=False .*without a direction equal rows are"):
        mt.trend("x", strict=False)


@pytest.mark.parametrize("kind", [DENSITY, CLUSTER], ids=["condition", "chance"])
def test_a_density_leaves_out_the_schedule(kind: FrameKind) -> None:
    """A row that was due and did not come adds nothing to it."""
    scheduled = Framing(kind, "ts", max_count=5, schedule=SLOTS)
    assert scheduled == Framing(kind, "ts", max_count=5)
