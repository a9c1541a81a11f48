"""Draws the pictures of docs/architecture.md: ``python scripts/draw_architecture.py``."""

from __future__ import annotations

from drawing import BLUE, GREEN, GREY, ORANGE, PLAIN, TEAL, Canvas, write

#: From the top: a room may import those below it.
ROOMS = [
    ("server", "the engine over HTTP, and who may ask what", PLAIN),
    ("engine", "many queries over one stream, registered while it runs", BLUE),
    ("session", "names, running a text of SQL, outputs, triggers", BLUE),
    ("planner", "statements become plans; EXPLAIN; what is bounded", BLUE),
    ("spark", "drives operators; knows PySpark, as no room below does", GREEN),
    ("operators", "step(state, inputs): what computes", ORANGE),
    ("aggregates", "what users ask of rows, and what a pane keeps of it", ORANGE),
    ("expressions", "expressions and conditions on Arrow tables", ORANGE),
    ("kernels", "Arrow columns and inner loops", ORANGE),
    ("specs", "what is asked: values that check themselves", TEAL),
    ("errors", "every error", TEAL),
]
#: Rooms beside the others, what they hold and what they import: at the height of which room.
BESIDE = [
    ("cli", "the commands; every room", 0, PLAIN),
    ("parser", "SQL text to statements; specs, errors", 3, BLUE),
    ("testing", "replay and assertions; spark and below", 4, PLAIN),
    ("simulate", "freeways, routers, stores ...; errors", 5, PLAIN),
    ("reference", "slow and obvious: the oracle; specs, errors", 6, TEAL),
]
OPERATORS = [
    "protocol",
    "common",
    "progress, aggregation",
    "windows",
    "rows",
    "frames",
    "fill",
    "join",
    "resample",
    "build",
    "summaries",
    "shared",
]
SPARK = [
    "columns",
    "scan",
    "exchange",
    "plan",
    "explain",
    "plot",
    "api",
    "queries",
    "connectors",
    "start",
]
TOP, STEP, TALL = 64, 46, 36


def rooms() -> str:
    canvas = Canvas(
        "The rooms",
        "The rooms of src/muntin in layers, each above the rooms that it may import, and the "
        "sub-rooms of operators and spark in the same order.",
        860,
        752,
    )
    canvas.head("src/muntin: a room imports those below it", mono=False)
    for place, (name, words, colours) in enumerate(ROOMS):
        y = TOP + place * STEP
        canvas.box(24, y, 440, TALL, colours)
        canvas.text(38, y + 23, name, size=14, bold=True, mono=True)
        canvas.text(140, y + 22, words)
    for name, words, place, colours in BESIDE:
        y = TOP + place * STEP
        canvas.box(496, y, 340, TALL, colours)
        canvas.text(510, y + 23, name, size=14, bold=True, mono=True)
        canvas.text(592, y + 22, words)
    canvas.line((480, TOP), (480, TOP + 10 * STEP + TALL), tip=True)
    canvas.text(496, TOP + 7 * STEP + 23, "imports point down", fill=GREY)
    canvas.text(496, TOP + 8 * STEP + 10, "beside: what a room holds; what it imports", fill=GREY)
    strips = ((612, "operators/", OPERATORS, ORANGE), (684, "spark/", SPARK, GREEN))
    for y, name, parts, colours in strips:
        canvas.text(24, y, f"{name}  from the left: each imports those before it", bold=True)
        x = 24.0
        for part in parts:
            width = 6.6 * len(part) + 14
            canvas.box(x, y + 12, width, 28, colours)
            canvas.text(x + width / 2, y + 30, part, size=11, anchor="middle", mono=True)
            x += width + 5
    return canvas.svg()


#: Where a row is, what happens to it there, and the files that do it; by which driver.
WAY = [
    (
        "both",
        "In your program: what is asked",
        "mt.stream(df, on=, by=).window(...).agg(...) checks its arguments",
        ["spark/api/stream.py", "spark/api/segments.py", "specs/windows.py", "aggregates/parse.py"],
    ),
    (
        "both",
        "In your program: the plan",
        "types, the operator, the columns that Spark evaluates for it",
        [
            "spark/plan/windows.py",
            "spark/plan/inputs.py",
            "operators/build.py",
            "spark/plan/plan.py",
        ],
    ),
    (
        "both",
        "In a task: route",
        "rows without a place are refused, the others become panes, one message for each shard",
        [
            "spark/exchange/routing.py",
            "operators/windows/panes.py",
            "operators/common/admission.py",
            "kernels/ticks.py",
        ],
    ),
    (
        "batch",
        "In a task, by shard: run",
        "no state; the punctuation is the end",
        ["spark/exchange/batch_driver.py"],
    ),
    (
        "stream",
        "In a task, by shard: run",
        "state from RocksDB; how far the stream is complete",
        [
            "spark/exchange/stream_driver.py",
            "spark/exchange/shard_state.py",
            "operators/progress/progress.py",
        ],
    ),
    (
        "both",
        "In the same call: step",
        "panes meet the remembered ones; complete windows are made of panes and reported",
        [
            "operators/windows/operator.py",
            "operators/windows/pane_store.py",
            "operators/aggregation/combine_accumulators.py",
            "kernels/sliding.py",
        ],
    ),
    ("batch", "Out", "a DataFrame of results", ["spark/plan/plan.py"]),
    (
        "stream",
        "Out",
        "results and refused rows to sinks, counts to the progress",
        ["spark/queries/write.py", "spark/queries/progress.py"],
    ),
]
COLUMNS = {"both": (24, 812), "batch": (24, 330), "stream": (370, 466)}


def way() -> str:
    canvas = Canvas(
        "The way of a row",
        "A row of a window from your program through route, run and step, in a batch and in a "
        "stream, with the files that it visits.",
        860,
        596,
    )
    canvas.head("A row on its way through windows: batch and stream", mono=False)
    colours = {"both": PLAIN, "batch": BLUE, "stream": GREEN}
    y = 52.0
    for place, (driver, where, words, files) in enumerate(WAY):
        x, width = COLUMNS[driver]
        name = where if driver == "both" else f"{driver}. {where}"
        canvas.box(x, y, width, 74, colours[driver])
        canvas.text(x + 14, y + 21, name, size=13, bold=True)
        canvas.text(x + 14, y + 40, words)
        at = x + 14.0
        for path in files:
            shown = path if driver == "both" else path.rpartition("/")[2]
            canvas.text(at, y + 61, shown, size=10, mono=True, fill=GREY)
            at += 6.1 * len(shown) + 16
        if driver != "batch":
            y += 74
            if place < len(WAY) - 1:
                arrows = [197, 603] if driver != "both" or WAY[place + 1][0] != "both" else [430]
                for arrow in arrows:
                    canvas.line((arrow, y), (arrow, y + 16), tip=True)
            y += 16
    return canvas.svg()


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    return {"architecture-rooms": rooms(), "architecture-row": way()}


if __name__ == "__main__":
    write(pictures())
