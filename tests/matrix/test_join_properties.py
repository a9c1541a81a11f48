"""Every join and every resampling with every property: the pairs of the reference, or a refusal.

Random cases (``tests/properties``) draw more of each; here no combination is left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from muntin.errors import ArgumentError
from muntin.specs.axis import Domain
from muntin.specs.join import HOWS, Asof, Distance, Zipper
from muntin.specs.resample import Method, Resampling
from muntin.testing import assert_same_rows
from tests.properties.arriving import LENGTHS, ON_TYPES, PREPARED
from tests.properties.joinings import AsofCase, JoinCase, Joined, TwoSides
from tests.properties.resamplings import ResampleCase

Row = dict[str, Any]
#: How the rows of both sides arrive: the rules of disorder, and whether they have keys.
ARRIVING: dict[str, tuple[str, str, bool]] = {
    "slack": ("slack", "slack", True),
    "slack without keys": ("slack", "rows", False),
    "a rule for each key": ("per key", "key marks", True),
    "marks and sensors": ("marks", "each", True),
}
DOMAINS = (Domain.INTEGER, Domain.DOUBLE)
CELLS = [(name, domain) for name in ARRIVING for domain in DOMAINS]
#: Rows of the left and of the right side: some tie, some are late, one is far ahead.
LEFT = (0, 2, 2, 1, 5, 6, 9, 4, 9, 30, 12, 8, 29)
RIGHT = (1, 1, 0, 3, 4, 7, 5, 10, 11, 9, 14, 14, 3, 40)


def _side(places: tuple[int, ...], rule: str, keyed: bool, domain: Domain, turn: int) -> Joined:
    """Return the rows of a side in four micro-batches; a null key is a key."""
    value, rows = ON_TYPES[domain][2], []
    for number, on in enumerate(places):
        whose = {"k": ("a", None, "a")[(number + turn) % 3], "q": "xy"[number % 2]}
        mark = number % 5 == 4
        values = PREPARED[number + 1 + 20 * turn]
        rows.append({**values, "on": value(on), **whose, "mark": mark, "n": number})
    return Joined(
        domain=domain,
        rule=rule,
        slack=3,
        idle="wait",
        idle_length=0,
        expect=(),
        late="generous",
        batches=[rows[:4], rows[4:7], rows[7:8], rows[8:]],
        clocks=(None,) * 4,
        keyed=keyed,
    )


def sides(arriving: str, domain: Domain) -> tuple[Joined, Joined, tuple[int, int]]:
    left, right, keyed = ARRIVING[arriving]
    both = (_side(LEFT, left, keyed, domain, 0), _side(RIGHT, right, keyed, domain, 1))
    return *both, (2, 5)


def check(case: TwoSides) -> None:
    ran, (wanted, outcomes) = case.run(), case.expected()
    assert_same_rows(ran.results, wanted)
    assert ran.chunks_left == []
    for place, outcome in enumerate(outcomes):
        arrived = sum(len(rows) for rows in case.sides[place].batches)
        assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)
        assert ran.used[place] + len(ran.refused[place]) == arrived
    whole, (at_once, _) = case.run_at_once(), case.expected_at_once()
    assert_same_rows(whole.results, at_once)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("arriving", "domain"), CELLS)
def test_joins(arriving: str, domain: Domain, how: str) -> None:
    length = LENGTHS[domain]
    for direction, within, sign in itertools.product(
        ("both", "backward", "forward"), (0, 2), (None, "<")
    ):
        check(JoinCase(*sides(arriving, domain), Distance(length(within), direction, how), sign))


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("arriving", "domain"), CELLS)
def test_zippers(arriving: str, domain: Domain, how: str) -> None:
    length, value = LENGTHS[domain], ON_TYPES[domain][2]
    for origin, sign in itertools.product((None, value(1)), (None, "<")):
        try:
            spec = Zipper(length(3), origin, how)
        except ArgumentError as refusal:
            assert how in ("semi", "anti") and len(str(refusal).split()) >= 8
            continue
        check(JoinCase(*sides(arriving, domain), spec, sign))


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize(("arriving", "domain"), CELLS)
def test_asof(arriving: str, domain: Domain, direction: str) -> None:
    length = LENGTHS[domain]
    for exact, tolerance in itertools.product((True, False), (None, 0, 2)):
        try:
            far = None if tolerance is None else length(tolerance)
            spec = Asof(far, direction, exact)
        except ArgumentError as refusal:
            assert not exact and tolerance == 0 and len(str(refusal).split()) >= 8
            continue
        check(AsofCase(*sides(arriving, domain), spec))


def _resamplings(domain: Domain, how: str) -> Iterator[Resampling]:
    """Yield every resampling; an origin of another stream's instants is refused."""
    length, value = LENGTHS[domain], ON_TYPES[domain][2]
    for every, origin, far in itertools.product((2, None), (None, value(1)), (None, 3)):
        options = {"origin": origin, "max_gap": None if far is None else length(far)}
        try:
            yield Resampling(None if every is None else length(every), how, **options)
        except ArgumentError as refusal:
            assert every is None and origin is not None and len(str(refusal).split()) >= 8


@pytest.mark.parametrize("how", get_args(Method))
@pytest.mark.parametrize(("arriving", "domain"), CELLS)
def test_resampling(arriving: str, domain: Domain, how: str) -> None:
    for spec in _resamplings(domain, how):
        check(ResampleCase(*sides(arriving, domain), spec))


def test_the_rows_of_the_matrix_are_late_and_tied() -> None:
    case = JoinCase(*sides("slack", Domain.INTEGER), Distance(2, "both", "full"), None)
    pairs, outcomes = case.expected()
    assert len(pairs) > 10
    assert all(any(why == "late" for _, why in outcome.refused) for outcome in outcomes)
