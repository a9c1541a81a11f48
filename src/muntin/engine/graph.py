"""A query as a graph: where rows come from, what is made of them, and what goes out."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from muntin.engine.translate import Answer
from muntin.spark.plan import Plan
from muntin.sql.dialect import written
from muntin.sql.statements import Windowing


@dataclass(frozen=True)
class Node:
    """A box: what it is, and lines that say more."""

    title: str
    lines: tuple[str, ...] = ()


@dataclass
class Graph:
    """Boxes, and arrows between their numbers."""

    nodes: list[Node] = field(default_factory=list)
    arrows: list[tuple[int, int]] = field(default_factory=list)

    def add(self, node: Node, *before: int) -> int:
        """A box behind others; its number."""
        self.nodes.append(node)
        number = len(self.nodes) - 1
        self.arrows += [(one, number) for one in before]
        return number


def graph_of(answer: Answer) -> Graph:
    """Relations and what fills them, windows, Spark's part, results."""
    graph = Graph()
    plans = answer.plans.items()
    made = [_windows(graph, answer.relations[name], plan) for name, plan in plans]
    made += [graph.add(Node(name)) for name in _plain_tables(answer)]
    last = graph.add(Node("Spark SQL", (written(answer.rest),)), *made)
    kind = "a stream" if answer.is_streaming else "a batch"
    graph.add(Node("results", (f"{kind}: {', '.join(answer.df.columns)}",)), last)
    return graph


def _windows(graph: Graph, windowing: Windowing, plan: Plan) -> int:
    """The boxes of one relation with windows."""
    kind = "stream" if plan.is_streaming else "batch"
    before = [graph.add(Node(_table(windowing), (kind,)))]
    before += [graph.add(Node(fill.table, ("fills",))) for fill in windowing.fills]
    lines = [line for line in str(plan.explanation).splitlines() if line]
    return graph.add(Node(windowing.method, tuple(lines)), *before)


def _table(windowing: Windowing) -> str:
    return windowing.table if isinstance(windowing.table, str) else f"({windowing.alias})"


def _plain_tables(answer: Answer) -> list[str]:
    """Relations that Spark reads as they are."""
    names = [table.name for table in answer.rest.find_all(exp.Table)]
    return [name for name in dict.fromkeys(names) if name not in answer.query.windowings]
