"""Draws the pictures of the pages about filling, joining and resampling.

``python scripts/draw_joins.py``. What meets what is computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from draw_frames import FAINT, VALUES, frames, height, series, shade, spans, x_of
from drawing import BLUE, GREY, INK, PALE, PLAIN, RED, TEAL, TURNS, Canvas, scale, write

import muntin as mt

LIGHT = "#cfd8dc"
HIGH = spans(frames(mt.threshold("x > 5"), lambda row: row["x"] > 5))
#: Places of rows in pictures of joins, 80 for each minute.
LEFT, RIGHT = [80, 250, 430, 640], [140, 300, 350, 560]


def filling() -> Canvas:
    events = [(1, "a"), (2, "b"), (4, "a"), (5, "b"), (8, "a"), (10, "b"), (10, "a"), (13, "b")]
    canvas = Canvas(
        "Filling",
        "Frames found in one series, from 2 to 4 and from 9 to 11; the events of another table at "
        "2, 4, 10 and 10 lie in them.",
        780,
        280,
    )
    canvas.head('high.fill(events, on="at")')
    shade(canvas, HIGH, x_of, 60, 240)
    series(canvas)
    canvas.line((50, height(5)), (702, height(5)), RED, 1.4, dashed=True)
    canvas.text(706, height(5) + 4, "5", fill=RED)
    canvas.text(24, 186, "x", size=13, fill=GREY)
    canvas.line((50, 184), (702, 184), LIGHT)
    canvas.text(724, 219, "events", size=13, fill=GREY)
    for place, (at, kind) in enumerate(events):
        same = [n for n, (other, _) in enumerate(events) if other == at]
        x = x_of(at) + (12 * same.index(place) - 6 if len(same) > 1 else 0)
        inside = [n for n, (start, end) in enumerate(HIGH) if start <= at <= end]
        colour = TURNS[inside[0] % 2][1] if inside else PALE
        canvas.line((x, 202), (x, 218), colour, 3)
        canvas.text(x, 232, kind, fill=colour, anchor="middle", bold=bool(inside))
    canvas.axis(x_of, range(len(VALUES)), 244, "n, at")
    return canvas


def filling_reach() -> Canvas:
    place, (start, end) = scale(190, 33), HIGH[1]
    canvas = Canvas(
        "How far a filling reaches",
        "The frame from 9 to 11 filled as it is, with two before and one after, without one at "
        "both ends, and five earlier.",
        780,
        232,
    )
    canvas.head(f"a frame from {start} to {end}")
    left = place(start) - 9
    canvas.box(left, 50, place(end) + 9 - left, 138, TEAL, stroke=False, opacity=0.75)
    ways = [
        ("as it is", start, end),
        ("before=2, after=1", start - 2, end + 1),
        ("shrink=1", start + 1, end - 1),
        ("shift=-5", start - 5, end - 5),
    ]
    for number, (label, low, high) in enumerate(ways):
        y = 70 + 34 * number
        canvas.text(24, y + 5, label, size=13, mono=True)
        canvas.box(place(low) - 11, y - 9, place(high) - place(low) + 22, 18, ("#ffffff", TEAL[1]))
        for at in range(16):
            held = low <= at <= high
            canvas.dot(place(at), y, TEAL[1] if held else FAINT, 4.5 if held else 2.5)
    canvas.line((place(start) - 16, 172), (place(end - 5) + 16, 172), RED, dashed=True, tip=True)
    canvas.axis(place, range(16), 196, "at")
    return canvas


def joining() -> Canvas:
    canvas = Canvas(
        "Three joins",
        "The same rows of two streams joined by distance, by interval and as of a time.",
        780,
        340,
    )
    near = [(a, b) for a in LEFT for b in RIGHT if abs(a - b) <= 80]
    same = [(a, b) for a in LEFT for b in RIGHT if (a - 60) // 160 == (b - 60) // 160]
    last = [(a, max(b for b in RIGHT if b <= a)) for a in LEFT if a >= RIGHT[0]]
    parts = [
        ('join(other, within="1 minute")', near),
        ('zipper(other, every="2 minutes")', same),
        ("asof(other)", last),
    ]
    for number, (call, pairs) in enumerate(parts):
        y = 54 + 106 * number
        canvas.text(24, y - 26, call, size=14, bold=True, mono=True)
        if number == 1:
            for x in range(60, 701, 160):
                canvas.line((x, y - 14), (x, y + 54), FAINT, 1.2, dashed=True)
        for a, b in pairs:
            canvas.line((a, y), (b, y + 40), BLUE[1], 1.6)
        for words, at in (("left", y), ("right", y + 40)):
            canvas.line((60, at), (740, at), LIGHT)
            canvas.text(24, at + 4, words, fill=GREY)
        for a in LEFT:
            met = any(a == left for left, _ in pairs)
            canvas.dot(a, y, INK if met else "#ffffff", 5, INK)
        for b in RIGHT:
            canvas.dot(b, y + 40, TEAL[1], 5, TEAL[1])
    words = "An empty circle is a row of the left side without a partner."
    canvas.text(24, 330, words, size=11, fill=GREY)
    return canvas


def resampling() -> Canvas:
    rows = [(90, 74), (210, 108), (330, 62), (640, 96)]
    instants = range(90, 640, 60)
    canvas = Canvas(
        "Resampling",
        "Rows at irregular times and the values made of them every minute, by lines and by the "
        "previous row; where rows are too far away there is a gap.",
        780,
        330,
    )

    def linear(x: float) -> float | None:
        for (a, low), (b, high) in itertools.pairwise(rows):
            if a <= x <= b and (b - a <= 180 or x == a):
                return low + (high - low) * (x - a) / (b - a)
        return None

    def previous(x: float) -> float | None:
        at, value = max(row for row in rows if row[0] <= x)
        return value if x - at <= 130 else None

    parts: list[tuple[float, str, Callable[[float], float | None], tuple[float, float], str]] = [
        (
            0,
            'resample("1 minute", max_gap="3 minutes")',
            linear,
            (330, 640),
            "gap: two rows too far apart",
        ),
        (
            150,
            'resample("1 minute", how="previous", max_gap="2 minutes")',
            previous,
            (460, 640),
            "gap: the row is too long ago",
        ),
    ]
    for top, call, value_at, (low, high), words in parts:
        canvas.text(24, 34 + top, call, size=14, bold=True, mono=True)
        canvas.line((60, 134 + top), (740, 134 + top), LIGHT)
        for x in instants:
            canvas.line((x, 131 + top), (x, 137 + top), PALE)
        canvas.box(low, 44 + top, high - low, 90, PLAIN, stroke=False, round_=0)
        canvas.text((low + high) / 2, 62 + top, words, fill=GREY, anchor="middle")
        if value_at is linear:
            for one, next_ in itertools.pairwise(rows[:3]):
                canvas.line(one, next_, BLUE[1], 1.6)
        else:
            for (a, value), b in zip(rows, (210, 330, 460), strict=False):
                canvas.line((a, value + top), (b, value + top), BLUE[1], 1.6)
        for x in instants:
            value = value_at(x)
            if value is not None:
                canvas.box(x - 4, value + top - 4, 8, 8, ("#ffffff", BLUE[1]), round_=0)
            else:
                canvas.text(x, 128 + top, "null", fill="#c62828", anchor="middle")
        for x, y in rows:
            canvas.dot(x, y + top, radius=5)
    canvas.dot(70, 312, radius=5)
    canvas.text(82, 316, "a row", fill=GREY)
    canvas.box(136, 308, 8, 8, ("#ffffff", BLUE[1]), round_=0)
    canvas.text(152, 316, "an instant", fill=GREY)
    return canvas


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    drawn = {
        "filling": filling,
        "filling-reach": filling_reach,
        "joining": joining,
        "resampling": resampling,
    }
    return {name: draw().svg() for name, draw in drawn.items()}


if __name__ == "__main__":
    write(pictures())
