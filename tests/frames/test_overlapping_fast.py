"""The frames from every row in one pass are those of a walk from every row."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.frames.overlapping_fast import candidates_in_one_pass, in_one_pass
from muntin.kernels.frames.records import (
    AGGREGATE,
    AT_LEAST,
    AT_MOST,
    AVG,
    BREAKS,
    CARRIED,
    COUNT,
    DELTA,
    FIRST,
    FOUND,
    INTERVAL,
    LAST,
    LESS,
    MAX,
    MIN,
    MORE,
    POINT,
    REAL,
    SATISFIES,
    SUM,
    UNTIL_NEXT,
    row_columns,
)
from muntin.kernels.frames.walk import candidates
from muntin.operators.frames.arrow_kind import kernel_record
from tests.thorough import examples

FUNCTIONS = (COUNT, SUM, MIN, MAX, AVG, FIRST, LAST)
NUMBERS = [-np.inf, -1.5, -0.5, 0.0, 0.5, 1.0, 2.5, 3.0, np.inf]


@st.composite
def asked(draw: st.DrawFn) -> np.ndarray:
    """Draw framings whose ends never move back."""
    sign = draw(st.sampled_from([LESS, AT_MOST, MORE, AT_LEAST]))
    limit = draw(st.sampled_from([-0.5, 0.0, 1.0, 2.0, 3.5]))
    # The least integer that is not below the limit, or above it if the sign needs that.
    least = math.ceil(limit) if sign in (LESS, AT_LEAST) else math.floor(limit) + 1
    fields: dict[str, Any] = {
        "kind": draw(st.sampled_from([DELTA, AGGREGATE])),
        "minimal": draw(st.booleans()),
        "reading": draw(st.sampled_from([POINT, UNTIL_NEXT])),
        "every_candidate": 1,
        "whole": draw(st.booleans()),
        "function": draw(st.sampled_from([COUNT, MIN, MAX, LAST])),
        "sign": sign,
        "below": sign in (LESS, AT_MOST),
        "limit": limit,
        "least_upper": least >> 64,
        "least_lower": least,
        "slotted": draw(st.booleans()),
        "size": draw(st.integers(1, 4)),
        "size_real": draw(st.sampled_from([0.5, 1.0, 2.25])),
    }
    for name, most in (("min_count", 3), ("max_count", 4), ("min_duration", 4)):
        fields |= draw(st.just({}) | st.integers(1, most).map(lambda n, name=name: {name: n}))
    fields |= draw(st.just({}) | st.integers(2, 9).map(lambda n: {"max_duration": n}))
    made = kernel_record(tuple(fields.items()))
    # In the other direction ends may move back, so it is not drawn.
    return made if in_one_pass(made) else kernel_record((*fields.items(), ("kind", DELTA)))


@st.composite
def rows(draw: st.DrawFn, whole: bool) -> tuple[Any, ...]:
    """Draw the columns that kernels take, for a few keys."""
    lengths = draw(st.lists(st.integers(0, 12), min_size=1, max_size=3))
    n = sum(lengths)

    def each(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(strategy, min_size=n, max_size=n))

    missing = draw(st.sampled_from([[BREAKS], [SATISFIES, BREAKS], [CARRIED, CARRIED]]))
    what = each(st.sampled_from([REAL, REAL, REAL, REAL, *missing]))
    order = np.cumsum(each(st.integers(1, 3))).astype(np.int64)
    flags = [
        np.array(each(st.integers(0, 1)) if draw(st.booleans()) else [], np.uint8) for _ in range(2)
    ]
    wholes = np.array(each(st.integers(-3, 4)) if whole else [], np.int64)
    reals = np.array([] if whole else each(st.sampled_from(NUMBERS)), np.float64)
    starts = np.cumsum([0, *lengths])
    none, no_gap = np.empty(0), np.empty(0, np.uint8)
    since = starts[:-1] + [draw(st.integers(0, length)) for length in lengths]
    columns = order, np.array(what, np.uint8), *flags, wholes, reals, none
    slots = np.array(each(st.integers(1, 5)), np.int64)
    return starts, *columns, slots, no_gap, since


@examples(2000)
@given(asked().flatmap(lambda a: st.tuples(st.just(a), rows(bool(a["whole"][0])))), st.data())
def test_one_pass_finds_what_a_walk_from_every_row_finds(
    given_: tuple[np.ndarray, tuple[Any, ...]], data: st.DataObject
) -> None:
    (ask, (*columns, since)), flag = given_, st.integers(0, 1)
    ended, give_up = data.draw(flag), data.draw(flag)
    walked, passed = (np.zeros(len(columns[1]), FOUND) for _ in range(2))
    candidates(ask, row_columns(*columns), ended, give_up, since, walked)
    candidates_in_one_pass(ask, row_columns(*columns), ended, give_up, since, passed)
    for fits in (1, -2):
        assert (walked["fits"] == fits).tolist() == (passed["fits"] == fits).tolist()
    # The end of a frame that was given up does not matter, nor whether it has one.
    told = (walked["fits"] == 1) | (not give_up)
    assert walked[told].tolist() == passed[told].tolist()


def test_which_ends_never_fall_back() -> None:
    def one_pass(**fields: Any) -> bool:
        return in_one_pass(kernel_record(tuple(fields.items())))

    assert one_pass(kind=DELTA) and one_pass(kind=DELTA, minimal=1)
    assert not one_pass(kind=DELTA, from_first=1)
    # An earlier row may hold over the gap that ends a frame from a later one.
    assert not one_pass(kind=DELTA, reading=INTERVAL)
    for minimal, low, high in ((0, MORE, LESS), (1, AT_MOST, AT_LEAST)):
        ask = {"kind": AGGREGATE, "minimal": minimal}
        assert {f for f in FUNCTIONS if one_pass(**ask, function=f, sign=high)} == {
            *(COUNT, MAX, LAST)
        }
        assert {f for f in FUNCTIONS if one_pass(**ask, function=f, sign=low)} == {MIN, LAST}
    # A minimal frame that has to grow may lose what its last row decided.
    last = {"kind": AGGREGATE, "function": LAST, "sign": MORE}
    assert not one_pass(**last, minimal=1, min_count=2)
    assert not one_pass(**last, minimal=1, min_duration=1)
    assert one_pass(**last, minimal=1, max_count=2) and one_pass(**last, min_count=2)


# value     5 5 5 5 5 5 ...     every frame reaches to the end
def test_the_frames_of_a_plateau_take_time_by_its_rows() -> None:
    def seconds(n: int) -> float:
        none, no_flags, no_ints = np.empty(0), np.empty(0, np.uint8), np.empty(0, np.int64)
        starts, order = np.array([0, n]), np.arange(n)
        columns = starts, order, np.zeros(n, np.uint8), no_flags, no_flags, np.full(n, 5)
        ask = kernel_record((("kind", DELTA), ("whole", 1), ("size", 3), ("every_candidate", 1)))
        found = np.zeros(n, FOUND)
        began = time.perf_counter()
        candidates_in_one_pass(
            ask, row_columns(*columns, none, none, no_ints, no_flags), 1, 1, starts[:1], found
        )
        assert (found["high"] == n).all()
        return time.perf_counter() - began

    seconds(10)  # compiles it
    # A walk from every row would take minutes.
    assert seconds(400_000) < 5
