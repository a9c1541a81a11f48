# ruff: noqa: RUF001 (a minus sign in a picture is one)
"""Draws the pictures of the pages about windows, panes and punctuation.

``python scripts/draw_windows.py``. Windows, panes and ranks are computed from their specifications.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime

from drawing import BLUE, GREEN, GREY, INK, ORANGE, PALE, PLAIN, RED, Canvas, scale, write

from muntin.specs.axis import Axis, Domain
from muntin.specs.row_windows import RowWindow
from muntin.specs.windows import Edges, Landmark, Window

ROWS = [0, 2, 3, 5, 6, 9, 11]
REDDISH = ("#ffccbc", RED)
LIGHT = "#cfd8dc"
SEGMENTS = "AABAABABAA"


def edges(range_: int, slide: int, origin: int | None = None) -> Edges:
    return Window(range_, slide, "n", origin).edges(Axis(Domain.INTEGER))


def minus(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def window(
    canvas: Canvas,
    start: float,
    end: float,
    y: float,
    colours: tuple[str, str] = BLUE,
    inside: tuple[bool, bool] = (True, False),
) -> None:
    """Draw a window between two places, its bounds inside or not."""
    canvas.box(start, y - 9, end - start, 18, colours, stroke=False, round_=2)
    canvas.line((start, y), (end, y), colours[1], 1.6)
    for x, held in zip((start, end), inside, strict=True):
        canvas.dot(x, y, colours[1] if held else "#ffffff", 5, colours[1])


def windows() -> Canvas:
    place, sliding = scale(152, 42), edges(5, 2)
    canvas = Canvas(
        "Overlapping windows",
        "Windows of RANGE 5 SLIDE 2 over a line of numbers; the row at 5 lies in windows 2, 3, 4.",
        860,
        340,
    )
    canvas.head("RANGE 5 SLIDE 2", mono=False)
    words = "window w is [start, end) with end = (w + 1) · 2 and start = end − 5"
    canvas.text(24, 56, words, size=14, fill=GREY)
    canvas.text(722, 64, "extent", size=13, fill=GREY, italic=True)
    canvas.line((place(5), 80), (place(5), 270), RED, dashed=True)
    for number, wid in enumerate(range(1, 6)):
        start, end, y = sliding.start(wid), sliding.end(wid), 94 + 36 * number
        canvas.text(84, y + 5, f"w = {wid}", size=14, anchor="end")
        window(canvas, place(start), place(end), y)
        held = [row for row in ROWS if start <= row < end]
        for row in held:
            canvas.dot(place(row), y, RED if row == 5 else INK, 4)
        canvas.text(722, y + 5, f"{{{', '.join(map(str, held))}}}", size=13, mono=True)
    for row in ROWS:
        canvas.dot(place(row), 270, RED if row == 5 else INK, 5.5)
    canvas.axis(place, range(-1, 13), 286, "on")
    return canvas


def kinds() -> Canvas:
    place = scale(250, 42)
    canvas = Canvas(
        "Four kinds of window",
        "Tumbling, sliding, sampling and landmark windows over the same line of numbers.",
        860,
        520,
    )
    for value in range(0, 13, 2):
        canvas.line((place(value), 24), (place(value), 472), "#eceff1", 1)
    landmark = Landmark(4, "n", 0).edges(Axis(Domain.INTEGER))
    parts: list[tuple[str, str, list[tuple[int, int]], tuple[str, str]]] = [
        ("tumbling", "tumbling(4)", _inside(edges(4, 4)), BLUE),
        ("sliding", "window(4, slide=2)", _inside(edges(4, 2)), BLUE),
        ("slide not dividing range", "window(5, slide=2)", _inside(edges(5, 2)), BLUE),
        ("sampling: slide > range", "window(1, slide=4)", _inside(edges(1, 4)), GREEN),
        ("landmark", "landmark(slide=4, origin=0)", _inside(landmark), ORANGE),
    ]
    y = 40.0
    for name, call, found, colours in parts:
        canvas.text(24, y + 10, name, size=14, bold=True)
        canvas.text(24, y + 29, call, fill=GREY, mono=True)
        lanes: list[int] = []
        for start, end in found:
            lane = next((n for n, last in enumerate(lanes) if last < start), len(lanes))
            lanes[lane : lane + 1] = [end]
            window(canvas, place(start), place(end), y + 24 * lane, colours)
        y += max(24 * len(lanes), 36) + 24
    canvas.axis(place, range(0, 13, 2), y, "on")
    canvas.height = y + 40
    return canvas


def _inside(found: Edges, low: int = 0, high: int = 12) -> list[tuple[int, int]]:
    bounds = [(found.start(w), found.end(w)) for w in range(12)]
    return [(start, end) for start, end in bounds if low <= start and end <= high]


def origin() -> Canvas:
    place = scale(376, 44)
    canvas = Canvas(
        "Windows with and without an origin",
        "Without an origin windows run over all integers; with an origin they start there, "
        "clipped, and rows before it are refused.",
        860,
        376,
    )
    free, clipped = edges(5, 2), edges(5, 2, 0)
    parts = [
        (44, "no origin", ("every integer is a", "window's id"), range(-1, 3), free),
        (200, "origin=0", ("starts are clipped,", "ids begin at 0"), range(3), clipped),
    ]
    for y, name, words, wids, found in parts:
        canvas.text(24, y, name, size=14, bold=True, mono=True)
        for number, line in enumerate(words):
            canvas.text(24, y + 20 + 16 * number, line, fill=GREY)
        for number, wid in enumerate(wids):
            start, end, at = found.start(wid), found.end(wid), y - 4 + 26 * (number + (y == 200))
            if free.start(wid) < start:
                canvas.line((place(free.start(wid)), at), (place(start), at), PALE, dashed=True)
            colours = REDDISH if free.start(wid) < start else BLUE
            window(canvas, place(start), place(end), at, colours)
            canvas.text(place(end) + 14, at + 5, f"w = {minus(wid)}", fill=GREY)
    canvas.line((place(0), 20), (place(0), 316), GREY, 1, dashed=True)
    canvas.axis(place, range(-5, 9), 310, "on")
    for row, held in ((-3, False), (-1, False), (1, True), (3, True), (6, True)):
        colour = INK if held else "#c62828"
        canvas.dot(place(row), 310, colour, 5)
    canvas.dot(32, 356, "#c62828", 5)
    canvas.text(46, 361, "with an origin, rows before it are refused", size=13, fill=GREY)
    return canvas


def panes() -> Canvas:
    place, found = scale(120, 40), edges(7, 3)
    ends = {found.end(w) for w in range(-4, 9)}
    cuts = sorted({found.start(w) for w in range(-1, 9)} | ends)
    line = [value for value in cuts if 0 <= value <= 16]
    canvas = Canvas(
        "Panes at window edges",
        "RANGE 7 SLIDE 3: window ends and starts cut the line into two panes a slide; every "
        "window is five whole panes.",
        860,
        380,
    )
    canvas.head("RANGE 7 SLIDE 3", mono=False)
    words = "a pane ends where a window ends or starts: two panes a slide, five a window"
    canvas.text(24, 56, words, size=14, fill=GREY)
    stretches = list(itertools.pairwise(line))

    def draw(pane: int, y: float) -> None:
        start, end = stretches[pane]
        colours = BLUE if start not in ends else ORANGE
        canvas.box(
            place(start) + 1, y - 11, place(end) - place(start) - 2, 22, colours, stroke=False
        )
        canvas.text((place(start) + place(end)) / 2, y + 5, str(pane), anchor="middle")

    for number, wid in enumerate(range(2, 5)):
        start, end, y = found.start(wid), found.end(wid), 96 + 36 * number
        canvas.text(96, y + 5, f"w = {wid}", size=14, anchor="end")
        for pane, (low, high) in enumerate(stretches):
            if start <= low and high <= end:
                draw(pane, y)
        canvas.text(place(end) + 12, y + 5, f"[{start}, {end})", size=13, fill=GREY)
    canvas.text(96, 227, "panes", size=14, anchor="end")
    for pane in range(len(stretches)):
        draw(pane, 222)
    canvas.axis(place, range(17), 262, "on")
    keys = [(ORANGE, "from a window's end to a window's start"), (BLUE, "from a start to an end")]
    for number, (colours, words) in enumerate(keys):
        canvas.box(24 + 330 * number, 304, 26, 16, colours, stroke=False)
        canvas.text(60 + 330 * number, 317, words, size=13)
    words = "A row is added to its pane once. A window adds up its panes, not its rows."
    canvas.text(24, 352, words, size=13, fill=GREY)
    return canvas


def by_tuple() -> Canvas:
    place, arrived = scale(282, 52), [2, 5, 3, 9, 7, 8]
    canvas = Canvas(
        "A window at every second row",
        "Six rows at 2, 3, 5, 7, 8 and 9, which arrive as 2, 5, 3, 9, 7, 8. Every second row by on "
        "is 3, 7 and 9; every second row by arrival is 5, 9 and 8.",
        860,
        448,
    )
    canvas.head("by_tuple(range=4, every=2): a window (v − 4, v] at every second row", mono=False)
    canvas.text(24, 81, "rows", size=14)
    canvas.text(24, 99, "n-th to arrive", fill=GREY)
    canvas.line((220, 76), (802, 76))
    for value in range(-1, 11):
        canvas.text(place(value), 60, minus(value), fill=GREY, anchor="middle")
    for number, row in enumerate(arrived):
        canvas.dot(place(row), 76, radius=5.5)
        canvas.text(place(row), 99, str(number + 1), fill=GREY, anchor="middle")
    ranked = {row: rank for rank, row in enumerate(sorted(arrived))}
    parts = [
        (
            136,
            "by on: where the rank + 1 is even",
            'order="on", the default',
            "rank",
            ranked,
            1,
            BLUE,
        ),
        (
            306,
            "by arrival: where the n-th to arrive is even",
            'order="arrival"',
            "n-th to arrive",
            {row: number + 1 for number, row in enumerate(arrived)},
            0,
            REDDISH,
        ),
    ]
    for y, name, call, label, numbers, odd, colours in parts:
        canvas.text(24, y, name, size=14, bold=True)
        canvas.text(24, y + 18, call, fill=GREY, mono=True)
        canvas.text(24, y + 49, label, size=13)
        canvas.line((220, y + 44), (802, y + 44), LIGHT)
        ends = [row for row, number in numbers.items() if number % 2 == odd]
        for row, number in numbers.items():
            canvas.dot(place(row), y + 44, colours[1] if row in ends else PALE, 9)
            canvas.text(place(row), y + 48, str(number), size=11, fill="#ffffff", anchor="middle")
        for number, end in enumerate(ends):
            at = y + 74 + 24 * number
            window(canvas, place(end - 4), place(end), at, colours, (False, True))
            for row in arrived:
                if end - 4 < row < end:
                    canvas.dot(place(row), at, radius=4)
            canvas.text(24, at + 5, f"({minus(end - 4)}, {end}]", fill=GREY, mono=True)
    return canvas


def partitioned() -> Canvas:
    place, colours = scale(210, 46, 1), {"A": BLUE[1], "B": RED}
    canvas = Canvas(
        "Partitioned and grouped row windows",
        "Ten rows of segments A and B. With by, each segment has windows of its own last four "
        "rows; with group, windows of the last four rows of all are grouped by segment.",
        860,
        550,
    )
    canvas.head("RANGE 4 rows SLIDE 2 rows over the same ten rows", mono=False)
    rows = list(enumerate(SEGMENTS, 1))
    for ts, _ in rows:
        canvas.text(place(ts), 66, str(ts), fill=GREY, anchor="middle")
    canvas.text(24, 66, "ts", size=13, fill=GREY)
    canvas.text(740, 66, "count(*)", size=13, fill=GREY)

    def ranks(label: str, chosen: Sequence[tuple[int, str]], y: float, names: bool = False) -> None:
        canvas.text(24, y + 5, label, size=13)
        canvas.line((186, y), (648, y), LIGHT)
        for rank, (ts, segment) in enumerate(chosen):
            canvas.dot(place(ts), y, colours[segment], 9)
            shown = segment if names else str(rank)
            canvas.text(place(ts), y + 4, shown, size=11, fill="#ffffff", anchor="middle")

    def held(chosen: Sequence[tuple[int, str]], y: float, fill: str) -> float:
        found = RowWindow(4, 2, "ts").edges
        for wid in range(len(chosen) // 2):
            start, end = max(0, found.start(wid)), found.end(wid)
            inside = chosen[start:end]
            left, right = place(inside[0][0]), place(inside[-1][0])
            canvas.box(left - 14, y - 9, right - left + 28, 18, (fill, fill), stroke=False)
            for ts, segment in inside:
                canvas.dot(place(ts), y, colours[segment], 4)
            canvas.text(24, y + 5, f"[{start}, {end})", fill=GREY, mono=True)
            counts = [(s, sum(one == s for _, one in inside)) for s in "AB"]
            for number, (segment, n) in enumerate([pair for pair in counts if pair[1]]):
                at = 740 + 44 * number
                canvas.text(at, y + 5, f"{segment} {n}", size=13, fill=colours[segment], mono=True)
            y += 24
        return y

    ranks("rows", rows, 88, names=True)
    canvas.text(24, 132, "partitioned", size=14, bold=True)
    words = 'by="segment": rows are split first; ranks count within a segment'
    canvas.text(130, 132, words, size=14, fill=GREY)
    y = 162.0
    for segment, fill in (("A", BLUE[0]), ("B", REDDISH[0])):
        own = [row for row in rows if row[1] == segment]
        ranks(f"ranks of {segment}", own, y)
        y = held(own, y + 28, fill) + 10
    canvas.text(24, y + 26, "grouped", size=14, bold=True)
    words = 'group="segment": windows come first; ranks count all rows'
    canvas.text(130, y + 26, words, size=14, fill=GREY)
    ranks("ranks of all", rows, y + 56)
    canvas.height = held(rows, y + 84, PLAIN[0]) + 10
    return canvas


def lateness() -> Canvas:
    place, found = scale(190, 54), edges(4, 2)
    canvas = Canvas(
        "Punctuation and lateness",
        "Windows of RANGE 4 SLIDE 2 with a slack of 1 over two micro-batches.",
        860,
        446,
    )
    canvas.head("RANGE 4 SLIDE 2, slack 1", mono=False)
    words = "a window closes when its end is not beyond the punctuation"
    canvas.text(24, 56, words, size=14, fill=GREY)
    batches = [[1, 3, 5], [1, 3, 8]]
    punctuations = [max(batches[0]) - 1, max(batches[0] + batches[1]) - 1]
    for number, wid in enumerate(range(1, 5)):
        start, end, y = found.start(wid), found.end(wid), 88 + 25 * number
        closed = next((n for n, upto in enumerate(punctuations) if end <= upto), None)
        window(canvas, place(start), place(end), y, (PLAIN[0], GREY) if closed == 0 else BLUE)
        canvas.text(place(start) - 14, y + 5, f"w = {wid}", fill=GREY, anchor="end")
        if closed is not None:
            canvas.text(place(end) + 14, y + 5, f"closed by batch {closed + 1}", fill=GREY)
    late = {1: "#c62828", 3: RED}
    for number, (rows, upto) in enumerate(zip(batches, punctuations, strict=True)):
        y = 222 + 84 * number
        canvas.text(24, y + 5, f"micro-batch {number + 1}", size=14, bold=True)
        canvas.line((180, y), (744, y), LIGHT)
        canvas.line((place(upto), y - 22), (place(upto), y + 30), "#c62828", 2)
        words = f"punctuation {upto}"
        canvas.text(place(upto) - 8, y + 27, words, fill="#c62828", anchor="end")
        canvas.line((place(upto + 1) - 3, y + 20), (place(upto) + 5, y + 20), tip=True)
        canvas.text(place(upto + 1) + 4, y + 25, "slack", fill=GREY)
        for row in rows:
            colour = late.get(row, INK) if number else INK
            canvas.dot(place(row), y, colour, 6.5)
            canvas.text(place(row), y - 12, str(row), fill=colour, anchor="middle")
    words = [
        "1: all its windows are closed. Refused: late, by 4 − 1 = 3.",
        "3: window 1 is closed, window 2 is open. generous counts it in window 2, consistent "
        "refuses it.",
    ]
    for number, (colour, line) in enumerate(zip(late.values(), words, strict=True)):
        canvas.dot(44, 384 + 28 * number, colour, 6.5)
        canvas.text(60, 389 + 28 * number, line, size=13)
    return canvas


def punctuators() -> Canvas:
    place, colours = scale(230, 42), {"a": BLUE[1], "b": RED}
    batches = [[("a", 4), ("b", 2)], [("a", 9), ("b", 3)], [("a", 12), ("a", 11)]]
    canvas = Canvas(
        "What four rules make of the same six rows",
        "Rows of sensors a and b in three micro-batches, and the punctuation that slack, slack by "
        "rows, per key and each make after each of them.",
        860,
        452,
    )
    canvas.head("Six rows of two sensors", mono=False)
    canvas.text(24, 56, "b is slower than a, and quiet in micro-batch 3", size=14, fill=GREY)
    for number, rows in enumerate(batches):
        y = 92 + 34 * number
        canvas.text(24, y + 5, f"micro-batch {number + 1}", size=13)
        canvas.line((220, y), (796, y), LIGHT)
        for sensor, value in rows:
            canvas.dot(place(value), y, colours[sensor], 9)
            canvas.text(place(value), y + 4, sensor, fill="#ffffff", anchor="middle")
    for value in range(14):
        canvas.text(place(value), 188, str(value), size=11, fill=GREY, anchor="middle")
    canvas.text(24, 216, "complete after micro-batch 1, 2 and 3:", size=14, fill=GREY)
    seen = [[row for rows in batches[: n + 1] for row in rows] for n in range(3)]
    largest = [[v for _, v in rows] for rows in seen]
    own = {s: [max(v for k, v in rows if k == s) for rows in seen] for s in "ab"}
    third = [sorted(values)[-3] if len(values) > 2 else None for values in largest]
    least = [min(own["a"][n], own["b"][n]) for n in range(3)]
    strong = "#c62828"
    rules: list[tuple[float, str, str, list[int | None], str]] = [
        (256, "slack(3)", "largest minus 3", [max(values) - 3 for values in largest], strong),
        (302, "slack(rows=2)", "third largest", third, strong),
        (348, "per_key()", "a: its own largest", [*own["a"]], BLUE[1]),
        (380, "", "b: waits at 3", [*own["b"]], RED),
        (426, 'each("sensor")', "the least of them", [*least], strong),
    ]
    for y, name, words, reached, colour in rules:
        if name:
            canvas.text(24, y - 2, name, size=13, bold=True)
        canvas.text(24, y + (14 if name else 5), words, fill=GREY)
        canvas.line((220, y), (796, y), LIGHT)
        for value in sorted({value for value in reached if value is not None}):
            after = ", ".join(str(n + 1) for n, one in enumerate(reached) if one == value)
            canvas.line((place(value), y - 9), (place(value), y + 9), colour, 2.5)
            canvas.text(place(value), y - 13, after, fill=colour, anchor="middle")
    return canvas


def calendar() -> Canvas:
    axis = Axis(Domain.TIMESTAMP, zone="Europe/Berlin")
    first = datetime(2026, 3, 28)
    canvas = Canvas(
        "Calendar days, weeks and months",
        "Days, weeks and months in Berlin, where clocks go forward on 29 March 2026.",
        860,
        250,
    )
    hour = 5.2

    def place(tick: int) -> float:
        hours = (tick - axis.point("first", first)) / 3_600_000_000
        return 200 + hours * hour

    left, right = place(axis.point("first", first)) - 30, 830.0
    for number, unit in enumerate(("day", "week", "month")):
        y = 60.0 + 56 * number
        canvas.text(24, y + 5, f"1 calendar {unit}", size=13, bold=True)
        found = Window.tumbling(f"1 calendar {unit}", "ts").edges(axis)
        wid = found.last_closed(axis.point("first", first))
        while place(found.start(wid)) < right:
            start, end = found.start(wid), found.end(wid)
            low, high = max(place(start), left), min(place(end), right)
            if high > low:
                window(canvas, low, high, y, BLUE if unit != "month" else ORANGE)
                if unit == "day" and high < right and low > left:
                    hours = (end - start) // 3_600_000_000
                    words = f"{axis.value(start + 14_400_000_000):%d %b}: {hours} h"
                    canvas.text((low + high) / 2, y + 26, words, fill=GREY, anchor="middle")
            wid += 1
    change = place(axis.point("change", datetime(2026, 3, 29, 3)))
    canvas.line((change, 30), (change, 200), RED, dashed=True)
    canvas.text(change, 220, "clocks go from 02:00 to 03:00", fill=RED, anchor="middle")
    return canvas


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    drawn: dict[str, Callable[[], Canvas]] = {
        "windows": windows,
        "kinds": kinds,
        "origin": origin,
        "panes": panes,
        "by-tuple": by_tuple,
        "rows-partitioned-grouped": partitioned,
        "lateness": lateness,
        "punctuators": punctuators,
        "calendar": calendar,
    }
    return {name: draw().svg() for name, draw in drawn.items()}


if __name__ == "__main__":
    write(pictures())
