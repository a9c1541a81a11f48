"""Every resampling with every property: the values of the reference, or a refusal.

Values between rows have all combinations in ``test_join_properties``, with the disorder of both
sides. Here are all domains, and instants whose values are aggregates of the rows around them.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import pytest

import muntin as mt
from muntin.errors import ArgumentError
from muntin.operators.fill.operator import FillOperator
from muntin.operators.fill.segments import OperatorSegments
from muntin.operators.resample.operator import GridResampleOperator
from muntin.reference.arrivals import arrive
from muntin.reference.fill import Segment
from muntin.reference.resample import ResampleReference
from muntin.reference.windows import END, MicroBatch, Outcome
from muntin.specs.axis import Domain
from muntin.specs.fill import CLOSED, Edge, Filling
from muntin.specs.resample import Instants, Method, Resampling
from muntin.testing import assert_same_rows
from tests.matrix import test_join_properties as joins
from tests.properties.arriving import LENGTHS, ON_TYPES
from tests.properties.fillings import FillCase, Filler
from tests.properties.harness import Called
from tests.properties.joinings import Joined
from tests.properties.resamplings import ResampleCase

Row = dict[str, Any]
CALLS: tuple[Called, ...] = (("last", (0,), ()), ("collect", (1,), ()))
#: An example of each property; ``at`` is another stream, and ``how`` aggregates if it is not named.
PROPERTIES: dict[str, Row] = {
    "every": {"every": 3},
    "origin": {"every": 3, "origin": 1},
    "origin before all": {"every": 2, "origin": -20},
    "instants of another stream": {},
    "origin of another stream's instants": {"origin": 1},
}
#: How far rows may lie from an instant.
WITHIN = (1, 50)


def test_every_argument_of_resampling_is_here() -> None:
    given = {name for options in PROPERTIES.values() for name in options}
    arguments = set(inspect.signature(mt.Stream.resample).parameters) - {"self"}
    # ``every`` of a grid or ``at`` another stream; the schema is that of a function. Which columns
    # there are, their ties and their names is decided by the plan (tests/resample).
    named = {"at", "how", "within", "max_gap", "schema", "columns", "tiebreak", "prefix"}
    assert given | named == arguments


def resampling(domain: Domain, how: str, options: Row, far: int | None) -> Resampling | None:
    """Return the resampling, or None if it is refused with a sentence."""
    length, value = LENGTHS[domain], ON_TYPES[domain][2]
    every, origin = options.get("every"), options.get("origin")
    try:
        return Resampling(
            None if every is None else length(every),
            how,
            None if origin is None else value(origin),
            None if far is None else length(far),
        )
    except ArgumentError as refusal:
        assert every is None and origin is not None and len(str(refusal).split()) >= 8
        return None


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("domain", Domain, ids=str)
def test_values_between_rows(domain: Domain, name: str) -> None:
    for how, far in itertools.product(get_args(Method), (None, 2)):
        spec = resampling(domain, how, PROPERTIES[name], far)
        if spec is not None:
            joins.check(ResampleCase(*joins.sides("slack", domain), spec))


@dataclass(frozen=True)
class InstantsOf(Joined):
    """Instants of a grid between the first and the last row of a key, or those of the rows."""

    every: object = None
    origin: object = None
    calls: Sequence[Called] = ()

    @property
    def edge(self) -> Edge:
        return CLOSED

    @property
    def spec(self) -> Instants:
        length = self.resampling.every
        return Instants("on", length, self.origin)

    @property
    def resampling(self) -> Resampling:
        return Resampling(self.every, "previous", self.origin)

    def segments(self) -> OperatorSegments:
        bound_type = ON_TYPES[self.domain][1]
        side = replace(self.side, columns=())
        work = GridResampleOperator(side, self.spec.grid(self.axis), None, bound_type)
        return OperatorSegments(work, self.axis, side.keys, edge=CLOSED)

    def bounds(self, told: Row) -> Segment:
        return Segment(told, told["frame_start"], told["frame_end"])

    def expected(self) -> Outcome:
        return self._instants(self.punctuated())

    def expected_at_once(self) -> Outcome:
        return self._instants([MicroBatch(self.data(), END)])

    def _instants(self, batches: Sequence[MicroBatch]) -> Outcome:
        outcome = Outcome()
        held = arrive(outcome, batches, self.axis, "on", self.by, lambda row: None).held
        rows = [row for kept in held.values() for row in kept]
        reference = ResampleReference(self.resampling, self.axis, "on", self.by, ())
        instants = reference.run(rows, None if self.every is not None else rows)
        doubles = self.domain is Domain.DOUBLE
        for instant in instants:
            at = instant["at"] if doubles else self.axis.value(instant["at"])
            keys = {name: instant[name] for name in self.by}
            outcome.results.append({**keys, "frame_start": at, "frame_end": at})
        return outcome


@dataclass(frozen=True)
class AroundCase(FillCase):
    """Instants, and the rows around them."""

    def operator(self) -> FillOperator:
        shards = ("k0",) if self.bounded.by else ()
        fills = tuple(filler.fill(self.bounded.edge) for filler in self.fillers)
        return FillOperator(self.bounded.segments(), fills, shards)


def around(arriving: str, domain: Domain, options: Row, within: int) -> AroundCase:
    """Return the aggregates of rows around instants: of the same rows, or of another stream's."""
    left, right, _ = joins.sides(arriving, domain)
    length, value = LENGTHS[domain], ON_TYPES[domain][2]
    every, origin = options.get("every"), options.get("origin")
    instants = InstantsOf(
        **vars(left if every is None else right),
        every=None if every is None else length(every),
        origin=None if origin is None else value(origin),
    )
    shared = {name: given for name, given in vars(right).items() if name not in ("ties",)}
    rows = Filler(**shared, filling=Filling(length(within), length(within)), calls=CALLS)
    return AroundCase(instants, [rows], [2, 5])


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize(("arriving", "domain"), joins.CELLS)
def test_aggregates_of_the_rows_around(arriving: str, domain: Domain, name: str) -> None:
    if resampling(domain, "previous", PROPERTIES[name], None) is None:
        return
    for within in WITHIN:
        case = around(arriving, domain, PROPERTIES[name], within)
        ran, wanted = case.run(), case.expected()
        assert_same_rows([case.told(row) for row in ran.results], wanted.results)
        assert ran.chunks_left == []
        whole, at_once = case.run_at_once(), case.expected_at_once()
        assert_same_rows([case.told(row) for row in whole.results], at_once.results)
        assert wanted.results and at_once.results
