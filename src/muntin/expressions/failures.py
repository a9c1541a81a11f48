"""Which rows of an expression fail in Spark's ANSI mode: overflow, division by zero, bad casts.

Evaluation gives null where a part fails. A row fails only if Spark reaches the part: a branch of
CASE that is not taken does not fail, nor does the right side of AND after a left side that is
false, nor the second operand of a calculation whose first operand is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from muntin.expressions.evaluate import Evaluation, compare
from muntin.expressions.nodes import (
    All,
    Among,
    Arithmetic,
    Call,
    Cast,
    Choice,
    Comparison,
    LeastOrGreatest,
    Node,
    children,
    walk,
)
from muntin.expressions.values import truth, validity
from muntin.kernels.arrays import Mask


def fails(node: Node, evaluation: Evaluation) -> bool:
    """Return whether Spark raises an error for some row, given the values of all parts."""
    failing = {id(part): _failed(part, evaluation) for part in walk(node)}
    if not any(failed.any() for failed in failing.values()):
        return False
    return _ReachedParts(evaluation, failing).fails(node, np.ones(1, np.bool_))


def _failed(node: Node, evaluation: Evaluation) -> Mask:
    """Return where a part is null although all its operands have values."""
    if not isinstance(node, Arithmetic | Cast | Call) or (isinstance(node, Cast) and node.safe):
        return np.zeros(1, np.bool_)
    failed = ~validity(evaluation.value(node))
    for child in children(node):
        failed = failed & validity(evaluation.value(child))
    return failed


class _ReachedParts:
    """Walks through a tree with the rows for which Spark evaluates each part."""

    def __init__(self, evaluation: Evaluation, failing: dict[int, Mask]) -> None:
        self.evaluation, self.failing = evaluation, failing

    def fails(self, node: Node, rows: Mask) -> bool:
        if bool((self.failing[id(node)] & rows).any()):
            return True
        match node:
            case All(operands):
                return self._in_turn(operands, rows, self._not_false)
            case Choice(cases, otherwise):
                for condition, value in cases:
                    holds = truth(self.evaluation.value(condition)).true
                    if self.fails(condition, rows) or self.fails(value, rows & holds):
                        return True
                    rows = rows & ~holds
                return self.fails(otherwise, rows)
            case Among(operand, items):
                rows_after = rows & self._exists(operand)
                return self.fails(operand, rows) or self._in_turn(
                    items, rows_after, lambda item: ~self._equal(operand, item)
                )
            case LeastOrGreatest() | Comparison("<=>"):
                return any(self.fails(child, rows) for child in children(node))
            case Arithmetic("/" | "%" | "div", left, right) | Call("quotient", (left, right)):
                return self._in_turn((right, left), rows, self._exists)  # Spark's order
            case _:
                return self._in_turn(children(node), rows, self._exists)

    def _in_turn(self, nodes: Iterable[Node], rows: Mask, going_on: Callable[[Node], Mask]) -> bool:
        for node in nodes:
            if self.fails(node, rows):
                return True
            rows = rows & going_on(node)
        return False

    def _exists(self, node: Node) -> Mask:
        return validity(self.evaluation.value(node))

    def _not_false(self, node: Node) -> Mask:
        known = truth(self.evaluation.value(node))
        return known.true | ~known.valid

    def _equal(self, left: Node, right: Node) -> Mask:
        return truth(compare("=", self.evaluation.value(left), self.evaluation.value(right))).true
