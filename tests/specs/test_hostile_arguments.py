"""Whatever is given to a public function, it answers soon: with a value, or an error of Muntin."""

from __future__ import annotations

import inspect
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muntin as mt
from muntin.errors import shown_value
from muntin.specs.axis import Axis, Domain
from tests.thorough import share

#: Functions that start something, read or write files, or take Arrow columns inside own functions.
OTHERS = {
    *("configure", "connect", "control", "csv", "end", "heartbeat", "json", "parquet", "progress"),
    "local_session",
    *("punctuate", "sql", "stream", "write", "frames"),
    *("grouped_count", "grouped_max", "grouped_min", "grouped_sum"),
}
#: Classes that users make themselves.
MADE = ("ExponentialHistogram", "Landmark", "RowWindow", "Session", "SlideOnWindow", "Window")
HOSTILE: list[Any] = [
    *(10**5000, -(10**400), 10**30, -1, 0, 1, 3, 1e308, 0.5),
    *(float("nan"), float("inf"), -float("inf")),
    *(Decimal("1e999999"), Decimal("NaN"), Fraction(1, 3)),
    *("9" * 6000, "9" * 6000 + " seconds", "1e999999999", "1e-999999999", "", "\x00", "\ud800"),
    *("v", "5 seconds", "v > 3", "a" * 100_000, "(" * 5000, "not " * 3000 + "v"),
    *(None, True, [], [[]], [None], ["v", "v"], (1, 2), {}, {"a": 1}, b"x", range(3), type),
    *(timedelta.max, date.min, datetime.max, object(), len),
]
SECONDS = 5


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise if the block takes longer."""

    def over(*_: object) -> None:
        raise AssertionError(f"not answered within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def public_functions() -> list[str]:
    names = [name for name in dir(mt) if not name.startswith("_") and name not in OTHERS]
    return [name for name in names if inspect.isfunction(getattr(mt, name))] + list(MADE)


@st.composite
def calls(draw: st.DrawFn, function: Callable[..., Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw the arguments of a call: all that it needs, and some others."""
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    several = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    drawn: dict[str, Any] = {}
    for parameter in parameters:
        first = several and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        if parameter.kind is parameter.VAR_POSITIONAL:
            drawn[parameter.name] = tuple(draw(st.lists(st.sampled_from(HOSTILE), max_size=2)))
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif first or parameter.default is parameter.empty or draw(st.booleans()):
            drawn[parameter.name] = draw(st.sampled_from(HOSTILE))
    bound = inspect.BoundArguments(signature, drawn)  # type: ignore[arg-type]
    return bound.args, bound.kwargs


@pytest.mark.parametrize("name", public_functions())
def test_arguments_are_taken_or_refused(name: str) -> None:
    function = getattr(mt, name)

    @settings(max_examples=share(200), database=None)
    @given(calls(function))
    def refused_or_taken(call: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        positional, named = call
        with within(SECONDS):
            try:
                made = function(*positional, **named)
            except mt.MuntinError as refused:
                assert len(str(refused)) < 2000
            else:
                assert made is not None

    refused_or_taken()


@pytest.mark.parametrize("domain", list(Domain))
@pytest.mark.parametrize("given_", HOSTILE, ids=lambda value: shown_value(value)[:20])
def test_points_are_taken_or_refused(domain: Domain, given_: object) -> None:
    """An origin such as 1e999999999 would fill the memory as an exact number."""
    with within(SECONDS):
        try:
            tick = Axis(domain).point("origin", given_)
        except mt.ArgumentError as refused:
            assert "origin" in str(refused)
        else:
            assert abs(tick) < Axis(domain).limit


def test_a_long_text_is_not_searched_for_terms() -> None:
    started = time.process_time()
    with pytest.raises(mt.ArgumentError, match="a column holds at most 38 digits"):
        mt.slack("9" * 100_000 + " seconds")  # took minutes
    assert time.process_time() - started < 1


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(mt.ArgumentError, match=r"^range='9{199}\.\.\. cannot be used") as refused:
        mt.Window("9" * 6000, "1", "ts")
    assert len(str(refused.value)) < 400
