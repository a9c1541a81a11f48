"""A condition on two rows: Spark evaluates what looks at one of them before they meet."""

from __future__ import annotations

from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from muntin.expressions.dialect import SPARK
from muntin.expressions.nodes import Node
from muntin.expressions.read import columnwise


@dataclass(frozen=True)
class OneRowExpression:
    """What Spark evaluates for one of the rows: as SQL on its columns, and these as written."""

    text: str
    columns: tuple[str, ...]


def of_two_rows(where: exp.Expr, text: str, zone: str) -> tuple[Node, list[OneRowExpression]]:
    """The tree that is left when every part on one row alone is a slot, and these parts."""
    tree, written = columnwise(where, text, zone, lambda part: len(_rows(part)) == 1)
    return tree, [_of_one_row(one) for one in written]


def _rows(tree: exp.Expr) -> set[str]:
    """The rows that a part looks at, by the first part of its columns' names."""
    return {column.parts[0].name.lower() for column in tree.find_all(exp.Column)}


def _of_one_row(written: str) -> OneRowExpression:
    tree = sqlglot.parse_one(written, dialect=SPARK)
    columns = tuple(column.sql(dialect=SPARK) for column in tree.find_all(exp.Column))
    return OneRowExpression(tree.transform(_without_row).sql(dialect=SPARK), columns)


def _without_row(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Column) or len(node.parts) < 2:
        return node
    # Quoted, because behind a dot a name may be a word that SQL has for itself.
    _, name, *fields = (exp.to_identifier(part.name, quoted=True) for part in node.parts)
    return exp.Dot.build([exp.Column(this=name), *fields]) if fields else exp.Column(this=name)
