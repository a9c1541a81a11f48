"""Frames over the rows of a timeline, step by step, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.parse_conditions import parse_bridge
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build
from muntin.operators.frames.operator import FrameOperator
from muntin.operators.frames.ordered_rows import Bridge
from muntin.operators.protocol import InputBatch, OneInput, Routed, State, Step
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Threshold
from tests.operators.stepping import Stepping

INTEGER = Axis(Domain.INTEGER)
#: How a value becomes the kind's operand: a truth for a threshold, itself for others.
COUNT = AggregateCall("count", "count(*)", (), (), ansi=True)
SUM = AggregateCall("sum", "sum(v)", (0,), (pa.int64(),), ansi=True)
MEDIAN = AggregateCall("median", "median(v)", (0,), (pa.int64(),), ansi=True)


@dataclass(frozen=True)
class Fed(OneInput):
    """An operator whose rows come with a value ``v``, above zero where a threshold holds."""

    frames: FrameOperator
    truth: bool

    def route(self, rows: pa.Table) -> Routed:
        value = rows["s0"].combine_chunks()
        read = pc.greater(value, 0) if self.truth else value
        more = {"f0": read, "f1": read, "lacks": pc.is_null(value), "opens": pc.equal(value, 1)}
        more |= {"m0": value, "m1": rows["on"]}
        if "reach" in rows.column_names:
            more["until"] = rows["reach"].combine_chunks()
        for name, column in more.items():
            rows = rows.append_column(name, column)
        return self.frames.route(rows)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        return self.frames.step(state, inputs)


@dataclass
class Feeding(Stepping):
    """A framing over integers, run step by step."""

    slot: str = "v"

    def frames(self, *given: Any, **punctuation: Any) -> list[tuple[Any, ...]]:
        """Return the frames of a step: frame_id, frame_start, frame_end, n, n_missing, status."""
        names = ("frame_id", "frame_start", "frame_end", "n", "n_missing", "status")
        return [tuple(row[n] for n in names) for row in self.step(*given, **punctuation)]

    @property
    def kept(self) -> dict[str, int]:
        """Return the number of rows of every table of state."""
        return {name: self.rows_of(name) for name, _ in self.state.chunks}


def feeding(
    kind: FrameKind,
    calls: Sequence[AggregateCall] = (),
    read: tuple[pa.DataType, ...] | None = None,
    **properties: Any,
) -> Feeding:
    """Return a framing to feed; ``read`` are the types of its operands, each of which is ``v``."""
    framing = Framing(kind, "on", **properties)
    truth = isinstance(kind, Threshold)
    typed = FrameOperatorInputs(
        axis=INTEGER,
        keys=(pa.string(),),
        calls=tuple(calls),
        bound_type=pa.int64(),
        lateness_type=pa.int64(),
        read=(pa.bool_() if truth else pa.int64(),) if read is None else read,
        ties=(pa.int64(),) if framing.tie_order else (),
        bridge=bridge(str(framing.missing)) if framing.predicted else None,
    )
    return Feeding(Fed(build(framing, typed), truth))  # type: ignore[arg-type]


def bridge(text: str) -> Bridge:
    """Return a condition on ``v`` and ``on`` of the rows around a missing one."""
    tree, written = parse_bridge(text)
    sides = [one.split(".") for one in written]
    slots = tuple((side, ("v", "on").index(name)) for side, name in sides)
    return Bridge(tree, slots, (pa.int64(), pa.int64()))


def line(values: str, first: int = 0, k: str = "a") -> list[dict[str, Any]]:
    """Return a row for each word, from ``first`` on: a number, ``?`` for null, ``.`` for no row."""
    return [
        {"on": on, "k": k, "v": None if word == "?" else int(word)}
        for on, word in enumerate(values.split(), first)
        if word != "."
    ]
