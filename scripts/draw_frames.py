# ruff: noqa: RUF001 (a minus sign in a picture is one)
"""Draws the pictures of the pages about frames: ``python scripts/draw_frames.py``.

The reference finds the frames, so a picture shows what a query returns. The rows are those of the
pages in docs/concepts/frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from drawing import BLUE, GREY, PLAIN, RED, TURNS, Canvas, scale, write

import muntin as mt
from muntin.reference.frames.frames import FrameReference
from muntin.reference.windows import END, MicroBatch, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.framing import Framing

VALUES = [2, 3, 7, 8, 6, 3, 2, 4, 5, 9, 8, 8, 4, 1, 1, 3]
SERIES = [{"n": n, "x": x} for n, x in enumerate(VALUES)]
FAINT = "#b0bec5"
x_of = scale(60, 42)


def frames(
    kind: object,
    reading: Callable[[Row], Any],
    rows: Sequence[Row] = SERIES,
    *,
    aggregate: Callable[[Sequence[Row]], Any] = lambda rows: sum(row["x"] for row in rows),
    bridged: Callable[[Row, Row], bool | None] = lambda before, after: None,
    along: Callable[[Row], Any] = lambda row: 0,
    reading_after: Callable[[Row | None, Row], Any] | None = None,
    **properties: Any,
) -> list[dict[str, Any]]:
    """Return the frames of rows along ``n``, by the reference."""
    reference = FrameReference(
        Framing(kind, "n", **properties),
        Axis(Domain.INTEGER),
        [],
        reading=reading,
        reading_after=reading_after,
        aggregate=aggregate,
        bridged=bridged,
        along=along,
        until=lambda row: row.get("until"),
    )
    return reference.run([MicroBatch(rows, END)]).results


def spans(found: Iterable[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row["frame_start"], row["frame_end"]) for row in found]


def shade(
    canvas: Canvas,
    found: Iterable[tuple[int, int]],
    place: Callable[[float], float],
    top: float,
    bottom: float,
) -> None:
    """Shade frames over a series, numbered from 0."""
    for number, (start, end) in enumerate(found):
        colours = TURNS[number % 2]
        left, right = place(start) - 9, place(end) + 9
        canvas.box(left, top, right - left, bottom - top, colours, stroke=False, opacity=0.75)
        canvas.line((left, top), (right, top), colours[1], 3)
        canvas.text(left, top - 4, str(number), size=11, fill=colours[1])


def height(value: float, zero: float = 180) -> float:
    return zero - value * 10.8


def series(canvas: Canvas, top: float = 0) -> None:
    points = [(x_of(n), height(x) + top) for n, x in enumerate(VALUES)]
    canvas.series(points, VALUES)


def over_series(
    name: str, says: str, found: list[tuple[int, int]], limits: Sequence[int] = ()
) -> Canvas:
    """Draw the series of the pages with shaded frames and dashed limits."""
    canvas = Canvas(name.split("(")[0].capitalize(), says, 780, 220)
    canvas.head(name)
    shade(canvas, found, x_of, 60, 180)
    series(canvas)
    for limit in limits:
        canvas.line((50, height(limit)), (702, height(limit)), RED, 1.4, dashed=True)
        canvas.text(706, height(limit) + 4, str(limit), fill=RED)
    canvas.axis(x_of, range(16), 184, "n")
    return canvas


def two_spans(title: str, says: str, parts: Sequence[tuple[str, list[tuple[int, int]]]]) -> Canvas:
    """Draw the series once, and the frames of two kinds as bars below it."""
    canvas = Canvas(title, says, 780, 254)
    canvas.head(parts[0][0])
    shade(canvas, parts[0][1], x_of, 60, 160)
    points = [(x_of(n), 160 - x * 9) for n, x in enumerate(VALUES)]
    canvas.series(points, VALUES)
    canvas.text(24, 186, parts[1][0], size=13, bold=True, mono=True)
    for number, (start, end) in enumerate(parts[1][1]):
        canvas.bar(x_of(start), x_of(end), 206, TURNS[number % 2])
    canvas.axis(x_of, range(16), 228, "n")
    return canvas


def bars(
    canvas: Canvas,
    label: str,
    found: Iterable[tuple[int, int]],
    place: Callable[[float], float],
    y: float,
    mono: bool = True,
) -> None:
    canvas.text(24, y + 5, label, size=13, mono=mono)
    for number, (start, end) in enumerate(found):
        canvas.bar(place(start), place(end), y, TURNS[number % 2])


def between() -> Canvas:
    ends: Callable[[Row], Any] = lambda row: (row["x"] >= 8, row["x"] <= 3)  # noqa: E731
    return over_series(
        'between(start="x >= 8", end="x <= 3")',
        "From a row of at least 8 to the next of at most 3.",
        spans(frames(mt.between("x >= 8", "x <= 3"), ends)),
        [3, 8],
    )


def pattern() -> Canvas:
    def read(before: Row | None, row: Row) -> Any:
        if before is None:
            return None
        moved = row["x"] - before["x"]
        return {"fall" if moved < 0 else "rise" if moved > 0 else "flat"}

    conditions = {"fall": "x < prev.x", "flat": "x = prev.x", "rise": "x > prev.x"}
    kind = mt.pattern("fall+ flat? rise+", **conditions)
    canvas = over_series(
        'pattern("fall+ flat? rise+", ...)',
        "Rows that fall and then rise: from 4 to 9, and from 12 to 15 with a flat row between.",
        spans(frames(kind, lambda row: None, reading_after=read)),
    )
    before: Row | None = None
    for row in SERIES:
        (name,) = read(before, row) or ("",)
        canvas.text(x_of(row["n"]), 217, name, size=11, fill=GREY[1], anchor="middle")
        before = row
    return canvas


def density() -> Canvas:
    clicks = [0, 3, 4, 5, 6, 10, 14, 15, 16, 20]
    rows = [{"n": n} for n in clicks]
    found = spans(frames(mt.density("count(*) >= 3", per=3), lambda row: True, rows, aggregate=len))
    place = scale(110, 29)
    canvas = Canvas(
        "Density",
        "Windows of length 3 that end with a row; those with three rows are joined.",
        780,
        262,
    )
    canvas.head('density("count(*) >= 3", per=3)')
    words = "a window (v − 3, v] for every row; those with three rows are joined"
    canvas.text(24, 54, words, size=13, fill=GREY)
    shade(canvas, found, place, 78, 212)
    for number, v in enumerate(clicks):
        held = sum(v - 3 < n <= v for n in clicks)
        colour, y = RED if held >= 3 else FAINT, 92 + 11 * number
        canvas.line((place(v - 3) + 4, y), (place(v), y), colour, 1.6)
        canvas.dot(place(v - 3), y, "#ffffff", 3, colour)
        canvas.dot(place(v), y, colour, 3.2)
        canvas.text(place(v) + 8, y + 4, str(held), size=11, fill=colour)
        canvas.dot(place(v), 212, radius=4)
    canvas.axis(place, range(-2, 21, 2), 212, "n")
    return canvas


def region() -> Canvas:
    slow = {1: range(4, 8), 2: range(2, 6), 3: range(2, 6)}
    grid = [{"n": n, "m": m, "slow": n in slow.get(m, ())} for n in range(10) for m in range(5)]
    canvas = Canvas(
        "Regions",
        "A grid of time and mileposts; slow cells, and the rectangles of each preference.",
        780,
        292,
    )
    canvas.head('region("speed < 30", along="milepost")')
    for part, prefer in enumerate(("longest", "widest", "all")):
        left = 50 + part * 246
        canvas.text(left, 66, f'prefer="{prefer}"', size=13, mono=True)
        for row in grid:
            cell = BLUE if row["slow"] else PLAIN
            canvas.box(
                left + 21 * row["n"], 170 - 21 * row["m"], 19, 19, cell, stroke=False, round_=2
            )
        kind = mt.region("speed < 30", along="milepost", prefer=prefer)
        for number, found in enumerate(
            frames(kind, lambda row: row["slow"], grid, along=lambda row: row["m"])
        ):
            start, end = found["frame_start"], found["frame_end"]
            low, high = int(found["along_start"]), int(found["along_end"])
            canvas.add(
                "rect",
                x=left + 21 * start - 1 + 2 * number,
                y=170 - 21 * high - 1 + 2 * number,
                width=21 * (end - start + 1) - 4 * number,
                height=21 * (high - low + 1) - 4 * number,
                rx=2,
                fill="none",
                stroke=(RED, "#2e7d32", "#6a1b9a")[number],
                stroke_width=2.2,
            )
        for n in range(0, 10, 2):
            canvas.text(left + 9.5 + 21 * n, 208, str(n), fill=GREY, anchor="middle")
        for m in range(5):
            canvas.text(left - 8, 184 - 21 * m, str(m), fill=GREY, anchor="end")
    for x, cell, words in ((50, BLUE, "the condition holds"), (220, PLAIN, "it does not")):
        canvas.box(x, 226, 16, 16, cell, stroke=False, round_=2)
        canvas.text(x + 24, 239, words)
    canvas.text(340, 239, "across: n, up: milepost", fill=GREY, italic=True)
    words = (
        "The two rectangles of four columns share no cell; the widest one shares cells with both."
    )
    canvas.text(24, 272, words, size=13, fill=GREY)
    return canvas


def schemes() -> Canvas:
    kind = mt.aggregate("sum(x) >= 20")
    place = scale(170, 37)
    names: list[object] = [
        "partition",
        "advancing",
        mt.adjacent(1),
        mt.cover("drained"),
        "unconstrained",
    ]
    canvas = Canvas("Schemes", "Frames whose sum is at least 20 under each scheme.", 780, 462)
    canvas.head('aggregate("sum(x) >= 20")')
    canvas.series([(place(n), 150 - x * 8) for n, x in enumerate(VALUES)], VALUES)
    y = 176.0
    for scheme in names:
        found = spans(frames(kind, lambda row: True, scheme=scheme))
        lanes: list[int] = []
        for number, (start, end) in enumerate(found):
            lane = next((n for n, last in enumerate(lanes) if last < start), len(lanes))
            lanes[lane : lane + 1] = [end]
            colour, at = TURNS[number % 2][1], y + 10 * lane
            canvas.line((place(start), at), (place(end), at), colour, 3.5)
            canvas.dot(place(start), at, colour, 3.6)
            canvas.dot(place(end), at, colour, 3.6)
        canvas.text(24, y + 5 * len(lanes), str(scheme), size=13, mono=True)
        y += 10 * len(lanes) + 6
        canvas.line((24, y), (756, y), "#eceff1", 1)
        y += 14
    canvas.axis(place, range(16), y + 6, "n")
    canvas.height = y + 40
    return canvas


def missing() -> Canvas:
    held = {0: 0, 1: 1, 3: 1, 5: 2, 6: 2, 7: 2, 8: 2, 10: 0}
    rows = [{"n": n, "x": x} for n, x in held.items()]
    place = scale(210, 48)
    canvas = Canvas(
        "Missing rows",
        "Readings of which those at 2, 4 and 9 did not come, and the frames under each policy.",
        780,
        250,
    )
    canvas.head('threshold("x > 0")')
    words = "one row is due at every n; those at 2, 4 and 9 did not come"
    canvas.text(24, 54, words, size=13, fill=GREY)
    canvas.text(24, 96, "x")
    for n in range(11):
        if n in held:
            canvas.value(place(n), 91, held[n], BLUE if held[n] else ("#eceff1", FAINT), 11)
        else:
            canvas.value(place(n), 91, "?", ("#ffffff", RED), 11)
    for number, policy in enumerate(("break", "satisfy", "carry", "prev.x = next.x")):
        found = frames(
            mt.threshold("x > 0"),
            lambda row: row["x"] > 0,
            rows,
            bridged=lambda before, after: before["x"] == after["x"],
            missing=policy,
            schedule=mt.schedule(1),
        )
        bars(canvas, f'"{policy}"', spans(found), place, 130 + 24 * number)
    canvas.axis(place, range(11), 224, "n")
    return canvas


def schedule() -> Canvas:
    rows = [{"n": n, "x": x} for n, x in ((3, 1), (12, 9), (21, 8), (34, 7), (41, 2))]
    ((start, end),) = spans(
        frames(mt.threshold("x > 5"), lambda row: row["x"] > 5, rows, schedule=mt.schedule(10))
    )
    place = scale(60, 10.5)
    canvas = Canvas(
        "A schedule",
        "Slots of ten; once every slot up to a row has its row the frame closes, although "
        "punctuation has not come so far.",
        780,
        214,
    )
    canvas.head('stream(..., schedule=10).frames(threshold("x > 5"))')
    for slot in range(6):
        colours = ("#eceff1" if slot % 2 == 0 else "#f5f7f8", GREY)
        canvas.box(place(10 * slot) + 1, 72, 103, 56, colours, stroke=False, round_=2)
        canvas.text(place(10 * slot + 5), 122, f"slot {slot}", fill=GREY, anchor="middle")
    for row in rows:
        colours = BLUE if row["x"] > 5 else ("#ffffff", "#90a4ae")
        canvas.value(place(row["n"]), 92, row["x"], colours, 9)
    canvas.bar(place(start), place(end), 144)
    words = "closed by 41: slots 0 to 4 have their rows"
    canvas.text(place(41) + 14, 149, words, fill=BLUE[1])
    canvas.line((place(25), 62), (place(25), 170), RED, 1.6, dashed=True)
    canvas.text(place(25) + 6, 66, "punctuation", fill=RED)
    canvas.axis(place, range(0, 61, 10), 176, "n")
    return canvas


def extent() -> Canvas:
    table = [(0, 30, 10), (10, 33, 20), (20, 34, 35), (40, 31, 50)]
    rows = [{"n": n, "f": f, "until": until} for n, f, until in table]
    place = scale(240, 9.2)
    canvas = Canvas(
        "Readings and bounds",
        "Freezer readings at 0, 10, 20 and 40; those at 10 and 20 are above 32.",
        780,
        240,
    )
    canvas.head('threshold("f > 32")')
    for n, f, until in table:
        canvas.line(
            (place(n), 88), (place(until) - (until == 10 or until == 20) * 9, 88), "#90a4ae", 3
        )
        canvas.value(place(n), 88, f, BLUE if f > 32 else ("#ffffff", "#90a4ae"), 12)
    canvas.text(24, 93, "readings, and their until", size=13, fill=GREY)
    ways: list[tuple[str, dict[str, str]]] = [
        ("point", {}),
        ("until_next", {"readings": "until_next"}),
        ("interval", {"readings": "interval", "until": "until"}),
        ('bounds="liberal"', {"bounds": "liberal"}),
    ]
    for number, (label, way) in enumerate(ways):
        found = frames(mt.threshold("f > 32"), lambda row: row["f"] > 32, rows, **way)
        bars(canvas, label, spans(found), place, 122 + 24 * number)
    canvas.axis(place, range(0, 51, 10), 214, "n")
    return canvas


def fragments() -> Canvas:
    rows = [{"n": n, "x": 9 if 2 <= n <= 9 else 0} for n in range(12)]
    found = frames(mt.threshold("x > 5"), lambda row: row["x"] > 5, rows, min_count=3, fragments=2)
    place = scale(150, 50)
    canvas = Canvas(
        "Fragments",
        "A frame from 2 to 9 with partial reports at 4, 6 and 8 and a final one.",
        780,
        238,
    )
    canvas.head('frames(threshold("x > 5"), min_count=3, fragments=2)')
    for row in rows:
        canvas.value(place(row["n"]), 82, row["x"], BLUE if row["x"] > 5 else ("#eceff1", FAINT))
    for number, row in enumerate(sorted(found, key=lambda row: (row["frame_end"], row["status"]))):
        y, partial = 114 + 24 * number, row["status"] == "partial"
        canvas.text(24, y + 5, row["status"], size=13)
        start, end = place(row["frame_start"]), place(row["frame_end"])
        canvas.bar(start, end, y, end_inside=not partial, dashed=partial)
    canvas.axis(place, range(12), 210, "n")
    return canvas


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    value: Callable[[Row], Any] = lambda row: row["x"]  # noqa: E731
    drawn = {
        "threshold": over_series(
            'threshold("x > 5")',
            "Two runs of rows with x above 5: from 2 to 4 and from 9 to 11.",
            spans(frames(mt.threshold("x > 5"), lambda row: row["x"] > 5)),
            [5],
        ),
        "boundary": over_series(
            'boundary("x", every=4)',
            "The same rows cut where x passes 4 or 8: nine frames.",
            spans(frames(mt.boundary("x", every=4), lambda row: row["x"] // 4)),
            [4, 8],
        ),
        "trend": over_series(
            'trend("x", "increasing")',
            "Three rises: from 0 to 3, from 6 to 9 and from 14 to 15.",
            spans(frames(mt.trend("x", "increasing"), value)),
        ),
        "delta": two_spans(
            "Deltas",
            "Maximal frames in which x moves by less than 4, and minimal ones in which it has "
            "moved by more.",
            [
                ('delta("x", 4)', spans(frames(mt.delta("x", 4), value))),
                (
                    'delta("x", 4, span="minimal")',
                    spans(frames(mt.delta("x", 4, span="minimal"), value)),
                ),
            ],
        ),
        "aggregate": two_spans(
            "Aggregates",
            "Minimal frames with a sum of at least 12 and maximal ones of at most 12.",
            [
                (f'aggregate("{text}")', spans(frames(mt.aggregate(text), lambda row: True)))
                for text in ("sum(x) >= 12", "sum(x) <= 12")
            ],
        ),
        "between": between(),
        "density": density(),
        "region": region(),
        "pattern": pattern(),
        "schemes": schemes(),
        "missing": missing(),
        "schedule": schedule(),
        "extent": extent(),
        "fragments": fragments(),
    }
    return {f"frames-{name}": canvas.svg() for name, canvas in drawn.items()}


if __name__ == "__main__":
    write(pictures())
