"""Every kind of window with every two properties: the windows of the reference, or a refusal.

Random cases (``tests/properties``) draw more of each; here no combination is left out. A property
that a kind does not take is not an argument of its method.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import muntin as mt
from muntin.errors import ArgumentError
from muntin.reference.windows import MicroBatch, Outcome, Reference
from muntin.specs.axis import Domain
from muntin.specs.fill import Filling
from muntin.specs.row_windows import Landmarks, RowWindow, Session, SlideOnWindow, TupleWindow
from muntin.specs.windows import Landmark, Latch, Window
from muntin.testing import assert_same_rows
from tests.properties.arriving import DISTANCES, LENGTHS, ON_TYPES, PREPARED, RULES, renamed
from tests.properties.fillings import CALLS as FILL_CALLS
from tests.properties.fillings import FillCase, Filler, Sequenced
from tests.properties.harness import EVERY_SLOT, Called
from tests.properties.sequences import SequenceCase

Row = dict[str, Any]
#: Few aggregates, because every aggregate has a matrix of its own: one that goes by order, one that
#: is combined from parts, one that keeps every value.
CALLS: tuple[Called, ...] = (("last", (2,), ()), ("sum", (1,), ()), ("median", (0,), ()))


@dataclass(frozen=True)
class Units:
    """Lengths and places of a domain, from small whole numbers."""

    domain: Domain

    def length(self, count: int) -> object:
        return LENGTHS[self.domain](count)

    def place(self, count: int) -> Any:
        return ON_TYPES[self.domain][2](count)


Make = Callable[..., Any]


def _window(units: Units, length: int, slide: int, *, origin: int | None = None) -> Window:
    start = None if origin is None else units.place(origin)
    return Window(units.length(length), units.length(slide), "on", start)


def _landmark(units: Units, slide: int | None, *, origin: int = -2) -> Landmark | Landmarks:
    if slide is None:
        return Landmarks("on", None, (units.place(origin), units.place(7)))
    return Landmark(units.length(slide), "on", units.place(origin))


def _landmarks(units: Units, slide: int | None, *, origin: int = -2) -> Landmarks:
    return Landmarks(
        "on",
        None if slide is None else units.length(slide),
        (units.place(origin), units.place(4), units.place(11)),
    )


def _starts(units: Units, slide: int | None) -> Landmarks:
    return Landmarks("on", None if slide is None else units.length(slide), start="b")


def _first(units: Units, slide: int | None) -> Landmarks:
    return Landmarks("on", None if slide is None else units.length(slide), first=True)


def _latch(units: Units, *, origin: int | None = None) -> Latch:
    return Latch(units.length(4), "on", None if origin is None else units.place(origin))


def _rows(units: Units, slide: int, *, within: int | None = None, order: str = "on") -> RowWindow:
    return RowWindow(3, slide, "on", None if within is None else units.length(within), order)


def _tuple(units: Units, every: int, *, order: str = "on") -> TupleWindow:
    return TupleWindow(units.length(5), "on", every, order)


def _slide_on(units: Units, *, origin: int | None = None) -> SlideOnWindow:
    return SlideOnWindow(units.length(5), 3, "on", "slide_on", origin)


def _session(units: Units, own: bool) -> Session:
    return Session("on", None if own else units.length(2))


#: The method of a stream that makes a kind, and its specification.
KINDS: dict[str, tuple[str, Make]] = {
    "window": ("window", lambda units, **given: _window(units, 7, 3, **given)),
    "window whose slide divides": ("window", lambda units, **given: _window(units, 6, 2, **given)),
    "window with gaps": ("window", lambda units, **given: _window(units, 2, 5, **given)),
    "tumbling": ("tumbling", lambda units, **given: _window(units, 4, 4, **given)),
    "landmark": ("landmark", lambda units, **given: _landmark(units, 4, **given)),
    "landmarks": ("landmark", lambda units, **given: _landmarks(units, 3, **given)),
    "landmarks without a slide": (
        "landmark",
        lambda units, **given: _landmarks(units, None, **given),
    ),
    "landmarks by a condition": ("landmark", lambda units, **given: _starts(units, 3, **given)),
    "landmarks at the first row": ("landmark", lambda units, **given: _first(units, 3, **given)),
    "first row without a slide": ("landmark", lambda units, **given: _first(units, None, **given)),
    "condition without a slide": ("landmark", lambda units, **given: _starts(units, None, **given)),
    "latch": ("latch", _latch),
    "rows": ("rows", lambda units, **given: _rows(units, 2, **given)),
    "rows with gaps": ("rows", lambda units, **given: _rows(units, 5, **given)),
    "by_tuple": ("by_tuple", lambda units, **given: _tuple(units, 1, **given)),
    "by_tuple, every third": ("by_tuple", lambda units, **given: _tuple(units, 3, **given)),
    "slide_on": ("window", _slide_on),
    "session": ("session", lambda units: _session(units, own=False)),
    "session with own gaps": ("session", lambda units: _session(units, own=True)),
}
#: An example of each property. ``rule`` and ``domain`` are those of the rows.
PROPERTIES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "unfinished dropped": {"unfinished": "drop"},
    "unfinished flagged": {"unfinished": "flag"},
    "origin": {"origin": 1},
    "origin before all": {"origin": -20},
    "within": {"within": 2},
    "order": {"order": "arrival"},
    "group": {"group": "k"},
    "consistent": {"late": "consistent"},
    **{rule: {"rule": rule} for rule in RULES},
    "follows": {"rule": "per key", "idle": "follow"},
    **{domain.value: {"domain": domain} for domain in Domain},
    "one micro-batch": {"cuts": ()},
    "many micro-batches": {"cuts": tuple(range(2, 30, 3))},
}
#: Properties that meet no others. Of the domains doubles are counted in another way than the rest.
ALONE = {"one micro-batch", *(domain.value for domain in Domain if domain is not Domain.DOUBLE)}
#: Kinds and arguments of their method that are refused beside what makes the kind.
REFUSED = {
    ("landmarks by a condition", "origin"),
    ("condition without a slide", "origin"),
    ("landmarks at the first row", "origin"),
    ("first row without a slide", "origin"),
}
#: Properties that are arguments of the method that makes a window.
ARGUMENTS = ("unfinished", "origin", "within", "order", "group")


@dataclass(frozen=True)
class WindowCase(SequenceCase):
    """Windows of any kind, and the rows that arrive for them."""

    def expected(self) -> Outcome:
        return self.outcome(self.punctuated())

    def outcome(self, batches: Sequence[MicroBatch]) -> Outcome:
        """Return what the reference reports of rows that arrive like this."""
        spec = self.spec
        if not isinstance(spec, Window | Landmark | Latch):
            return self.reference().run(batches)
        edges = spec.edges(self.axis)
        reference = Reference(
            edges, self.axis, "on", self.by, self.meanings(), self.late, self.unfinished
        )
        return reference.run(batches)


def arriving(domain: Domain, cuts: tuple[int, ...]) -> list[list[Row]]:
    """Return rows that are mostly in order: some tie, some are just late, one is far ahead."""
    value, distance = ON_TYPES[domain][2], DISTANCES[domain]
    places = [0, 1, 3, 3, 2, 5, 6, None, 4, 9, 9, 12, 7, 10, 13, 15, 14, 18, 30, 19, 27, 33, None]
    rows = []
    for place, on in enumerate(places):
        rows.append(
            {
                **PREPARED[place + 1],
                "on": None if on is None else value(on),
                "k": ("a", "a", "b", "a", None)[place % 5],
                "q": "xy"[place % 2],
                "mark": place % 6 == 5,
                "tie": place * 7 % 23,
                "slide_on": None if place == 11 else (on or 0) // 2 - (place == 9) * 3,
                "gap": None if place == 13 else distance(place % 4),
            }
        )
    edges = [0, *(cut for cut in cuts if cut < len(rows)), len(rows)]
    return [rows[first:last] for first, last in itertools.pairwise(edges)]


def case_of(kind: str, options: dict[str, Any]) -> WindowCase | None:
    """Return the case, or None if a kind has no such argument, or refuses it with a sentence."""
    method, make = KINDS[kind]
    known = inspect.signature(getattr(mt.Stream, method)).parameters
    given = {name: options[name] for name in ARGUMENTS if name in options}
    if not set(given) <= set(known):
        return None
    units = Units(options.get("domain", Domain.INTEGER))
    own = {name: given[name] for name in ("origin", "within", "order") if name in given}
    try:
        spec = make(units, **own)
    except ArgumentError as refusal:
        assert len(str(refusal).split()) >= 8, refusal
        return None
    except TypeError:  # an argument of the method, but not of this kind: refused on Spark
        assert (kind, *own) in REFUSED
        return None
    if "group" in given and isinstance(spec, Window):
        return None  # refused on Spark, too
    if "group" in given and "key" in options.get("rule", ""):
        return None  # the rows of all keys are ranked together: there is no punctuation of a key
    batches = arriving(units.domain, options.get("cuts", (7, 13, 14, 19)))
    return WindowCase(
        spec=spec,
        grouped="group" in given,
        unfinished=given.get("unfinished", "keep"),
        calls=CALLS,
        domain=units.domain,
        rule=options.get("rule", "slack"),
        slack=3,
        idle=options.get("idle", "wait"),
        idle_length=4,
        expect=(),
        late=options.get("late", "generous"),
        batches=batches,
        clocks=(None,) * len(batches),
    )


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("kind", KINDS)
def test_windows(kind: str, name: str) -> None:
    for other in itertools.islice(PROPERTIES, [*PROPERTIES].index(name), None):
        first, second = PROPERTIES[name], PROPERTIES[other]
        if name != other and set(first) & set(second):
            continue  # two values of one property
        if {name, other} & ALONE and "nothing" not in (name, other):
            continue
        case = case_of(kind, first | second)
        if case is not None:
            check(case, f"{kind}, {name}, {other}")


def check(case: WindowCase, cell: str) -> None:
    ran, wanted = case.run(), case.expected()
    assert_same_rows([renamed(row) for row in ran.results], wanted.results)
    assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused), cell
    assert ran.used == wanted.used, cell
    assert ran.used + len(ran.refused) == sum(len(rows) for rows in case.batches), cell
    assert ran.chunks_left == 0 or isinstance(case.spec, Landmark | Latch), cell


def fillable(case: WindowCase | None) -> bool:
    """Return whether a stream may fill the windows of a stream."""
    if case is None or case.grouped or isinstance(case.spec, Window | Landmark | Latch):
        return False  # the properties of fills draw windows over values
    if isinstance(case.spec, Landmarks) and case.spec.slide is None:
        return False  # no end
    return not (isinstance(case.spec, RowWindow) and case.spec.order == "arrival")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", KINDS)
def test_filled_windows(kind: str, rule: str) -> None:
    """Windows over rows with each property, filled by rows of any rule that arrive otherwise."""
    for name, options in PROPERTIES.items():
        case = case_of(kind, options)
        if case is None or not fillable(case):
            continue
        length = LENGTHS[case.domain]
        filler = Filler(
            domain=case.domain,
            rule=rule,
            slack=2,
            idle="wait",
            idle_length=4,
            expect=(),
            late="generous",
            batches=arriving(case.domain, (2, 16, 20)),
            clocks=(None,) * 4,
            filling=Filling(before=length(1), after=length(2)),
            calls=(*EVERY_SLOT, *FILL_CALLS),
        )
        filled = FillCase(Sequenced(**{**vars(case), "calls": EVERY_SLOT}), [filler], [5, 5])
        ran, wanted = filled.run(), filled.expected()
        assert_same_rows([filled.told(row) for row in ran.results], wanted.results)
        assert wanted.results, name
        for place, outcome in enumerate(wanted.outcomes):
            assert sorted(ran.refused[place]) == sorted(reason for _, reason in outcome.refused)


def test_the_rows_are_late_tied_and_without_a_place() -> None:
    """The rows of the matrix show something: windows, late rows, ties, rows without a place."""
    case = case_of("window", {})
    assert case is not None
    assert {"late", "null_on"} <= {reason for _, reason in case.expected().refused}
    assert len(case.expected().results) > 20
