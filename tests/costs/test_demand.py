"""What queries need of a stream, read from their predicates: never less than they use."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given

from muntin.engine.costs.demand import (
    NeededRange,
    NeededValues,
    StreamDemand,
    _alternatives,
    _joined,
)
from muntin.expressions.row_expression import RowExpression, compile_row_expression
from muntin.simulate.sensors import _meets
from tests.thorough import examples

TYPES = {"speed": pa.float64(), "lane": pa.int32(), "station": pa.string(), "day": pa.date32()}


def compiled(text: str) -> RowExpression:
    return compile_row_expression(text, TYPES, zone="UTC", errors="null")


def demanded(*texts: str | None) -> StreamDemand:
    found = _alternatives([None if text is None else compiled(text) for text in texts])
    queries = tuple(f"q{place}" for place in range(len(texts)))
    return StreamDemand("s", queries, tuple(TYPES), found, None, None, kept=False)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["speed < 30"], "speed < 30.0"),
        (["speed < 30", "speed < 20"], "speed < 30.0"),
        (["lane BETWEEN 2 AND 4", "lane = 5 OR lane = 9"], "lane >= 2 and <= 4 or = 5 or = 9"),
        (["lane > 1 AND speed > 5", "lane < 9"], "lane any value"),
        (["station IN ('a', 'c')"], "station = a or = c"),
        (["speed IS NULL OR speed > 3"], "speed > 3.0 or NULL"),
        # A value of a column that is compared after a computation may be any.
        (["lane % 2 = 0"], "all"),
        (["day > DATE'2026-01-01'"], "all"),
        (["speed < 30", None], "all"),
        (["speed < 30", "lane = 1"], "all"),
        (["NOT (speed >= 30)", "speed = 31"], "speed < 30.0 or = 31.0"),
    ],
)
def test_the_values_that_somebody_needs(texts: list[str | None], words: str) -> None:
    demand = demanded(*texts)
    assert f"  values: {words}\n" in f"{demand}\n"
    assert StreamDemand.of_json(demand.json) == demand


def test_nobody_needs_anything() -> None:
    asleep = demanded()
    assert asleep.asleep and asleep.ranges == {}
    assert str(asleep) == "s: nobody needs anything"


PREDICATES = (
    "speed < 30",
    "speed >= 30 AND lane = 1",
    "lane IN (1, 2) OR speed > 50.5",
    "NOT (speed > 10)",
    "speed IS NULL",
    "station < 'c' AND NOT (station = 'a')",
    "speed <=> NULL OR lane <> 1",
    "lane * 2 > 2 AND speed < 40",
    "speed = 0",
    "CAST(lane AS DOUBLE) < speed",
)
row = st.fixed_dictionaries(
    {
        "speed": st.sampled_from([None, 0.0, -0.0, 10.0, 30.0, 50.5, 60.0, float("nan")]),
        "lane": st.sampled_from([None, 0, 1, 2, 3]),
        "station": st.sampled_from([None, "a", "b", "c"]),
        "day": st.none(),
    }
)


@examples(500)
@given(st.lists(st.sampled_from(PREDICATES), min_size=1, max_size=3), st.lists(row, max_size=8))
def test_no_row_that_a_query_uses_is_left_out(
    texts: list[str], rows: list[dict[str, object]]
) -> None:
    """As the simulated sensors read the demand, which know nothing but its plain data."""
    table = pa.Table.from_pylist(rows, schema=pa.schema([*TYPES.items()]))
    demand = demanded(*texts).json
    wanted = np.zeros(len(rows), np.bool_)
    for text in texts:
        wanted |= np.asarray(pc.fill_null(compiled(text).evaluate(table), False)).astype(bool)
    sent = np.zeros(len(rows), np.bool_)
    for alternative in demand["alternatives"]:  # type: ignore[attr-defined]
        sent |= _meets(table, alternative)
    assert not (wanted & ~sent).any()


bound = st.none() | st.integers(0, 6)
ranges = st.lists(st.tuples(bound, bound, st.booleans(), st.booleans()), min_size=1, max_size=4)


@examples(500)
@given(ranges)
def test_ranges_that_overlap_are_one(
    drawn: list[tuple[int | None, int | None, bool, bool]],
) -> None:
    given_ranges = [
        NeededRange(low, high, with_low and low is not None, with_high and high is not None)
        for low, high, with_low, with_high in drawn
        if low is None or high is None or low < high or (low == high and with_low and with_high)
    ]
    values = pa.table({"x": pa.array(np.arange(-1, 8, 0.5))})

    def needed(parts: tuple[NeededRange, ...]) -> list[bool]:
        data = StreamDemand("s", ("q",), (), ({"x": NeededValues(parts)},), None, None, kept=False)
        (alternative,) = data.json["alternatives"]  # type: ignore[misc]
        mask: list[bool] = _meets(values, alternative).tolist()
        return mask

    assert needed(_joined(given_ranges)) == needed(tuple(given_ranges))
