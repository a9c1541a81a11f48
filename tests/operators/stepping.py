"""Windows over the rows of a timeline, step by step: the rows of a step, then its punctuation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from muntin.aggregates.definition import AggregateCall
from muntin.kernels.arrays import NEVER
from muntin.operators.build import WindowOperatorInputs, build
from muntin.operators.protocol import InputBatch, MemoryState, Operator, Punctuation, Step
from muntin.operators.rows.operator import RowWindowOperator
from muntin.operators.windows.sessions import SessionOperator
from muntin.specs.axis import Axis, Domain
from muntin.specs.row_windows import (
    Landmarks,
    RowWindow,
    Session,
    SlideOnWindow,
    TupleWindow,
)

INTEGER = Axis(Domain.INTEGER)
_WHOLE = pa.int64()
COUNT = AggregateCall("count", "count(*)", (), (), ansi=True)
#: The `on` of the first and last row of a window, which the results of row windows include.
ON_EDGES = tuple(
    AggregateCall(f, f"{f}(on)", (0,), (pa.int64(),), ansi=True) for f in ("first", "last")
)
#: The columns of the map side, and the names of the same columns in the rows here.
COLUMNS = {"on": "on", "k0": "k", "s0": "on", "t0": "tie", "slide_on": "slide_on"}
COLUMNS |= {"starts": "starts", "reach": "reach", "o0": "on"}
TYPES = {"k0": pa.string(), "starts": pa.bool_()}


def ordered(
    spec: RowWindow | TupleWindow | SlideOnWindow | Landmarks,
    *,
    axis: Axis = INTEGER,
    bound_type: pa.DataType | None = None,
    grouped: bool = False,
    calls: Sequence[AggregateCall] = (COUNT,),
    **choices: Any,
) -> RowWindowOperator:
    """Return the operator of a specification over integers: rows by key, or grouped in windows."""
    edges = ON_EDGES if isinstance(spec, RowWindow) else ()
    operator = build(spec, typed((*edges, *calls), axis, bound_type or pa.int64(), grouped))
    assert isinstance(operator, RowWindowOperator)
    return replace(operator, **choices)


def sessions(spec: Session, **choices: Any) -> SessionOperator:
    operator = build(spec, typed((COUNT,)))
    assert isinstance(operator, SessionOperator)
    return replace(operator, **choices)


def typed(
    calls: Sequence[AggregateCall],
    axis: Axis = INTEGER,
    bound_type: pa.DataType = _WHOLE,
    grouped: bool = False,
) -> WindowOperatorInputs:
    """Return the inputs of an operator with one text key and the default policies."""
    return WindowOperatorInputs(
        axis=axis,
        keys=(pa.string(),),
        ranked_keys=0 if grouped else 1,
        calls=tuple(calls),
        bound_type=bound_type,
        lateness_type=pa.int64(),
        late="generous",
        unfinished="keep",
        lag=0,
        slide_axis=INTEGER,
        ties=(pa.int64(),),
    )


@dataclass
class Stepping:
    """Runs micro-batches through a step function, with punctuation of the stream and of keys."""

    work: Operator
    state: MemoryState = field(default_factory=MemoryState)
    reached: int | None = None
    reached_of: dict[str, int] = field(default_factory=dict)
    largest: int | None = None
    ended: bool = False
    last: Step | None = None
    slot: str = "on"

    def step(
        self,
        rows: Sequence[Mapping[str, Any]] = (),
        upto: int | None = None,
        upto_of: Mapping[str, int] | None = None,
        end: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the results of these rows and this punctuation, in the order of the operator."""
        routed = [self.work.map_sides[0].route(table(rows, self.slot))] if rows else []
        after = self.reached if upto is None else upto
        after_of = {**self.reached_of, **(upto_of or {})}
        seen = [r.progress for r in routed if r.progress is not None]
        self.largest = max([*seen, *([] if self.largest is None else [self.largest])], default=None)
        by_key = pa.table(
            {
                "k0": pa.array(list(after_of), pa.string()),
                "before": pa.array([self.reached_of.get(k, NEVER) for k in after_of], pa.int64()),
                "after": pa.array(list(after_of.values()), pa.int64()),
            }
        )
        punctuation = Punctuation(
            self.reached, after, self.largest, end, self.ended, by_key if after_of else None
        )
        originals = [r.rows for r in routed if r.rows is not None]
        batch = InputBatch([r.partial for r in routed], punctuation, originals)
        self.last = self.work.step(self.state, [batch])
        self.state.apply(self.last.changes)
        self.reached, self.reached_of, self.ended = after, after_of, self.ended or end
        results: list[dict[str, Any]] = self.last.results.to_pylist()
        return results

    def rows_of(self, name: str) -> int:
        """Return how many rows a table of state has."""
        return sum(
            chunk.num_rows for (table, _), chunk in self.state.chunks.items() if table == name
        )


def table(rows: Sequence[Mapping[str, Any]], slot: str = "on") -> pa.Table:
    """Return rows as a table; without a column ``tie``, their order breaks ties."""
    rows = [{"k": "a", "tie": place, **row} for place, row in enumerate(rows)]
    return pa.table(
        {
            name: pa.array([row.get(of) for row in rows], TYPES.get(name, pa.int64()))
            for name, of in {**COLUMNS, "s0": slot}.items()
            if any(of in row for row in rows)
        }
    )


def at(*on: int | None, **more: Any) -> list[dict[str, Any]]:
    """Return rows of one key at these values."""
    return [{"on": value, **more} for value in on]
