"""Random resampling, on a grid and at the instants of another stream, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from muntin.operators.join.reach import AsofReach
from muntin.operators.protocol import Operator
from muntin.operators.resample.neighbours import Neighbours, numeric
from muntin.operators.resample.operator import GridResampleOperator, InstantResampleOperator
from muntin.reference.resample import ResampleReference
from muntin.specs.axis import Domain
from muntin.specs.join import Asof
from muntin.specs.resample import Resampling
from tests.properties.arriving import LENGTHS, ON_TYPES, RULES
from tests.properties.joining import JointRan, at_once, joint_steps
from tests.properties.joinings import COLUMNS, Joined, Row, TwoSides, two_sides


@dataclass(frozen=True)
class ResampleCase(TwoSides):
    """The right side, resampled at the instants of the left side or on a grid."""

    spec: Resampling

    @property
    def sides(self) -> tuple[Joined, ...]:  # type: ignore[override]
        return (self.right,) if self.spec.every is not None else (self.left, self.right)

    def operator(self) -> Operator:  # type: ignore[override]
        axis, bound_type = self.right.axis, ON_TYPES[self.right.domain][1]
        rows = replace(self.right, ties=True).side
        far = None if self.spec.max_gap is None else axis.length("max_gap", self.spec.max_gap)
        values = Neighbours(self.spec.how, axis, far, rows.columns)
        if self.spec.every is not None:
            return GridResampleOperator(rows, self.spec.grid(axis), values, bound_type)
        look = AsofReach.of(looked(self.spec), axis)
        return InstantResampleOperator(
            look, (replace(self.left.side, columns=()), rows), values, bound_type
        )

    @property
    def reference(self) -> ResampleReference:
        types = zip(COLUMNS, self.right.types, strict=True)
        linear = [name for name, type_ in types if numeric(type_)]
        axis, by = self.right.axis, self.right.by
        return ResampleReference(self.spec, axis, "on", by, COLUMNS, linear, ("s", "n"))

    def pairs(self, *arrived: Sequence[Row]) -> list[Row]:
        instants = None if self.spec.every is not None else arrived[0]
        return [self._result(row) for row in self.reference.run(arrived[-1], instants)]

    def _result(self, reported: Any) -> Row:
        at = (
            reported["at"]
            if isinstance(reported["at"], float)
            else self.right.axis.value(reported["at"])
        )
        key = {"k0": reported["k"]} if self.right.keyed else {}
        values = {f"r{place}": reported[name] for place, name in enumerate(COLUMNS)}
        return {**key, "at": at, **values, "gap": reported["gap"]}

    def run(self, work: Operator | None = None) -> JointRan:
        return joint_steps(work or self.operator(), self.sides, self.ends[: len(self.sides)])

    def run_at_once(self) -> JointRan:
        return at_once(self.operator(), self.sides)


def looked(spec: Resampling) -> Asof:
    """Return the as-of join that finds the rows around an instant of another stream."""
    if spec.how == "linear":
        return Asof(None, "nearest")
    return Asof(spec.max_gap, "backward" if spec.how == "previous" else "nearest")


@st.composite
def specs(draw: st.DrawFn, domain: Domain) -> Resampling:
    length, value = LENGTHS[domain], ON_TYPES[domain][2]
    regular = draw(st.booleans())
    return Resampling(
        length(draw(st.integers(1, 6))) if regular else None,
        draw(st.sampled_from(["linear", "previous", "nearest"])),
        draw(st.none() | st.integers(-3, 6).map(value)) if regular else None,
        draw(st.none() | st.integers(1, 9).map(length)),
    )


@st.composite
def resample_cases(draw: st.DrawFn, rules: Sequence[str] = RULES) -> ResampleCase:
    domain = draw(st.sampled_from(list(Domain)))
    return ResampleCase(*draw(two_sides(domain, rules)), draw(specs(domain)))
