"""Draws the pictures of docs/concepts/engine.md, asking.md and engine-cost.md."""

from __future__ import annotations

from dataclasses import replace

from drawing import BLUE, GREEN, GREY, ORANGE, PLAIN, RED, TEAL, Canvas, write

from muntin.engine.costs.network_graph import NetworkDrawing, SinkFigures, StreamNetwork
from muntin.engine.costs.query_cost import QueryCost, RunningPart
from muntin.engine.costs.stream_costs import PartCost

#: What the queries of a stream become: name, an example, what is done for all of them, colours.
PARTS = [
    ("rows chosen", "SELECT ... WHERE speed < 10", "each row goes to all who want it", TEAL),
    ("shared panes", "[RANGE ... SLIDE ...]", "a cell for each key, set and pane", ORANGE),
    ("own operators", "[FRAME ...], [ROWS ...]", "one operator and one state each", BLUE),
]


#: The ways in which answers are made: in a micro-batch, and when somebody asks.
WAYS = [
    ("eager", "answers are made,", "and logged", "the newest are read", "from the log", GREEN),
    (
        "partial",
        "answers are made, and",
        "stay in the shard",
        "the next micro-batch",
        "logs them",
        ORANGE,
    ),
    ("lazy", "rows are kept,", "nothing is computed", "the query runs over", "the kept rows", BLUE),
]
#: A query that has not run.
NO_COST = QueryCost("", "field", "", (), 0, 0, None, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0)


def asking() -> str:
    canvas = Canvas(
        "Three ways to make the answer of a micro-batch",
        "An eager query makes answers in every micro-batch and logs them. A partial query lets "
        "them stay in the shard until somebody asks. A lazy query computes nothing until then.",
        720,
        300,
    )
    canvas.head("The same answer, made sooner or later", mono=False)
    canvas.text(240, 72, "in every micro-batch", bold=True, anchor="middle")
    canvas.text(500, 72, "when somebody asks", bold=True, anchor="middle")
    for place, (name, made, where, first, second, colours) in enumerate(WAYS):
        y = 88 + place * 68
        canvas.text(24, y + 34, name, size=14, bold=True)
        canvas.box(130, y, 220, 54, colours)
        canvas.text(240, y + 23, made, anchor="middle")
        canvas.text(240, y + 41, where, anchor="middle")
        canvas.line((350, y + 27), (388, y + 27), tip=True)
        canvas.box(390, y, 220, 54, PLAIN)
        canvas.text(500, y + 23, first, anchor="middle")
        canvas.text(500, y + 41, second, anchor="middle")
    return canvas.svg()


def way() -> str:
    canvas = Canvas(
        "What happens to a row in the engine",
        "Rows are read once. The predicates of all queries are evaluated together. Each row goes "
        "to chosen rows, shared panes and operators of single queries. All answers of a "
        "micro-batch become one file of the result log. A pin names the version of the queries.",
        860,
        424,
    )
    canvas.head("One streaming query, whatever the number of queries", mono=False)
    canvas.box(24, 150, 104, 64, PLAIN)
    canvas.text(76, 177, "rows", size=14, bold=True, anchor="middle")
    canvas.text(76, 196, "read once", anchor="middle")
    canvas.line((128, 182), (158, 182), tip=True)
    canvas.box(160, 136, 140, 92, GREEN)
    canvas.text(230, 160, "predicates", size=14, bold=True, anchor="middle")
    canvas.text(230, 180, "of all queries,", anchor="middle")
    canvas.text(230, 196, "evaluated together", anchor="middle")
    canvas.text(230, 216, "row: {3, 7, 12}", size=11, anchor="middle", mono=True, fill=GREY)
    for place, (name, example, words, colours) in enumerate(PARTS):
        y = 66 + place * 84
        canvas.line((300, 182), (338, y + 34), tip=True)
        canvas.box(340, y, 240, 68, colours)
        canvas.text(354, y + 21, name, size=14, bold=True)
        canvas.text(354, y + 40, words)
        canvas.text(354, y + 58, example, size=10, mono=True, fill=GREY)
        canvas.line((580, y + 34), (638, 182), tip=True)
    canvas.box(640, 126, 196, 112, PLAIN)
    canvas.text(738, 150, "result log", size=14, bold=True, anchor="middle")
    canvas.text(738, 170, "one file a micro-batch,", anchor="middle")
    canvas.text(738, 186, "all answers visible at once", anchor="middle")
    for place in range(4):
        canvas.box(664 + place * 37, 198, 30, 28, GREEN)
        canvas.text(679 + place * 37, 217, str(place + 5), size=11, anchor="middle", mono=True)
    canvas.line((24, 330), (836, 330), PLAIN[1], 1)
    canvas.text(24, 356, "Before", bold=True)
    canvas.text(90, 356, "a command is logged (SQLite), becomes part of a version (a file),")
    canvas.text(90, 376, "and the commit of micro-batch N pins that version to N + 1.")
    canvas.text(24, 404, "After", bold=True)
    canvas.text(90, 404, "results(), latest() read the log; with keep= the rows are kept, too.")
    return canvas.svg()


def cut() -> str:
    canvas = Canvas(
        "A query that starts with history",
        "Kept micro-batches 2 to 6 are run for the new query beside the stream. The commit of "
        "micro-batch 6 writes its seed; micro-batch 7 is the first with the query.",
        860,
        236,
    )
    canvas.head("History and the live stream meet between two micro-batches", mono=False)
    canvas.text(24, 80, "micro-batches", fill=GREY)
    canvas.text(24, 136, "the new query", fill=GREY)
    for number in range(2, 11):
        x = 140 + (number - 2) * 76
        kept = number < 7
        canvas.box(x, 56, 66, 38, PLAIN if kept else GREEN)
        canvas.text(x + 33, 80, str(number), anchor="middle", mono=True)
        canvas.box(x, 112, 66, 38, ORANGE if kept else GREEN)
        canvas.text(x + 33, 136, "kept rows" if kept else "live", size=11, anchor="middle")
    canvas.line((515, 46), (515, 176), RED, 2, dashed=True)
    canvas.text(
        140, 190, "run in the driver, in order: answers of the past and the state, the seed"
    )
    canvas.text(525, 172, "the cut: micro-batch 7 begins with the seed", fill=RED)
    canvas.text(
        140, 214, "No row is counted twice and none is left out: each is in one micro-batch."
    )
    return canvas.svg()


def network() -> str:
    """A network as ``engine.network()`` draws it, of a stream with four queries."""
    shared = RunningPart("w1", "windows over shared panes", ("hot", "warm"))
    chosen = RunningPart("chosen", "rows chosen", ("alarm",))
    own = RunningPart("q4", "an operator of its own", ("spells",))
    drawing = NetworkDrawing()
    drawing.source("field", 24_000, kept_batches=12)
    drawing.part(shared, PartCost(0.0, 480, 61_440, 20_480), 24_000)
    drawing.part(chosen, PartCost(0.0, 310, 9_920, 0), 24_000)
    drawing.part(own, PartCost(0.0, 24_000, 576_000, 4_096), 24_000)
    figures = [
        ("warm", 11_250, 48),
        ("hot", 2_680, 31),
        ("alarm", 310, 310),
        ("spells", 24_000, 17),
    ]
    for name, used, answers in figures:
        part = next(part for part in (shared, chosen, own) if name in part.queries)
        cost = replace(NO_COST, query=name, rows=24_000, used=used, answers=answers)
        drawing.query(cost, part.name, "active", from_kept=name == "spells")
    drawing.sink(SinkFigures("hot", "", "parquet", 31))
    drawing.sink(SinkFigures("alarm", "page", "webhook", 310))
    drawing.tap("q9", "query:hot", 3, 20)
    return StreamNetwork("field", (), drawing.boxes, drawing.arrows).svg


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    drawn = {"engine": way(), "engine-history": cut(), "asking": asking()}
    return {**drawn, "engine-network": network()}


if __name__ == "__main__":
    write(pictures())
