"""A drawing of a network: boxes in columns from the source to the sinks, and arrows with rows.

Places are computed from the boxes alone, so equal networks have equal drawings. Queries stand in
the order of their parts, so that arrows between parts and queries do not cross.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from muntin.engine.costs.network_boxes import NetworkArrow, NetworkBox

#: The column of each kind of box.
_COLUMNS = {"source": 0, "connection point": 1, "part": 1, "query": 2, "sink": 3, "tap": 3}
_FILLS = {
    "source": "#cfd8dc",
    "connection point": "#fff3e0",
    "part": "#e3f2fd",
    "query": "#e8f5e9",
    "sink": "#f3e5f5",
    "tap": "#fffde7",
}
#: A part with more queries than this is drawn with the first ones, and a box for the others.
MOST_QUERIES = 24
_CHARS, _LETTER, _LINE, _PAD = 34, 6.3, 15, 9
_WIDTH, _BETWEEN, _ABOVE = _CHARS * _LETTER + 2 * _PAD, 96, 12
#: What differs between two runs over the same rows, or is the same in every box.
_NOT_DRAWN = ("cpu_seconds", "rows")
#: The colour of frames and arrows, and that of letters.
_INK, _DARK = "#607d8b", "#263238"


@dataclass(frozen=True)
class _Placed:
    x: float
    y: float
    lines: tuple[str, ...]
    kind: str

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + _PAD

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def drawn(boxes: Sequence[NetworkBox], arrows: Sequence[NetworkArrow]) -> str:
    """Return a network as SVG text; grey and pale boxes suit light and dark pages."""
    boxes, arrows = _shortened(boxes, arrows)
    placed = _places(boxes, arrows)
    width = max((box.x for box in placed.values()), default=0) + _WIDTH + _PAD
    height = max((box.y + box.height for box in placed.values()), default=0) + _PAD
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="monospace" font-size="10.5">',
        '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{_INK}"/></marker></defs>',
        *(_arrow(placed[a.start], placed[a.end], a.rows) for a in arrows),
        *(_box(box) for box in placed.values()),
        "</svg>",
    ]
    return "\n".join(lines)


def _shortened(
    boxes: Sequence[NetworkBox], arrows: Sequence[NetworkArrow]
) -> tuple[Sequence[NetworkBox], Sequence[NetworkArrow]]:
    """Return a network in which each part has at most some queries, and a box for the others."""
    parts = {box.id: box for box in boxes if box.kind == "part"}
    left_out: dict[str, list[NetworkArrow]] = {}
    drawn_of: dict[str, int] = {}
    for arrow in arrows:
        if arrow.start in parts and arrow.end.startswith("query:"):
            drawn_of[arrow.start] = drawn_of.get(arrow.start, 0) + 1
            if drawn_of[arrow.start] > MOST_QUERIES:
                left_out.setdefault(arrow.start, []).append(arrow)
    if not left_out:
        return boxes, arrows
    gone = {arrow.end for some in left_out.values() for arrow in some}
    gone |= {arrow.end for arrow in arrows if arrow.start in gone}
    others = [
        NetworkBox(f"others:{part}", "query", f"{len(some):,} more queries")
        for part, some in left_out.items()
    ]
    added = [
        NetworkArrow(part, f"others:{part}", sum(arrow.rows or 0 for arrow in some))
        for part, some in left_out.items()
    ]
    kept = [arrow for arrow in arrows if not {arrow.start, arrow.end} & gone]
    return [*(box for box in boxes if box.id not in gone), *others], [*kept, *added]


def _places(boxes: Sequence[NetworkBox], arrows: Sequence[NetworkArrow]) -> Mapping[str, _Placed]:
    """Place queries one below the other, and every other box in the middle of its neighbours."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for arrow in arrows:
        before.setdefault(arrow.end, []).append(arrow.start)
        after.setdefault(arrow.start, []).append(arrow.end)
    order = {box.id: place for place, box in enumerate(boxes)}
    placed: dict[str, _Placed] = {}
    # Queries first; then the boxes around them, which stand beside what they are joined with.
    for column, joined in ((2, before), (3, before), (1, after), (0, after)):
        own = [box for box in boxes if _COLUMNS[box.kind] == column]
        aims = {box.id: _middle(placed, joined.get(box.id, ())) for box in own}
        if column == 2:
            own.sort(key=lambda box: (_first_part(box, before, order), order[box.id]))
        else:
            own.sort(key=lambda box: (aims[box.id] or 0, order[box.id]))
        floor = float(_PAD)
        for box in own:
            lines, aim = _lines(box), aims[box.id]
            height = len(lines) * _LINE + _PAD
            y = floor if aim is None else max(floor, aim - height / 2)
            placed[box.id] = _Placed(_PAD + column * (_WIDTH + _BETWEEN), y, lines, box.kind)
            floor = y + height + _ABOVE
    return {box.id: placed[box.id] for box in boxes}


def _first_part(
    box: NetworkBox, before: Mapping[str, Sequence[str]], order: Mapping[str, int]
) -> int:
    """Return the place of the first box that points to a query; queries of a part are together."""
    return min((order[id] for id in before.get(box.id, ())), default=len(order))


def _middle(placed: Mapping[str, _Placed], ids: Sequence[str]) -> float | None:
    """Return the middle of the boxes that are placed already; None if none is."""
    middles = [placed[id].middle for id in ids if id in placed]
    return (min(middles) + max(middles)) / 2 if middles else None


def _lines(box: NetworkBox) -> tuple[str, ...]:
    shown = [(name, value) for name, value in box.figures.items() if name not in _NOT_DRAWN]
    figures = [f"{name.replace('_', ' ')} {_written(value)}" for name, value in shown]
    lines = [box.title, *figures]
    return tuple(line if len(line) <= _CHARS else line[: _CHARS - 3] + "..." for line in lines)


def _written(value: int | float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _box(box: _Placed) -> str:
    texts = [
        f'<text x="{box.x + _PAD:.1f}" y="{box.y + _LINE * (place + 1) - 2:.1f}" fill="{_DARK}" '
        f'font-weight="{"normal" if place else "bold"}">{escape(line)}</text>'
        for place, line in enumerate(box.lines)
    ]
    frame = (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{_WIDTH:.1f}" height="{box.height:.1f}" '
        f'rx="5" fill="{_FILLS[box.kind]}" stroke="{_INK}"/>'
    )
    return "\n".join([frame, *texts])


def _arrow(start: _Placed, end: _Placed, rows: int | None) -> str:
    """Return a curve from the right side of one box to the left side of another."""
    x1, y1, x2, y2 = start.x + _WIDTH, start.middle, end.x, end.middle
    bend = min(40.0, max(12.0, (x2 - x1) / 2))
    curve = (
        f'<path d="M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} '
        f'{x2 - 2:.1f} {y2:.1f}" fill="none" stroke="{_INK}" marker-end="url(#to)"/>'
    )
    if rows is None:
        return curve
    label = (
        f'<text x="{x2 - 8:.1f}" y="{y2 - 4:.1f}" text-anchor="end" fill="{_INK}" '
        f'font-size="9.5">{rows:,}</text>'
    )
    return f"{curve}\n{label}"
