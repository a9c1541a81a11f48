"""Random axes, edges and values of every domain; values are near the edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Edges

AXES = [
    Axis(Domain.TIMESTAMP),
    Axis(Domain.TIMESTAMP_NTZ),
    Axis(Domain.DATE),
    Axis(Domain.INTEGER),
    Axis(Domain.DECIMAL, 2),
    Axis(Domain.DOUBLE, 1),
]


@dataclass(frozen=True)
class Laid:
    """Windows on an axis, and the tick of a row."""

    axis: Axis
    edges: Edges
    tick: int

    @property
    def value(self) -> Any:
        return self.axis.value(self.tick)


@st.composite
def edges(draw: st.DrawFn, *, longest: int = 60) -> Edges:
    """Sliding, tumbling, gapped and landmark windows, with and without a given origin."""
    slide = draw(st.integers(1, longest))
    origin = draw(st.integers(-50, 50))
    if draw(st.integers(0, 3)) == 0:
        return Edges(slide, slide, origin, clipped=True, landmark=True)
    return Edges(draw(st.integers(1, longest)), slide, origin, clipped=draw(st.booleans()))


@st.composite
def laid(draw: st.DrawFn) -> Laid:
    return Laid(draw(st.sampled_from(AXES)), draw(edges()), draw(st.integers(-200, 200)))
