"""Every aggregate in every place: the answer of the reference, or a refusal that names it."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

import muntin as mt
from muntin.aggregates import sketches
from muntin.aggregates.bind import DEFINITIONS, definition_of, sql_aggregates, synopses
from muntin.aggregates.functions import Aggregate, Correlated, slots_of
from muntin.aggregates.parse import parse_column
from muntin.errors import ArgumentError, ExpressionError, UnsupportedTypeError
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Crossing
from tests.aggregates.examples import Squares
from tests.matrix.aggregates import ALL, EXAMPLES, Example, type_of
from tests.matrix.places import PLACES, Place, frame_operator
from tests.properties.arriving import renamed


def test_every_public_aggregate_has_an_example() -> None:
    functions = {
        name
        for name in mt.__all__
        if callable(value := getattr(mt, name))
        and not isinstance(value, type)
        and get_type_hints(value).get("return") is Aggregate
    }
    assert functions == set(EXAMPLES)
    assert {example.aggregate.function for example in ALL} == {*DEFINITIONS, *synopses()}
    own = {type(example.aggregate.options[0]).__name__ for example in EXAMPLES["own"]}
    made = {
        type(example.aggregate.options[0])
        for example in ALL
        if example.aggregate.function == "own"
        and type(example.aggregate.options[0]).__name__ not in own
    }
    assert len(made) == len(sketches.DEFINITIONS)


def check(place: Place, examples: list[Example]) -> None:
    ran, expected = place.run(examples)
    results = sorted(map(renamed, ran), key=_where)
    wanted = sorted(map(dict, expected), key=_where)
    assert list(map(_where, results)) == list(map(_where, wanted))
    assert results, "a place without results checks nothing"
    for result, exact in zip(results, wanted, strict=True):
        for number, example in enumerate(examples):
            same = (example.sliding if place.slides else None) or example.same
            name = f"r{number}"
            assert same(result[name], exact[name]), (example, result, exact[name])


def _where(row: Any) -> str:
    return repr(sorted((name, value) for name, value in row.items() if not name.startswith("r")))


@pytest.mark.parametrize("example", ALL, ids=str)
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_every_aggregate_in_every_place(place: Place, example: Example) -> None:
    check(place, [example])


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_all_aggregates_side_by_side(place: Place) -> None:
    """Exact aggregates stand beside synopses, sketches and correlated ones."""
    check(place, list(ALL))
    check(place, [*reversed(ALL)])


@pytest.mark.parametrize("example", ALL, ids=str)
def test_every_aggregate_in_sql(example: Example) -> None:
    """SQL text means the same aggregate, or names the synopsis and what to write instead."""
    name = example.aggregate.function
    functions = {"squares": Squares()}
    if example.text is not None:
        (read,) = parse_column(example.text, (), functions).aggregates
        assert definition_of(read.function) == definition_of(name)
        assert list(map(str, slots_of(read))) == list(map(str, slots_of(example.aggregate)))
        if name != "own":
            assert read.options == example.aggregate.options
    elif name == "focused":
        assert name not in sql_aggregates()  # a mode of correlated(), which has no word in SQL
    else:
        with pytest.raises(ExpressionError, match=rf"synopsis {name}; write mt\.{name}\("):
            parse_column(f"{name}(v)", (), functions)


@pytest.mark.parametrize("example", ALL, ids=str)
def test_every_aggregate_as_the_condition_of_frames(example: Example) -> None:
    """An aggregate decides about frames, or is refused by its name."""
    text = example.text or f"{example.aggregate.function}(v)"
    name = str(example.aggregate).split("(")[0]
    if isinstance(example.aggregate, Correlated):
        name = "count(*) FILTER" if example.text else "focused"
    try:
        kind = mt.aggregate(f"{text} >= 1", functions={"squares": Squares()})
        assert isinstance(kind, Crossing) and isinstance(kind.aggregate, Aggregate)
        types = tuple(map(type_of, slots_of(kind.aggregate)))
        frame_operator(Framing(kind, "on"), (), types)
    except (ArgumentError, ExpressionError, UnsupportedTypeError) as refusal:
        assert name in str(refusal)
        assert name not in DECIDE
    else:
        assert name in DECIDE


#: Aggregates of numbers and conditions; the last line keeps the rows of an open frame.
DECIDE = {
    *("count", "count_if", "sum", "avg", "max", "last", "any", "all"),
    *("var_samp", "var_pop", "stddev_samp", "stddev_pop", "weighted_avg"),
    *("approx_count_distinct", "approx_percentile", "Squares"),
    *("median", "quantile", "count_distinct", "count(*) FILTER", "sum_distinct", "avg_distinct"),
    *("min_by", "covar_pop", "covar_samp", "corr", "skewness", "kurtosis"),
    *("bit_and", "bit_or", "bit_xor", "avg_low", "avg_high"),
}
