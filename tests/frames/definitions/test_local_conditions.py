"""Definition 3 on random rows of every kind: frames meet their local conditions [Frames 4.1]."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import ArgumentError
from muntin.reference.windows import Row
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Between, Boundary, Crossing, Delta, Threshold, Trend
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from tests.frames.definitions.timelines import framed, rows_of, spans

FEW = settings(max_examples=300, deadline=None)
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "min_count": st.integers(1, 2),
        "max_count": st.integers(2, 4),
        "min_duration": st.integers(1, 2),
        "max_duration": st.integers(2, 5),
    },
)


EVERY_KIND: tuple[FrameKind, ...] = (
    Threshold("x > 4"),
    Boundary("x"),
    Delta("x", 4),
    Delta("x", 4, against="first"),
    Delta("x", 4, span="minimal"),
    Crossing("sum(x)", "<=", Decimal(9)),
    Crossing("sum(x)", ">", Decimal(9)),
    Trend("x", "increasing"),
    Between("x < 3", "x > 6"),
    Between("x < 3", "x > 6", "neither"),
    Density("sum(x)", ">", Decimal(9), 3),
    Cluster(0.5, 1, 4),
    Region("x > 2", "mile"),
)


def _reading(kind: FrameKind) -> Callable[[Row], Any]:
    """Return the value that a kind reads from a row with a value ``x``, perhaps null."""

    def reading(row: Row) -> Any:
        x = row["x"]
        match kind:
            case Between():
                return (x is not None and x < 3, x is not None and x > 6)
            case Crossing():
                return None if x is None else True
            case Threshold():
                return None if x is None else x > 4
            case Region():
                return None if x is None else x > 2
        return x

    return reading


def _chosen_for(kind: FrameKind, choices: dict[str, Any]) -> dict[str, Any]:
    """Draw properties that do not contradict the kind; the others are left out."""
    made = dict(choices)
    for _ in choices:
        try:
            Framing(
                kind, "on", until="until" if made.get("readings") == "interval" else None, **made
            )
        except ArgumentError as error:
            told = str(error)
            words = {"until_next": "readings", "interval": "readings"}
            named = [n for n in ("cut", "scheme", "fragments") if n in told and made.get(n)]
            named += [n for word, n in words.items() if word in told and n in made]
            named += [n for n in made if n in told]
            del made[named[0]]
    return made


LINE = st.lists(st.one_of(st.integers(0, 9), st.none()), max_size=9)


@given(
    LINE,
    st.sampled_from(EVERY_KIND),
    LIMITS,
    st.sampled_from(["point", "until_next", "interval"]),
    st.sampled_from(["break", "satisfy", "carry"]),
    st.sampled_from([None, "advancing", "unconstrained", "cover"]),
    st.booleans(),
    st.lists(st.integers(0, 3), min_size=9, max_size=9),
)
@settings(max_examples=600, deadline=None)
def test_every_frame_meets_its_local_conditions(
    values: list[int | None],
    kind: FrameKind,
    limits: dict[str, int],
    readings: str,
    missing: str,
    scheme: str | None,
    cut: bool,
    holds: list[int],
) -> None:
    """Definition 3: every reported frame is a candidate, of every kind and under every reading."""
    if isinstance(kind, Cluster):
        limits = {"max_duration": 5, **limits}
    asked = {**limits, "readings": readings, "missing": missing}
    asked |= {"scheme": scheme} if scheme is not None else {}
    asked |= {"cut": True} if cut and {"max_count", "max_duration"} & limits.keys() else {}
    choices = _chosen_for(kind, asked)
    rows = [
        {**row, "until": row["on"] + until, "mile": row["on"] % 2}
        for row, until in zip(rows_of(values), holds, strict=False)
    ]
    evaluated: dict[str, Any] = {"reading": _reading(kind), "along": lambda row: row["mile"]}
    evaluated["aggregate"] = lambda given: sum(row["x"] or 0 for row in given)
    outcome = framed(kind, rows, **choices, **evaluated)
    alone = choices.get("scheme") is None
    reached = -1
    for row in outcome.results:
        lasted, count = row["frame_end"] - row["frame_start"], row["n"] + row["n_missing"]
        assert choices.get("min_count", 1) <= count <= choices.get("max_count", 18)
        assert choices.get("min_duration", 0) <= lasted <= choices.get("max_duration", 12)
        if alone and choices.get("readings", "point") == "point" and not isinstance(kind, Region):
            assert row["frame_start"] > reached
        if not isinstance(kind, Between | Density | Cluster | Region):
            assert values[row["frame_start"]] is not None
        reached = row["frame_end"]
    free = {n: choices[n] for n in choices if n not in (*limits, "cut")}
    if isinstance(kind, Cluster):
        return  # the maximum of a cluster decides which clusters there are
    whole = framed(kind, rows, **free, **evaluated)
    if not limits:
        assert outcome.results == whole.results
    every = alone or choices["scheme"] == "unconstrained"
    # A minimal frame grows until it meets its minima, and is given up beyond its maxima.
    grows = kind.span == "minimal" and limits.keys() & choices.keys()
    if "cut" not in choices and every and not grows and not isinstance(kind, Region):
        assert set(spans(outcome)) <= set(spans(whole))


#: Only maximal frames: nothing is certain about minimal ones while they are open.
GROWING = tuple(
    k for k in EVERY_KIND if k.span == "maximal" and not isinstance(k, Cluster | Region)
)


@given(
    LINE,
    st.sampled_from(GROWING),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from(["break", "satisfy", "carry"]),
)
@FEW
def test_fragments_lead_to_the_frame_and_never_beyond_it(
    values: list[int | None], kind: FrameKind, every: int, least: int, cut: bool, missing: str
) -> None:
    limits: dict[str, Any] = {"min_count": least, "missing": missing}
    limits |= {"max_count": least + 1, "cut": True} if cut else {}
    limits = _chosen_for(kind, limits)
    if "cut" not in limits:
        limits.pop("max_count", None)
    least = max(least, 2) if isinstance(kind, Trend) else least
    evaluated: dict[str, Any] = {"reading": _reading(kind)}
    evaluated["aggregate"] = lambda given: sum(row["x"] or 0 for row in given)
    told = framed(kind, rows_of(values), fragments=every, **limits, **evaluated).results
    whole = framed(kind, rows_of(values), **limits, **evaluated).results
    last = {row["frame_id"]: row for row in told}
    assert list(last.values()) == whole
    for frame in whole:
        mine = [row for row in told if row["frame_id"] == frame["frame_id"]]
        assert mine[-1] is last[frame["frame_id"]]
        assert {row["frame_start"] for row in mine} == {frame["frame_start"]}
        fragments = mine[:-1]
        assert all(row["status"] == "partial" for row in fragments)
        assert mine[-1]["status"] == "final" or isinstance(kind, Between)
        ends = [row["frame_end"] for row in fragments]
        assert all(end <= frame["frame_end"] for end in ends)
        # Rows lie one apart, so that fragments do as far as asked; certain with the first.
        assert all(b - a >= every for a, b in itertools.pairwise(ends))
        counts = [row["n"] + row["n_missing"] for row in fragments]
        assert counts == [end - frame["frame_start"] + 1 for end in ends]
        assert counts and counts[0] >= least
        if missing != "carry" and not isinstance(kind, Trend):
            first = frame["frame_start"] + least - 1
            assert ends == list(range(first, frame["frame_end"] + 1, every))
