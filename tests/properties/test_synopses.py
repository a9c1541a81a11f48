"""reference = step function for synopses, where few rows leave them exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.synopses.count_sum_avg import ApproxAvg, ApproxCount, ApproxSum
from muntin.aggregates.synopses.extremes import SlidingExtreme
from muntin.operators.rows.cut import Cut, TupleCut
from muntin.operators.rows.cut_values import PaneCut, ValueCut
from muntin.operators.rows.operator import RowWindowOperator
from muntin.operators.rows.synopses import SynopsisOperator
from muntin.reference import aggregates
from muntin.reference.windows import Evaluate
from muntin.specs.axis import Domain
from muntin.specs.row_windows import TupleWindow
from muntin.specs.windows import Landmark, Window
from muntin.testing import assert_same_rows
from tests.properties.arriving import LENGTHS, ON_TYPES, arrivals, renamed, row_values, some_rows
from tests.properties.sequences import Row, SequenceCase
from tests.thorough import examples

#: With this error a bucket holds one row as long as there are fewer than fifty rows.
EPS = 0.01
KINDS = (
    ApproxCount(EPS),
    ApproxSum(EPS),
    ApproxAvg(EPS),
    SlidingExtreme(),
    SlidingExtreme(greatest=True),
)


def _values(rows: Sequence[Row]) -> list[float]:
    return [row["n"] for row in rows if row["n"] is not None]


def _or_null(meaning: Any) -> Evaluate:
    return lambda rows: meaning(_values(rows)) if _values(rows) else None


MEANINGS: dict[str, Evaluate] = {
    "r0": lambda rows: float(len(_values(rows))),
    "r1": _or_null(lambda values: float(sum(values))),
    "r2": _or_null(lambda values: sum(values) / len(values)),
    "r3": _or_null(min),
    "r4": _or_null(max),
}


#: Exact aggregates of the same column beside the synopses, one for each way to combine cells.
EXACT = ("sum", "max", "median", "collect")
BESIDE: dict[str, Evaluate] = {
    "r5": lambda rows: aggregates.total([row["n"] for row in rows]),
    "r6": lambda rows: aggregates.greatest([row["n"] for row in rows]),
    "r7": lambda rows: aggregates.median([row["n"] for row in rows]),
    "r8": lambda rows: aggregates.collect([(row["on"], row["n"]) for row in rows]),
}


@dataclass(frozen=True)
class SynopsisCase(SequenceCase):
    """Windows over rows whose aggregates are synopses, with or without exact ones beside them."""

    beside: bool = False

    def meanings(self) -> dict[str, Evaluate]:
        return MEANINGS | BESIDE if self.beside else MEANINGS

    def cut(self) -> Cut:
        spec, axis = self.spec, self.axis
        if isinstance(spec, TupleWindow):
            return TupleCut(axis.length("range", spec.range), spec.every, axis)
        assert isinstance(spec, Window | Landmark)
        return ValueCut(spec.edges(axis), axis)

    def operator(self) -> SynopsisOperator:
        bound_type = ON_TYPES[self.domain][1]
        has_origin = isinstance(self.spec, Window | Landmark) and self.spec.origin is not None
        cut = self.cut()
        calls = [AggregateCall(f, f, (0,), (pa.float64(),), ansi=True) for f in EXACT]
        exact = RowWindowOperator(
            axis=self.axis,
            keys=(pa.string(),),
            ranked_keys=1,
            calls=tuple(calls),
            cut=PaneCut(cut.edges, cut.axis) if isinstance(cut, ValueCut) else cut,
            bound_type=bound_type,
            lateness_type=bound_type,
        )
        synopses = [AggregateCall("s", "s", (0,), (pa.float64(),), ansi=True) for _ in KINDS]
        return SynopsisOperator(
            axis=self.axis,
            keys=(pa.string(),),
            ranked_keys=1,
            calls=(*synopses, *(calls if self.beside else ())),
            cut=cut,
            exact=exact if self.beside else None,
            bound_type=bound_type,
            lateness_type=pa.duration("us") if self.domain.temporal else bound_type,
            unfinished=self.unfinished,
            origin=cut.edges.origin if has_origin and isinstance(cut, ValueCut) else None,
            kinds=KINDS,
            within=(None,) * len(KINDS),
        )

    def table(self, rows: Sequence[Row]) -> pa.Table:
        table = super().table(rows)
        place = table.schema.get_field_index("s0")
        return table.set_column(place, "s0", pa.array([row["n"] for row in rows], pa.float64()))


@st.composite
def synopsis_cases(draw: st.DrawFn) -> SynopsisCase:
    domain = draw(st.sampled_from(Domain))
    length = st.integers(1, 12).map(LENGTHS[domain])
    origin = draw(st.none() | st.integers(-3, 6).map(ON_TYPES[domain][2]))
    kinds = ["window", "window", "landmark"] + ["tuple"] * (domain is not Domain.DOUBLE)
    spec: Any
    match draw(st.sampled_from(kinds)):
        case "window":
            spec = Window(draw(length), draw(length), "on", origin)
        case "landmark":
            spec = Landmark(
                draw(length), "on", ON_TYPES[domain][2](0) if origin is None else origin
            )
        case _:
            spec = TupleWindow(draw(length), "on", draw(st.integers(1, 3)))
    numbers = st.none() | st.integers(0, 9).map(float)
    rows = draw(some_rows(st.tuples(row_values(domain, st.just({})), numbers)))
    drawn = [{**row, "n": n, "tie": place} for place, (row, n) in enumerate(rows)]
    return SynopsisCase(
        spec=spec,
        grouped=False,
        unfinished=draw(st.sampled_from(["keep", "drop", "flag"])),
        beside=draw(st.booleans()),
        **draw(arrivals(domain, drawn)),
    )


@examples(2000)
@given(synopsis_cases())
def test_synopses_equal_the_reference(case: SynopsisCase) -> None:
    ran, wanted = case.run(), case.expected()
    assert_same_rows([renamed(row) for row in ran.results], wanted.results)
    assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused)
    assert ran.used == wanted.used
    assert ran.chunks_left == 0
