"""``EXPLAIN``: what a query does and keeps, as text or as a drawn graph.

The graph shows where rows come from, what is computed, and the results. It is SVG text: boxes in
layers from top to bottom, arrows between them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from sqlglot import exp

from muntin.parser.dialect import written
from muntin.parser.statements import Alignment, Format, JoinSide, Windowing
from muntin.planner.bounded import refused, state_profiles, storage_of
from muntin.planner.translate import Clause, TranslatedQuery
from muntin.spark.api.lookup import Probed
from muntin.spark.api.plan import Plan


def explained(answer: TranslatedQuery, format_: Format) -> str:
    """Return the plan of a query in words, or as SVG text."""
    if format_ == "svg":
        return drawn(graph_of(answer))
    return "\n".join(_lines(answer))


def _operator(plan: Plan | Probed) -> str:
    """Return the operator's class, and how it cuts rows if it takes them in order."""
    if isinstance(plan, Probed):
        return "a join of Spark's"
    operator = plan.parts.operator
    cut = getattr(operator, "cut", None)
    return f"{type(operator).__name__}{'' if cut is None else f' by {type(cut).__name__}'}"


def _lines(answer: TranslatedQuery) -> Iterator[str]:
    profiles = state_profiles(answer)
    for name, plan in answer.plans.items():
        yield f"relation    {name}{', a stream' if plan.is_streaming else ', a batch'}"
        yield f"operator    {_operator(plan)}"
        yield str(plan.explanation)
        if plan.is_streaming:
            yield str(storage_of(plan))
        yield f"verdict     {profiles[name].verdict}"
        yield ""
    if not answer.plans:
        yield str(storage_of(None))
    yield f"Spark       {written(answer.rest)}"
    if answer.finish is not None:
        yield "            ordered micro-batch by micro-batch"
    if "Spark" in profiles:
        yield f"verdict     {profiles['Spark'].verdict}"
    if refused(answer) is not None:
        yield "            refused, unless the query says WITH UNBOUNDED STATE"


_CHARS = 56
_LETTER, _LINE, _PAD, _GAP = 6.7, 16, 10, 34


@dataclass(frozen=True)
class Node:
    """A box: its title and more lines."""

    title: str
    lines: tuple[str, ...] = ()


@dataclass
class Graph:
    """Boxes, and arrows between their numbers."""

    nodes: list[Node] = field(default_factory=list)
    arrows: list[tuple[int, int]] = field(default_factory=list)

    def add(self, node: Node, *before: int) -> int:
        """Add a box after others, and return its number."""
        self.nodes.append(node)
        number = len(self.nodes) - 1
        self.arrows += [(earlier, number) for earlier in before]
        return number


def graph_of(answer: TranslatedQuery) -> Graph:
    """Return the graph of a query: relations, what fills them, windows, Spark's part, results."""
    graph = Graph()
    plans = answer.plans.items()
    inputs = [_clause(graph, answer.relations[name], plan) for name, plan in plans]
    inputs += [graph.add(Node(name)) for name in _plain_tables(answer)]
    last = graph.add(Node("Spark SQL", (written(answer.rest),)), *inputs)
    kind = "a stream" if answer.is_streaming else "a batch"
    graph.add(Node("results", (f"{kind}: {', '.join(answer.df.columns)}",)), last)
    return graph


def _clause(graph: Graph, clause: Clause, plan: Plan | Probed) -> int:
    """Add the boxes of a relation with windows, or of two that are joined."""
    kind = "stream" if plan.is_streaming else "batch"
    before = [graph.add(node) for node in _before(clause, kind)]
    lines = [line for line in str(plan.explanation).splitlines() if line]
    return graph.add(Node(clause.method, tuple(lines)), *before)


def _before(clause: Clause, kind: str) -> Iterator[Node]:
    if isinstance(clause, Alignment):
        for side in clause.sides:
            stored = clause.method == "lookup" and side is clause.other
            yield Node(_table(side), ("table" if stored else kind,))
        return
    yield Node(_table(clause), (kind,))
    yield from (Node(fill.table, ("fills",)) for fill in clause.fills)


def _table(relation: Windowing | JoinSide) -> str:
    return relation.table if isinstance(relation.table, str) else f"({relation.alias})"


def _plain_tables(answer: TranslatedQuery) -> list[str]:
    """Return the relations that Spark reads as they are."""
    names = [table.name for table in answer.rest.find_all(exp.Table)]
    ours = {*answer.query.windowings, *answer.query.alignments}
    return [name for name in dict.fromkeys(names) if name not in ours]


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]


def drawn(graph: Graph) -> str:
    """Return a graph as SVG text; grey boxes with dark letters suit light and dark pages."""
    boxes = _placed(graph)
    width = max(box.x + box.width for box in boxes) + _PAD
    height = max(box.y + box.height for box in boxes) + _PAD
    parts = [_arrow(boxes[upper], boxes[lower]) for upper, lower in graph.arrows]
    parts += [_box(box) for box in boxes]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" font-family="monospace" font-size="11">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#607d8b"/></marker>',
            "</defs>",
            *parts,
            "</svg>",
        ]
    )


def _placed(graph: Graph) -> list[_Box]:
    """Place every box in the layer after those that point to it; centre the layers."""
    layers: dict[int, list[int]] = {}
    depth: dict[int, int] = {}
    for number in range(len(graph.nodes)):
        before = [upper for upper, lower in graph.arrows if lower == number]
        depth[number] = 1 + max((depth[upper] for upper in before), default=-1)
        layers.setdefault(depth[number], []).append(number)
    sizes = [_size(node) for node in graph.nodes]
    widest = max(sum(sizes[n][0] + _GAP for n in layer) - _GAP for layer in layers.values())
    boxes: dict[int, _Box] = {}
    y = float(_PAD)
    for _, layer in sorted(layers.items()):
        x = _PAD + (widest - sum(sizes[n][0] + _GAP for n in layer) + _GAP) / 2
        for number in layer:
            width, height, lines = sizes[number]
            boxes[number] = _Box(x, y, width, height, lines)
            x += width + _GAP
        y += max(sizes[n][1] for n in layer) + _GAP
    return [boxes[number] for number in range(len(graph.nodes))]


def _size(node: Node) -> tuple[float, float, tuple[str, ...]]:
    lines = [node.title]
    for line in node.lines:
        lines += textwrap.wrap(line, _CHARS, subsequent_indent="  ") or [""]
    width = max(len(line) for line in lines) * _LETTER + 2 * _PAD
    return width, len(lines) * _LINE + _PAD, tuple(lines)


def _box(box: _Box) -> str:
    texts = [
        f'<text x="{box.x + _PAD:.1f}" y="{box.y + _LINE * (place + 1):.1f}" '
        f'fill="#263238" font-weight="{"normal" if place else "bold"}" '
        f'xml:space="preserve">{escape(line)}</text>'
        for place, line in enumerate(box.lines)
    ]
    frame = (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="5" fill="#eceff1" stroke="#607d8b"/>'
    )
    return "\n".join([frame, *texts])


def _arrow(upper: _Box, lower: _Box) -> str:
    x1, y1 = upper.x + upper.width / 2, upper.y + upper.height
    x2, y2 = lower.x + lower.width / 2, lower.y - 2
    return (
        f'<path d="M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + 16:.1f} {x2:.1f} {y2 - 16:.1f} '
        f'{x2:.1f} {y2:.1f}" fill="none" stroke="#607d8b" marker-end="url(#tip)"/>'
    )
