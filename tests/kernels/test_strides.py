"""Many rows at once extend a frame exactly as they do one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.frames.records import (
    AGGREGATE,
    AT_LEAST,
    AT_MOST,
    BREAKS,
    CARRIED,
    DELTA,
    FOUND,
    LESS,
    MORE,
    REAL,
    SATISFIES,
    SUM,
    fresh,
    row_columns,
)
from muntin.kernels.frames.walk import walk
from muntin.operators.frames.arrow_kind import kernel_record
from tests.thorough import examples

NUMBERS = [-np.inf, -1.5, -0.5, 0.0, 0.5, 1.0, 2.5, 3.0, np.inf]
#: So many rows make a frame too long; a frame with a limit is not extended by many rows at once.
FAR = 1_000_000


@st.composite
def asked(draw: st.DrawFn) -> dict[str, Any]:
    """Draw framings of which many rows may do nothing but extend a frame."""
    sign = draw(st.sampled_from([LESS, AT_MOST, MORE, AT_LEAST]))
    limit = draw(st.sampled_from([-0.5, 0.0, 2.0, 7.5]))
    least = math.ceil(limit) if sign in (LESS, AT_LEAST) else math.floor(limit) + 1
    fields: dict[str, Any] = {
        "kind": draw(st.sampled_from([DELTA, AGGREGATE])),
        "function": SUM,
        "minimal": draw(st.booleans()),
        "liberal": draw(st.booleans()),
        "from_first": draw(st.booleans()),
        "whole": draw(st.booleans()),
        "sign": sign,
        "below": sign in (LESS, AT_MOST),
        "limit": limit,
        "least_upper": least >> 64,
        "least_lower": least,
        "size": draw(st.integers(1, 4)),
        "size_real": draw(st.sampled_from([0.5, 1.0, 2.25])),
    }
    for name, most in (("min_count", 3), ("min_duration", 4)):
        if draw(st.booleans()):
            fields[name] = draw(st.integers(1, most))
    return fields


@st.composite
def rows(draw: st.DrawFn, whole: bool) -> tuple[Any, ...]:
    """Draw the columns that kernels take, for a few keys, of which the last may have no row."""
    lengths = draw(st.lists(st.integers(0, 25), min_size=1, max_size=3))
    n = sum(lengths)

    def each(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(strategy, min_size=n, max_size=n))

    missing = draw(st.sampled_from([[], [BREAKS], [SATISFIES, BREAKS], [CARRIED]]))
    what = np.array(each(st.sampled_from([REAL] * 9 + missing)), np.uint8)
    order = np.cumsum(each(st.integers(1, 3))).astype(np.int64)
    counts = np.array(each(st.integers(0, 1)) if draw(st.booleans()) else [], np.uint8)
    wholes = np.array(each(st.integers(-3, 4)) if whole else [], np.int64)
    reals = np.array([] if whole else each(st.sampled_from(NUMBERS)), np.float64)
    no_flags, no_weights, no_reach = np.empty(0, np.uint8), np.empty(0), np.empty(0, np.int64)
    values = counts, wholes, reals, no_weights, no_reach, no_flags
    return np.cumsum([0, *lengths]), order, what, no_flags, *values


def walked(fields: dict[str, Any], columns: tuple[Any, ...], ended: int) -> tuple[Any, Any]:
    """Return the frames, and what is remembered about keys, as lists."""
    keys = len(columns[0]) - 1
    states, found, place = fresh(keys), np.zeros(1024, FOUND), np.zeros(2, np.int64)
    n = walk(
        kernel_record(tuple(fields.items())), row_columns(*columns), ended, states, found, place
    )
    assert place[0] == keys
    return found[:n].tolist(), states.tolist()


@examples(2000)
@given(
    asked().flatmap(lambda fields: st.tuples(st.just(fields), rows(bool(fields["whole"])))),
    st.integers(0, 1),
)
def test_a_stride_does_what_its_rows_do(
    given_: tuple[dict[str, Any], tuple[Any, ...]], ended: int
) -> None:
    fields, columns = given_
    one_by_one = {**fields, "cut": 1, "max_count": FAR}
    # repr, because a NaN that both have is not equal to itself
    assert repr(walked(fields, columns, ended)) == repr(walked(one_by_one, columns, ended))


def test_totals_that_leave_64_bits_and_infinities_are_as_before() -> None:
    big = 2**62
    values = np.array([big, big, big, -big, 7, big], np.int64)
    n = len(values)
    none, bits = np.empty(0), np.empty(0, np.uint8)
    columns = (
        *(np.array([0, n]), np.arange(n), np.full(n, REAL, np.uint8), bits, bits),
        *(values, none, none, np.empty(0, np.int64), bits),
    )
    fields = {"kind": AGGREGATE, "function": SUM, "minimal": 1, "whole": 1, "sign": AT_LEAST}
    least = 3 * big
    fields |= {"least_upper": least >> 64, "least_lower": (least % 2**64) - 2**64}
    frames, _ = walked(fields, columns, 1)
    assert [(frame[1], frame[2]) for frame in frames] == [(0, 3)]
