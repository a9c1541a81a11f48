"""What windows over rows will do and cost, in words and numbers."""

from __future__ import annotations

from muntin.operators.rows.operator import RowWindowOperator
from muntin.operators.rows.synopses import Synopses
from muntin.operators.windows.sessions import Sessions
from muntin.spark.explain.shared import PENDING, OrderedExplanation, ordered_explanation
from muntin.spark.explain.state import KeptPart
from muntin.spark.plan.windows import AnySpec, WindowPlan
from muntin.specs.row_windows import Landmarks, RowWindow, Session, SlideOnWindow, TupleWindow


def sequence_explanation(
    compiled: WindowPlan, disorder: str | None, *, streaming: bool
) -> OrderedExplanation:
    spec = compiled.spec
    arriving = isinstance(spec, RowWindow | TupleWindow) and spec.order == "arrival"
    return ordered_explanation(
        compiled,
        f"window      {spec}  [{spec.context.name}]",
        order="as rows arrive" if arriving else f"by {spec.on}",
        disorder=disorder,
        state=_held(compiled) if streaming else None,
    )


def _held(compiled: WindowPlan) -> str:
    """What a stream keeps, and whether that is bounded."""
    spec, operator = compiled.spec, compiled.operator
    if isinstance(operator, Synopses):
        return f"bounded: {PENDING}, and a synopsis for every aggregate and key"
    assert isinstance(operator, RowWindowOperator | Sessions)
    part = "session" if isinstance(spec, Session) else "cell"
    kept = KeptPart(operator.cells.accumulators, part)
    # A window of rows holds no more rows than its range says, whatever is kept of them.
    bounded = kept.bounded or isinstance(spec, RowWindow)
    said = "bounded" if bounded else f"{part}s are bounded, what they keep is not"
    return f"{said}: {_parts(spec)}, {kept.size} each{kept.more}"


def _parts(spec: AnySpec) -> str:
    """Of what there is one for how many rows; what stands last has a size."""
    match spec:
        case RowWindow(order="arrival", range=rows) | RowWindow(within=None, range=rows):
            slide = spec.edges.panes_per_slide
            panes = -(-rows // spec.slide) * slide + slide
            held = "" if spec.order == "arrival" else f"{PENDING}, and "
            return f"{held}for every key a count and {panes:,} cells of ranks"
        case RowWindow(range=rows):
            cells = f"a cell for each of the last {rows:,} rows"
            return f"{PENDING}, and for every key a count and {cells}"
        case TupleWindow(range=length, every=every) | SlideOnWindow(range=length, slide=every):
            count = "for every key a count and " if every != 1 else ""
            return f"{PENDING}, and {count}one cell for each `on` within the last {length}"
        case Landmarks():
            return f"{PENDING}, and for every key one cell and one for each `on` of the open slide"
        case _:
            return "one row for every open session"
