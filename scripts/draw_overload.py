"""Draws the pictures of docs/concepts/overload.md: graphs of quality, and a load that is too much.

``python scripts/draw_overload.py``. Shares that are kept are those that the controller decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drawing import BLUE, GREEN, GREY, ORANGE, RED, Canvas, number, write

from muntin.engine.overload.batch_times import BatchTimes, TimedBatch, TimeLine
from muntin.engine.overload.controller import Control, ControlLimits, Measured, controlled
from muntin.specs.qos import Qos, QosGraph

QOS = Qos(
    delay=[("2 seconds", 1.0), ("10 seconds", 0.0)],
    share=[(1, 1.0), (0.3, 0.8), (0.1, 0.0)],
    value=("speed", [(0, 1.0), (40, 1.0), (60, 0.1)]),
)
#: A micro-batch a second; 10,000 rows take all of it.
LINE = TimeLine(fixed=0.2, per_row=0.8e-4)
LIMITS = ControlLimits(interval=1.0, good_delay=4.0, least_rate=0.05)
START, END, LAST = 15, 45, 60
CAPACITY = 10_000


def graph(canvas: Canvas, left: float, about: str, own: QosGraph, low: float, high: float) -> None:
    """Draw a graph in a field of 200 by 120."""
    top, width, height = 66, 200, 120
    canvas.line((left, top), (left, top + height))
    canvas.line((left, top + height), (left + width, top + height))
    canvas.text(left, top - 10, about, bold=True)
    canvas.text(left - 8, top + 5, "1", anchor="end", fill=GREY)
    canvas.text(left - 8, top + height + 4, "0", anchor="end", fill=GREY)
    ends = [(low, own.worth(low)), *own.points, (high, own.worth(high))]
    inside = [(at, worth) for at, worth in ends if low <= at <= high]
    points = [
        (left + (at - low) / (high - low) * width, top + (1 - worth) * height)
        for at, worth in inside
    ]
    curve(canvas, points, BLUE[1])
    for at, worth in own.points:
        x = left + (at - low) / (high - low) * width
        canvas.dot(x, top + (1 - worth) * height, BLUE[0], stroke=BLUE[1])
        canvas.text(x, top + height + 18, f"{at:g}", anchor="middle", fill=GREY)


def curve(canvas: Canvas, points: Sequence[tuple[float, float]], stroke: str) -> None:
    path = " L ".join(f"{number(x)} {number(y)}" for x, y in points)
    canvas.curve(f"M {path}", stroke, 2)


def graphs() -> Canvas:
    canvas = Canvas(
        "Graphs of quality",
        "Three graphs of what an answer is worth: all of it for a delay up to two seconds, and "
        "nothing at ten; by the share of its rows, nothing at a tenth; by the speed of rows.",
        860,
        222,
    )
    canvas.head("WITH QOS (DELAY ..., SHARE ..., VALUE speed ...)")
    graph(canvas, 50, "delay, seconds", QOS.delay, 0, 12)
    graph(canvas, 330, "share of the rows", QOS.share, 0, 1)
    assert QOS.value is not None
    graph(canvas, 610, "value of speed", QOS.value, 0, 70)
    return canvas


def played(sheds: bool) -> list[tuple[float, float, float, float]]:
    """Return for each micro-batch its time, the rows that came, the delay and the kept share."""
    control, times, seen = Control(), BatchTimes(), []
    now, before = 0.0, -1.0
    while now < LAST:
        rows = (
            sum(
                CAPACITY * (3 if START <= before + (now - before) * (p + 0.5) / 50 < END else 0.5)
                for p in range(50)
            )
            * (now - before)
            / 50
        )
        took = LINE.seconds(rows * control.rate)
        delay = now + took - before
        times.take(TimedBatch(len(seen), round(rows * control.rate), took))
        seen.append((now, rows / (now - before), delay, control.rate))
        measured = Measured(round(rows), took, now - before, delay=delay)
        control = controlled(control, LIMITS, measured, times.line) if sheds else control
        before, now = now, now + max(1.0, took)
    return seen


def step() -> Canvas:
    canvas = Canvas(
        "A load of three times the capacity",
        "For thirty seconds three times as many rows come as fit. Without shedding, the delay of "
        "answers grows. With it, a part of the rows is kept after two micro-batches, and the delay "
        "is in the good zone again; all rows are kept soon after the load is over.",
        860,
        420,
    )
    canvas.head("Three times too much, for 30 seconds", mono=False)
    with_shedding, without = played(sheds=True), played(sheds=False)
    left, width = 70, 760
    place: Callable[[float], float] = lambda second: left + second / LAST * width  # noqa: E731
    rows = [(place(t), 130 - rate / CAPACITY * 20) for t, rate, _, _ in with_shedding]
    field(canvas, 60, 130, "rows a second")
    canvas.line((left, 110), (left + width, 110), GREEN[1], 1.2, dashed=True)
    canvas.text(left + width, 105, "capacity", size=11, anchor="end", fill=GREEN[1])
    curve(canvas, rows, BLUE[1])
    field(canvas, 160, 270, "delay of answers: 4 s are good")
    canvas.line((left, 270 - 20), (left + width, 270 - 20), GREEN[1], 1.2, dashed=True)
    for seen, colour in ((without, RED), (with_shedding, BLUE[1])):
        curve(
            canvas,
            [(place(t), 270 - min(d, 22) * 5) for t, _, d, _ in seen],
            colour,
        )
    canvas.text(place(38), 180, "without shedding", size=11, fill=RED)
    field(canvas, 300, 380, "share of the rows that is kept")
    curve(canvas, [(place(t), 380 - share * 60) for t, _, _, share in with_shedding], ORANGE[1])
    for second in range(0, LAST + 1, 15):
        canvas.text(place(second), 400, f"{second} s", anchor="middle", fill=GREY)
    return canvas


def field(canvas: Canvas, top: float, bottom: float, about: str) -> None:
    canvas.line((70, top), (70, bottom))
    canvas.line((70, bottom), (830, bottom))
    canvas.text(78, top + 6, about, bold=True, size=11)


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    return {"overload-graphs": graphs().svg(), "overload-step": step().svg()}


if __name__ == "__main__":
    write(pictures())
