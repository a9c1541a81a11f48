"""A query as a graph: where rows come from, what is made of them, and what goes out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from muntin.parser.dialect import written
from muntin.parser.statements import Alignment, JoinSide, Windowing
from muntin.planner.translate import Clause, QueryAnswer
from muntin.spark.api.lookup import Probed
from muntin.spark.api.plan import Plan


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


def graph_of(answer: QueryAnswer) -> Graph:
    """Relations and what fills them, windows, Spark's part, results."""
    graph = Graph()
    plans = answer.plans.items()
    made = [_clause(graph, answer.relations[name], plan) for name, plan in plans]
    made += [graph.add(Node(name)) for name in _plain_tables(answer)]
    last = graph.add(Node("Spark SQL", (written(answer.rest),)), *made)
    kind = "a stream" if answer.is_streaming else "a batch"
    graph.add(Node("results", (f"{kind}: {', '.join(answer.df.columns)}",)), last)
    return graph


def _clause(graph: Graph, clause: Clause, plan: Plan | Probed) -> int:
    """The boxes of one relation with windows, or of two that meet."""
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


def _plain_tables(answer: QueryAnswer) -> list[str]:
    """Relations that Spark reads as they are."""
    names = [table.name for table in answer.rest.find_all(exp.Table)]
    ours = {*answer.query.windowings, *answer.query.alignments}
    return [name for name in dict.fromkeys(names) if name not in ours]
