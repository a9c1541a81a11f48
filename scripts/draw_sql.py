"""Draws the pictures of the pages about SQL, docs/img/sql-*.svg: ``python scripts/draw_sql.py``.

Windows are computed from their specifications, so that a picture shows what a query answers. The
rows are those of the pages and of tests/session/tables.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from muntin.planner.explain import Graph, Node, drawn
from muntin.specs.axis import Axis, Domain
from muntin.specs.row_windows import RowWindow
from muntin.specs.windows import Window

#: k, x, v
ROWS = [("a", 0, 5), ("b", 1, 7), ("a", 2, 6), ("a", 5, 1), ("b", 6, 2), ("a", 8, 9), ("b", 9, 4)]
#: key, y, w
PAIRS = [("a", 1, 10), ("b", 4, 20), ("a", 6, 30)]
#: Rows of docs/sql/slide-on.md: x, and at
MOVED = [("a", x, at) for x, at in [(0, 0), (1, 2), (2, 3), (5, 5), (6, 8), (8, 9), (9, 13)]]
KEYS = {"a": "#263238", "b": "#d84315"}
LOW, HIGH, LEFT, STEP, LANE = -4, 13, 150, 34, 24
COLOURS = [("#bbdefb", "#1565c0"), ("#b2dfdb", "#00796b")]
MONO = 'font-family="Menlo, Consolas, DejaVu Sans Mono, monospace"'


@dataclass(frozen=True)
class Bar:
    """A window: a label, its bounds, and whether they are inside."""

    label: str
    start: float
    end: float
    start_inside: bool = True
    end_inside: bool = False
    colour: int = 0


@dataclass(frozen=True)
class Part:
    """A clause and its windows, below the rows that they are over."""

    clause: str
    bars: Sequence[Bar]
    rows: Sequence[tuple[str, int, int]] = tuple(ROWS)
    name: str = "line"


def x_of(value: float) -> float:
    return LEFT + (value - LOW) * STEP


def rows_of(part: Part, y: float) -> Iterator[str]:
    """Dots with their values, coloured by key."""
    yield f'<text x="24" y="{y + 4}" fill="#607d8b">{escape(part.name)}</text>'
    for key, x, v in part.rows:
        yield f'<circle cx="{x_of(x)}" cy="{y}" r="5" fill="{KEYS[key]}"/>'
        label = f'<text x="{x_of(x)}" y="{y - 9}" font-size="11" text-anchor="middle"'
        yield f'{label} fill="{KEYS[key]}">{key} {v}</text>'


def bar_of(bar: Bar, y: float) -> Iterator[str]:
    fill, stroke = COLOURS[bar.colour]
    start, end = x_of(max(bar.start, LOW)), x_of(min(bar.end, HIGH))
    width = max(end - start, 2)
    label = f'<text x="{LEFT - 42}" y="{y + 4}" text-anchor="end" font-size="12">'
    yield f"{label}{escape(bar.label)}</text>"
    yield f'<rect x="{start}" y="{y - 7}" width="{width}" height="14" rx="2" fill="{fill}"/>'
    for at, inside in ((start, bar.start_inside), (end, bar.end_inside)):
        inner = stroke if inside else "#ffffff"
        dot = f'<circle cx="{at}" cy="{y}" r="4.5" fill="{inner}"'
        yield f'{dot} stroke="{stroke}" stroke-width="1.6"/>'


def axis_of(y: float) -> Iterator[str]:
    line = f'<line x1="{x_of(LOW)}" y1="{y}" x2="{x_of(HIGH)}" y2="{y}" stroke="#90a4ae"/>'
    yield line
    for value in range(LOW, HIGH + 1, 2):
        yield (
            f'<text x="{x_of(value)}" y="{y + 16}" font-size="11" fill="#607d8b" '
            f'text-anchor="middle">{value}</text>'
        )


def picture(title: str, says: str, parts: Sequence[Part]) -> str:
    """Parts below each other, and one line of numbers under all."""
    body: list[str] = []
    y = 30.0
    for part in parts:
        head = f'<text x="24" y="{y}" font-size="13" font-weight="bold" {MONO}>'
        body.append(f"{head}{escape(part.clause)}</text>")
        y += 34
        body += rows_of(part, y)
        for bar in part.bars:
            y += LANE
            body += bar_of(bar, y)
        y += 40
    body += axis_of(y - 18)
    width, height = x_of(HIGH) + 30, y + 16
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="t d" '
            'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#263238">',
            f'<title id="t">{escape(title)}</title>',
            f'<desc id="d">{escape(says)}</desc>',
            f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def sliding(range_: int, slide: int, origin: int | None = 0) -> list[Bar]:
    """The windows that hold a row."""
    edges = Window(range_, slide, "x", origin).edges(Axis(Domain.INTEGER))
    values = [x for _, x, _ in ROWS]
    wids = range(-3, 12)
    bounds = [(w, edges.start(w), edges.end(w)) for w in wids if not (edges.clipped and w < 0)]
    return [
        Bar(f"wid {w}", low, high)
        for w, low, high in bounds
        if any(low <= value < high for value in values)
    ]


def ranked(rows: Sequence[tuple[str, int, int]], label: str, colour: int = 0) -> list[Bar]:
    """RANGE 4 ROWS SLIDE 2 ROWS, from the first row of a window to its last."""
    edges = RowWindow(4, 2, "x").edges
    wids = itertools.takewhile(lambda w: edges.start(w) < len(rows), itertools.count())
    held = [(w, rows[edges.start(w) : edges.end(w)]) for w in wids]
    return [Bar(f"{label}{w}", r[0][1], r[-1][1], True, True, colour) for w, r in held]


def at_rows(range_: int, every: int) -> list[Bar]:
    ends = [x for rank, (_, x, _) in enumerate(ROWS) if (rank + 1) % every == 0]
    return [Bar(f"ends at {end}", end - range_, end, False, True) for end in ends]


def along_another(range_: int, slide: int) -> list[Bar]:
    """Windows that end with the last row before another column passes a multiple of the slide."""
    steps = itertools.groupby(MOVED, key=lambda row: row[2] // slide)
    ends = [[x for _, x, _ in rows][-1] for _, rows in steps]
    return [Bar(f"ends at {end}", end - range_, end, False, True) for end in ends]


def runs(holds: Sequence[bool], label: str = "frame ") -> list[Bar]:
    """Maximal runs of rows for which a condition holds."""
    groups = itertools.groupby(zip(holds, ROWS, strict=True), key=lambda pair: pair[0])
    found = [[row for _, row in rows] for held, rows in groups if held]
    return [Bar(f"{label}{n}", r[0][1], r[-1][1], True, True, 1) for n, r in enumerate(found)]


def sums(limit: int) -> list[Bar]:
    """Frames that end with the row that brings their sum to a limit."""
    found: list[Bar] = []
    rows: list[int] = []
    total = 0
    for _, x, v in ROWS:
        rows.append(x)
        total += v
        if total >= limit:
            found.append(Bar(f"frame {len(found)}", rows[0], rows[-1], True, True, 1))
            rows, total = [], 0
    return found


def sessions(key: str, gap: int, colour: int) -> list[Bar]:
    values = [x for k, x, _ in ROWS if k == key]
    found: list[list[int]] = []
    for value in values:
        if found and value <= found[-1][-1] + gap:
            found[-1].append(value)
        else:
            found.append([value])
    return [Bar(f"session of {key}", s[0], s[-1] + gap, True, False, colour) for s in found]


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    of_a = [row for row in ROWS if row[0] == "a"]
    of_b = [row for row in ROWS if row[0] == "b"]
    high = runs([v > 4 for _, _, v in ROWS])
    wider = [Bar(b.label, b.start - 2, b.end, True, True, 1) for b in high]
    events = [("b", -2, 1), ("b", 1, 2), ("b", 4, 3), ("b", 6, 4), ("b", 7, 5), ("b", 10, 6)]
    return {
        "sql-windows": picture(
            "Sliding windows",
            "RANGE 4 SLIDE 2 from the origin 0: six windows over seven rows.",
            [Part("FROM line [RANGE 4 SLIDE 2 WATTR x ORIGIN 0]", sliding(4, 2))],
        ),
        "sql-rows": picture(
            "PATTR and GROUP BY",
            "Windows of four rows over all rows, and over the rows of each key.",
            [
                Part("[RANGE 4 ROWS SLIDE 2 ROWS WATTR rank(x)] GROUP BY k", ranked(ROWS, "wid ")),
                Part(
                    "[RANGE 4 ROWS SLIDE 2 ROWS WATTR rank(x) PATTR k]",
                    [*ranked(of_a, "a: wid "), *ranked(of_b, "b: wid ", 1)],
                ),
            ],
        ),
        "sql-by-tuple": picture(
            "A window at every second row",
            "RANGE 3 along x, ending at every second row by x.",
            [Part("[RANGE 3 RATTR x SLIDE 2 ROWS SATTR rank(x)]", at_rows(3, 2))],
        ),
        "sql-slide-on": picture(
            "Windows that slide along another column",
            "Windows of 6 along x that end with the last row before at passes a multiple of 4.",
            [Part("[RANGE 6 RATTR x SLIDE 4 SATTR at]", along_another(6, 4), MOVED)],
        ),
        "sql-landmarks": picture(
            "Landmarks",
            "Windows since a landmark, and since a row that is one.",
            [
                Part("[LANDMARK 0 SLIDE 5 WATTR x]", [Bar("wid 0", 0, 5), Bar("wid 1", 0, 10)]),
                Part("[LANDMARK WHERE v = 1 WATTR x]", [Bar("since v = 1", 5, HIGH)]),
            ],
        ),
        "sql-sessions": picture(
            "Sessions",
            "Sessions of each key: rows that follow each other within 3.",
            [
                Part(
                    "[SESSION GAP 3 WATTR x] GROUP BY k",
                    [*sessions("a", 3, 0), *sessions("b", 3, 1)],
                )
            ],
        ),
        "sql-tumbling": picture(
            "Tumbling windows",
            "Tumbling windows of length 5.",
            [Part("FROM line [TUMBLING 5 WATTR x]", sliding(5, 5))],
        ),
        "sql-latch": picture(
            "A latch",
            "Windows over all rows so far, reported every 5.",
            [
                Part(
                    "FROM line [LATCH 5 WATTR x]",
                    [Bar(f"up to {bar.end}", LOW, bar.end) for bar in sliding(5, 5)],
                )
            ],
        ),
        "sql-frames": picture(
            "Frames",
            "Where a condition holds, where a sum is reached, and where a value changes.",
            [
                Part("[FRAME THRESHOLD v > 4 WATTR x]", high),
                Part("[FRAME AGGREGATE sum(v) >= 10 WATTR x]", sums(10)),
                Part("[FRAME BOUNDARY k WATTR x]", _changes()),
            ],
        ),
        "sql-fill": picture(
            "Filled frames",
            "Frames of one series, from 2 before they begin, and the events that lie in them.",
            [
                Part("FROM line [FRAME THRESHOLD v > 4 WATTR x]", high),
                Part("     FILL events BEFORE 2", wider, events, "events"),
            ],
        ),
        "sql-joins": picture(
            "A join",
            "Rows of line, and which of them each row of pairs meets: those within 1 of it.",
            [
                Part("FROM join(line, pairs, ...)", []),
                Part("     within => 1", _near(1), PAIRS, "pairs"),
            ],
        ),
        "sql-zipper": picture(
            "A zipper",
            "Rows of line and rows of pairs meet in intervals of 5.",
            [
                Part("FROM zipper(line, pairs, ...)", []),
                Part("     every => 5", _intervals(5), PAIRS, "pairs"),
            ],
        ),
        "sql-asof": picture(
            "As of",
            "A row of pairs meets the rows of line up to the next row of its key.",
            [
                Part("FROM asof(line, pairs)", []),
                Part("", _until_next(), PAIRS, "pairs"),
            ],
        ),
        "sql-psoup": picture(
            "Windows by their ends",
            "A window that ends at every row, a snapshot, and windows since a constant.",
            [
                Part("BEGIN (NOW - 3) END (NOW)", _now(3)),
                Part("BEGIN 2 END 8", [Bar("snapshot", 2, 8, True, True)]),
                Part("BEGIN 0 END NOW EVERY 5", [Bar("NOW = 4", 0, 5), Bar("NOW = 9", 0, 10)]),
            ],
        ),
        "sql-select": drawn(_select()) + "\n",
        "sql-statements": drawn(_statements()) + "\n",
    }


def _near(within: int) -> list[Bar]:
    """What lies within a length of each row of pairs."""
    return [
        Bar(f"{key} {w} meets", y - within, y + within, True, True, int(key == "b"))
        for key, y, w in PAIRS
    ]


def _intervals(every: int) -> list[Bar]:
    return [Bar(f"interval {n}", bar.start, bar.end) for n, bar in enumerate(sliding(every, every))]


def _until_next() -> list[Bar]:
    """From a row of pairs to the next one of its key."""
    found: list[Bar] = []
    for place, (key, y, w) in enumerate(PAIRS):
        later = [other for k, other, _ in PAIRS[place + 1 :] if k == key]
        found.append(Bar(f"{key} {w} meets", y, min([*later, HIGH]), colour=int(key == "b")))
    return found


def _changes() -> list[Bar]:
    groups = [list(rows) for _, rows in itertools.groupby(ROWS, key=lambda row: row[0])]
    return [Bar(f"frame {n}", g[0][1], g[-1][1], True, True, 1) for n, g in enumerate(groups)]


def _now(back: int) -> list[Bar]:
    return [Bar(f"NOW = {x}", x - back, x, True, True) for _, x, _ in ROWS]


def _select() -> Graph:
    graph = Graph()
    rows = graph.add(
        Node("Spark, before", ("FROM line JOIN names ON ...", "WHERE v > 1", "GROUP BY v % 2"))
    )
    ours = graph.add(Node("Muntin", ("[RANGE 4 SLIDE 2 WATTR x]", "sum(v), count(*)")), rows)
    graph.add(
        Node(
            "Spark, after",
            ("SELECT list, HAVING", "ORDER BY, LIMIT n PER WINDOW", "joins, UNION ALL"),
        ),
        ours,
    )
    return graph


def _statements() -> Graph:
    graph = Graph()
    stream = graph.add(Node("CREATE STREAM traffic", ("FROM csv(...) ON ts BY segment",)))
    table = graph.add(Node("CREATE TABLE names", ("FROM json(...)",)))
    query = graph.add(
        Node("CREATE QUERY slow", ("AS SELECT ... FROM traffic [...]",)), stream, table
    )
    graph.add(Node("INTO parquet(...)", ("every result row",)), query)
    graph.add(Node("CREATE TRIGGER page", ("ON slow DO webhook(...)",)), query)
    return graph


def main() -> None:
    folder = Path(__file__).parents[1] / "docs" / "img"
    for name, text in pictures().items():
        (folder / f"{name}.svg").write_text(text)
        print(folder / f"{name}.svg")


if __name__ == "__main__":
    main()
