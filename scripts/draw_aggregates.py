"""Draws the pictures about how results are computed: ``python scripts/draw_aggregates.py``.

They are on the pages about panes, holistic aggregates, sketches, synopses, correlated aggregates
and the exchange.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from drawing import BLUE, GREEN, GREY, INK, ORANGE, PALE, PLAIN, RED, Canvas, scale, write

REDDISH, EMPTY = ("#ffccbc", RED), ("#ffffff", PALE)
STRONG = "#c62828"


def intro(title: str, says: str, words: str, height: float) -> Canvas:
    """Begin a picture with a headline and a line below it."""
    canvas = Canvas(title, says, 860, height)
    canvas.head(title, mono=False)
    canvas.text(24, 56, words, size=14, fill=GREY)
    return canvas


def counted_panes() -> Canvas:
    canvas = intro(
        "Counted panes",
        "Panes that keep distinct values with their counts, and a window that is updated by taking "
        "away the pane that leaves and adding the pane that enters.",
        "a pane keeps each distinct value once, with how often it occurs; windows of three panes",
        400,
    )
    panes = [Counter("aab"), Counter("bbb"), Counter("ac"), Counter("cccc")]
    canvas.text(146, 124, "panes", size=14, anchor="end")
    for number, (pane, colours) in enumerate(zip(panes, (REDDISH, BLUE, BLUE, GREEN), strict=True)):
        x = 170 + 150 * number
        canvas.box(x, 86, 130, 66, colours)
        for place, (value, n) in enumerate(pane.items()):
            y = 114 + 24 * place if len(pane) > 1 else 125
            canvas.text(x + 52, y, value, size=16, anchor="end")
            canvas.text(x + 66, y, f"{n} time{'s' * (n > 1)}", size=16, fill=GREY)
    canvas.text(235, 170, "leaves", fill=RED, anchor="middle")
    canvas.text(685, 170, "enters", fill=GREEN[1], anchor="middle")
    for number in range(2):
        x, y = 170 + 150 * number, 200 + 28 * number
        path = f"M {x} {y - 6} v 12 M {x} {y} h 430 M {x + 430} {y - 6} v 12"
        canvas.curve(path, INK, 2)
        canvas.text(146, y + 5, f"window {number + 1}", size=14, anchor="end")
    before, after = (sum((panes[n] for n in part), Counter()) for part in ((0, 1, 2), (1, 2, 3)))
    columns = [(300, "window 1", INK), (420, "leaves", RED), (540, "enters", GREEN[1])]
    for x, words, colour in [*columns, (660, "window 2", INK)]:
        canvas.text(x, 268, words, size=13, fill=colour, anchor="middle")
    for number, value in enumerate("abc"):
        y = 294 + 24 * number
        canvas.text(190, y, value, size=16, anchor="middle")
        counts = [
            (300, str(before[value]), INK, before[value] == max(before.values())),
            (420, f"- {panes[0][value]}" if panes[0][value] else "", RED, False),
            (540, f"+ {panes[3][value]}" if panes[3][value] else "", GREEN[1], False),
            (660, str(after[value]), INK, after[value] == max(after.values())),
        ]
        for x, words, colour, bold in counts:
            if words:
                canvas.text(x, y, words, size=16, fill=colour, anchor="middle", bold=bold)
    words = "The mode goes from b to c. Three counts changed; the panes in between were not read."
    canvas.text(24, 382, words, size=13, fill=GREY)
    return canvas


def two_stacks() -> Canvas:
    canvas = intro(
        "Two stacks",
        "The least value of a sliding stretch of panes from suffix minima of the older half and a "
        "running minimum of the newer half.",
        "the least value of four panes, a constant number of steps per pane whatever the overlap",
        340,
    )
    values, first, last, middle = [7, 3, 8, 5, 6, 2, 9, 4], 2, 5, 4
    place = scale(190, 78)

    def cell(number: int, y: float, value: int, colours: tuple[str, str], bold: bool) -> None:
        canvas.box(place(number), y, 66, 38, colours)
        x = place(number) + 33
        canvas.text(x, y + 25, str(value), size=16, anchor="middle", bold=bold)

    canvas.text(166, 111, "panes", size=14, anchor="end")
    for number, value in enumerate(values):
        inside = first <= number <= last
        cell(number, 86, value, BLUE if inside else PLAIN, inside)
    for y, words in ((168, "older: least from"), (184, "here to the middle")):
        canvas.text(166, y, words, anchor="end")
    for number in range(middle):
        marked = number == first
        cell(number, 152, min(values[number:middle]), REDDISH if marked else EMPTY, marked)
    canvas.line((488, 204), (200, 204), tip=True)
    canvas.text(340, 224, "computed once, from right to left", fill=GREY, anchor="middle")
    canvas.line((496, 76), (496, 236), INK, 1.6)
    canvas.text(496, 252, "middle", anchor="middle")
    newer = min(values[middle : last + 1])
    cell(last, 152, newer, REDDISH, True)
    for y, words in ((168, "newer: least from"), (184, "the middle to here")):
        canvas.text(658, y, words)
    canvas.line((506, 204), (644, 204), tip=True)
    canvas.text(572, 224, "updated with each pane", fill=GREY, anchor="middle")
    held = values[first : last + 1]
    older = min(values[first:middle])
    named = ", ".join(map(str, held[:-1]))
    words = f"The window of the panes {named} and {held[-1]} has the least value"
    canvas.text(24, 294, words, size=14)
    words = f"min({older}, {newer}) = {min(older, newer)}"
    canvas.text(452, 294, words, size=14, fill=RED, bold=True)
    words = "When the window has left the older half, the newer half becomes the older one."
    canvas.text(24, 320, words, size=13, fill=GREY)
    return canvas


def sketches() -> Canvas:
    canvas = intro(
        "Panes keep sketches, windows merge them",
        "Rows of five panes become one small sketch each; each of two overlapping windows of four "
        "panes is the union of its panes' sketches.",
        "a row is read once; a window is a union, whatever the overlap",
        372,
    )
    rows = [7, 3, 11, 4, 5]
    bars = ["241321", "102003", "324252", "021030", "410201"]
    place = scale(172, 124)
    for words, y in (("rows", 101), ("a sketch", 165), ("for each pane", 182), ("windows", 232)):
        canvas.text(150, y, words, size=14, anchor="end")
    for pane, (count, sketch) in enumerate(zip(rows, bars, strict=True)):
        x = place(pane)
        for row in range(count):
            canvas.dot(x + 10 + row % 7 * 13, 91 + 11 * (row // 7) + 5 * (row % 2), radius=4)
        canvas.line((x + 51, 120), (x + 51, 142), tip=True)
        canvas.box(x, 146, 102, 44, BLUE)
        for number, high in enumerate(map(int, sketch)):
            if high:
                y = 184 - 6 * high
                canvas.box(
                    x + 10 + 14 * number,
                    y,
                    10,
                    6 * high,
                    (BLUE[1], BLUE[1]),
                    stroke=False,
                    round_=0,
                )
    canvas.text(790, 165, "of one", fill=GREY)
    canvas.text(790, 181, "size", fill=GREY)
    texts = [
        "union of four: about 12,400 users, off by 2 % as a rule",
        "union of the next four: about 11,900",
    ]
    for number, words in enumerate(texts):
        x, y = place(number), 206 + 62 * number
        canvas.curve(f"M {x} {y} v 8 h 474 v -8", INK, 1.6)
        canvas.text(x + 237, y + 32, words, size=14, fill=RED, anchor="middle", bold=True)
    words = (
        "For a distinct count the union keeps the higher of each pair of bars: the same result "
        "for the same values, however they were split."
    )
    canvas.text(24, 348, words, size=13, fill=GREY)
    return canvas


def focused() -> Canvas:
    canvas = intro(
        "A focused histogram",
        "Buckets cover only the region between the minimum and one and a half times the minimum. "
        "A new minimum moves the region; one bucket is cut.",
        "count of x <= 1.5 * min(x): buckets only where the answer can be",
        430,
    )
    place, counts = scale(60, 8.5, 70), [3, 5, 4, 6, 2]
    cuts = [90 + 9 * n for n in range(6)]

    def line(y: float) -> None:
        canvas.line((60, y), (825, y), tip=True)
        for value in range(70, 151, 10):
            canvas.line((place(value), y), (place(value), y + 5))
            canvas.text(place(value), y + 19, str(value), fill=GREY, anchor="middle")

    def bucket(start: float, end: float, n: int, zero: float, colours: tuple[str, str]) -> None:
        canvas.box(
            place(start), zero - 11 * n, place(end) - place(start), 11 * n, colours, round_=0
        )
        middle = place((start + end) / 2)
        canvas.text(middle, zero - 11 * n - 5, str(n), anchor="middle")

    canvas.text(24, 92, "before: min = 90, so the region is 90 to 135", size=14)
    line(180)
    for start, end, n in zip(cuts, cuts[1:], counts, strict=False):
        bucket(start, end, n, 180, BLUE)
    canvas.text(723, 166, "not kept", fill=GREY, anchor="middle")
    canvas.text(24, 238, "x = 80 arrives: the region becomes 80 to 120", size=14)
    line(340)
    bucket(80, 90, 1, 340, REDDISH)
    for start, end, n in zip(cuts, cuts[1:], counts[:3], strict=False):
        bucket(start, end, n, 340, BLUE)
    canvas.box(place(117), 274, place(126) - place(117), 66, ("none", PALE), round_=0)
    canvas.box(place(117), 274, place(120) - place(117), 66, ("#fff3c4", "#f9a825"), round_=0)
    canvas.line((place(120), 252), (place(120), 346), RED, 2)
    canvas.text(place(120) + 8, 264, "1.5 * 80 = 120 cuts one bucket of 6", fill=RED)
    canvas.text(550, 300, "3 of its 9 units are inside: about 2 rows")
    canvas.text(550, 318, "certainly 0 to 6")
    words = "estimate 1 + 3 + 5 + 4 + 2 = 15, certainly between 13 and 19"
    canvas.text(24, 394, words, size=14, bold=True)
    words = (
        "The freed bucket goes to the part below 90, where the new row is; the whole ones keep "
        "their counts."
    )
    canvas.text(24, 416, words, size=13, fill=GREY)
    return canvas


def exponential_histogram() -> Canvas:
    canvas = intro(
        "An exponential histogram of twenty 1s, k/2 = 1",
        "Twenty 1s in buckets of sizes 8, 4, 4, 2, 1, 1; a window that cuts the oldest bucket; and "
        "the merge when another 1 arrives.",
        "a bucket keeps the tick of its newest 1 and its size; the inside of a bucket is forgotten",
        400,
    )
    place = scale(50, 36)

    def buckets(sizes: Sequence[tuple[int, tuple[str, str]]], y: float) -> None:
        first = 0
        for size, colours in sizes:
            left, right = place(first), place(first + size - 1)
            canvas.box(left - 13, y - 17, right - left + 26, 34, colours, round_=13)
            for tick in range(first, first + size - 1):
                canvas.dot(place(tick), y, "#ffffff", 4, colours[1])
            canvas.dot(right, y, colours[1], 6)
            x = (left + right) / 2
            canvas.text(x, y + 36, str(size), size=13, fill=colours[1], anchor="middle", bold=True)
            first += size

    for tick in range(20):
        canvas.text(place(tick), 94, str(tick), size=11, fill=PALE, anchor="middle")
    buckets([(8, ORANGE), *((size, BLUE) for size in (4, 4, 2, 1, 1))], 118)
    canvas.line((248, 76), (248, 196), STRONG, 2, dashed=True)
    canvas.line((248, 184), (752, 184), STRONG, 1.6)
    canvas.line((752, 178), (752, 190), STRONG, 1.6)
    canvas.text(500, 202, "the last 14 ticks", fill=STRONG, anchor="middle")
    words = (
        "TOTAL = 20, LAST = 8: of the orange bucket the newest 1 is inside for certain, the "
        "others may be."
    )
    canvas.text(24, 232, words, size=14)
    words = (
        "So the count lies between 13 and 20; the estimate is TOTAL - (LAST - 1)/2 = 16.5, and "
        "14 is true."
    )
    canvas.text(24, 254, words, size=14)
    canvas.text(24, 290, "another 1 arrives", size=14, bold=True)
    buckets([(8, ORANGE), (4, BLUE), (4, BLUE), (2, BLUE), (2, GREEN), (1, BLUE)], 318)
    words = (
        "three buckets of size 1 are one too many: the two oldest become one of size 2 and keep "
        "the newer tick (green)"
    )
    canvas.text(24, 382, words, size=14, fill=GREY)
    return canvas


def exchange() -> Canvas:
    canvas = Canvas(
        "The exchange",
        "Tasks combine rows to panes and send one message per shard; shards keep state and report "
        "results, refused rows and counts.",
        860,
        430,
    )
    canvas.head("The exchange", mono=False)
    for x, words in ((98, "rows"), (278, "route"), (560, "run"), (758, "out")):
        canvas.text(x, 66, words, size=13, fill=GREY, anchor="middle", bold=True)
    levels = [92, 170, 248]
    for number, y in enumerate(levels):
        canvas.box(24, y, 148, 52)
        canvas.text(98, y + 22, f"input split {number + 1}", size=13, anchor="middle")
        canvas.text(98, y + 40, "on, keys, slots", size=11, fill=GREY, anchor="middle")
        canvas.box(208, y, 140, 52, BLUE)
        canvas.text(278, y + 22, f"task {number + 1}", size=13, anchor="middle", bold=True)
        canvas.text(278, y + 40, "rows to panes", anchor="middle")
        canvas.line((172, y + 26), (203, y + 26), tip=True)
        for other in levels:
            canvas.line((348, y + 26), (485, other + 26), PALE, 1.1, tip=True)
        canvas.box(490, y, 140, 52, GREEN)
        canvas.text(545, y + 22, f"shard {number}", size=13, anchor="middle", bold=True)
        canvas.text(545, y + 40, "step", anchor="middle")
        canvas.store(592, y + 14)
        canvas.line((630, y + 26), (678, y + 26), tip=True)
    canvas.box(684, 92, 148, 208, EMPTY)
    outputs = [
        ("results", "closed windows"),
        ("refused", "rows and reasons"),
        ("counts", "in the progress"),
    ]
    for number, (name, words) in enumerate(outputs):
        y = 126 + 66 * number
        canvas.text(758, y, name, size=13, anchor="middle", bold=True)
        canvas.text(758, y + 18, words, fill=GREY, anchor="middle")
    canvas.box(208, 330, 140, 46, ORANGE)
    canvas.text(278, 350, "control", size=13, anchor="middle", bold=True)
    canvas.text(278, 367, "punctuate, end", anchor="middle")
    for path in ("430 353 440 320 487 296", "440 353 420 250 487 212", "430 353 400 190 487 136"):
        canvas.curve(f"M 348 353 C {path}", ORANGE[1], 1.3, dashed=True, tip=True)
    canvas.text(418, 82, "messages to every shard", fill=GREY, anchor="middle")
    canvas.text(490, 340, "state: Arrow tables in RocksDB; a step reads", fill=GREY)
    canvas.text(490, 357, "and writes the buckets that it touches", fill=GREY)
    words = (
        "Every task reports its progress to every shard, so windows of keys without rows close "
        "as well."
    )
    canvas.text(24, 408, words, size=13, fill=GREY)
    return canvas


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    drawn: dict[str, Callable[[], Canvas]] = {
        "counted-panes": counted_panes,
        "two-stacks": two_stacks,
        "sketches": sketches,
        "focused": focused,
        "exponential-histogram": exponential_histogram,
        "exchange": exchange,
    }
    return {name: draw().svg() for name, draw in drawn.items()}


if __name__ == "__main__":
    write(pictures())
