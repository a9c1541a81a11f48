"""Draws the picture of docs/concepts/early.md: what is reported of windows while rows arrive.

``python scripts/draw_early.py``. The changes are those that the operator reports.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from drawing import BLUE, GREEN, GREY, ORANGE, PLAIN, RED, Canvas, scale, write

from muntin.aggregates.definition import AggregateCall
from muntin.operators.build import early
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Window

#: The rows of each micro-batch, and the punctuation after it: 2 below the largest row.
BATCHES = [([1, 4], 2), ([7, 3], 5), ([12], 10), ([14, 9, 21], 19)]
SPEC = Window(10, 10, "n")
COLOURS = {"+": GREEN, "u": ORANGE, "-": ("#ffcdd2", RED)}


def reported() -> list[list[dict[str, object]]]:
    """Return the changes of each micro-batch, as the operator reports them."""
    axis, whole = Axis(Domain.INTEGER), pa.int64()
    calls = (AggregateCall("count", "count(*)", (), (), ansi=True),)
    operator = early(SPEC, WindowOperator(axis, SPEC.edges(axis), (), calls, whole))
    state, before, largest, told = MemoryState(), None, 0, []
    for rows, after in BATCHES:
        largest = max(largest, *rows)
        routed = operator.map_sides[0].route(pa.table({"on": pa.array(rows, whole)}))
        punctuation = Punctuation(before, after, largest)
        step = operator.step(state, [InputBatch([routed.partial], punctuation)])
        state.apply(step.changes)
        before = after
        told.append(step.results.to_pylist())
    return told


def changes() -> Canvas:
    place = scale(300, 20)
    canvas = Canvas(
        "Early answers of tumbling windows",
        "Four micro-batches bring rows in disorder. After each of them the window that is open "
        "is reported with the sign plus if it is new and u if it replaces an answer, until "
        "punctuation closes it and its answer is final.",
        860,
        408,
    )
    canvas.head("SELECT window_end, count(*) ... [TUMBLING 10]     EMIT EARLY")
    for edge in (0, 10, 20, 30):
        canvas.line((place(edge), 56), (place(edge), 376), GREY, dashed=True)
        canvas.text(place(edge), 392, str(edge), fill=GREY, anchor="middle")
    for number, ((rows, after), told) in enumerate(zip(BATCHES, reported(), strict=True)):
        y = 66 + number * 78
        canvas.text(24, y + 18, f"micro-batch {number}", bold=True)
        canvas.text(24, y + 36, f"rows {', '.join(map(str, rows))}", mono=True)
        canvas.text(24, y + 54, f"punctuation {after}", size=11, fill=GREY)
        closed = BATCHES[number - 1][1] if number else 0
        for row in rows:  # an empty dot is a late row, which no open window has
            late = row < closed
            canvas.dot(place(row), y + 8, "#ffffff" if late else BLUE[1], stroke=BLUE[1])
        canvas.line((place(after), y - 2), (place(after), y + 62), RED, 1.6)
        draw_told(canvas, place(0), y + 22, told)
    return canvas


def draw_told(canvas: Canvas, left: float, y: float, told: Sequence[dict[str, object]]) -> None:
    """Draw the changes of a micro-batch in the windows that they are about."""
    for row in told:
        start = int(str(row["window_start"]))
        x = left + start * 20
        colours = COLOURS[str(row["change"])] if not row["final"] else PLAIN
        canvas.box(x + 6, y, 188, 30, colours)
        final = "   final" if row["final"] else ""
        canvas.text(x + 18, y + 20, f"{row['change']}  count {row['r0']}{final}", mono=True)


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    return {"early-answers": changes().svg()}


if __name__ == "__main__":
    write(pictures())
