"""From the parser's tree to a correlation: what is Spark's becomes slots, the rest is ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from sqlglot import exp

from muntin.aggregates.functions import Aggregate, Correlated
from muntin.errors import ExpressionError
from muntin.expressions.nodes import (
    FUNCTIONS,
    Absolute,
    Arithmetic,
    Comparison,
    Constant,
    Correlation,
    Inner,
    Missing,
    Negation,
    Node,
    Slot,
    conjunction,
    moved,
)
from muntin.expressions.read_condition import PARTS, read_part
from muntin.expressions.spark_expressions import Expression, Sql

_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_MORE_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Mod: "%", exp.IntDiv: "div"}
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
#: How a part of the tree becomes an aggregate; None where it is none.
AggregateOf = Callable[[exp.Expr], Aggregate | None]
#: Whether there is an aggregate somewhere in a part of the tree.
Aggregates = Callable[[exp.Expr], bool]


def correlate(
    dependent: Aggregate,
    where: exp.Expr,
    text: str,
    aggregate_of: AggregateOf,
    aggregates: Aggregates,
) -> Correlated:
    """An aggregate over the rows that meet a condition in which aggregates stand."""
    _supported(dependent, text)
    reader = _Reader(text, aggregate_of, aggregates)
    argument = reader.place(dependent.arguments[0]) if dependent.arguments else None
    tree = reader.node(where)
    if not reader.slots:
        reader.place(Sql("TRUE"))  # a row must be kept as something, or it cannot be counted
    shown = f"{dependent} FILTER (WHERE {_shown(where)})"
    correlation = Correlation(dependent.function, argument, tree, len(reader.slots), shown)
    return Correlated("correlated", tuple(reader.slots), dependent.condition, None, (correlation,))


def columnwise(
    where: exp.Expr, text: str, zone: str, native: Callable[[exp.Expr], bool]
) -> tuple[Node, list[str]]:
    """A condition of which Muntin evaluates all but what is ``native``, and that as written.

    ``zone`` is the session's, on whose clocks Spark's SQL reads timestamps.
    """
    reader = _Reader(text, lambda tree: None, lambda tree: not native(tree))
    reader.zone = zone
    tree = reader.node(where)
    return tree, [str(slot) for slot in reader.slots]


def _supported(aggregate: Aggregate, text: str) -> None:
    if aggregate.function not in (*FUNCTIONS, "correlated"):
        raise ExpressionError(
            f"{aggregate.function} cannot be part of a correlated aggregate; "
            f"these can: {', '.join(FUNCTIONS)}",
            text,
        )


@dataclass
class _Reader:
    """Reads one condition and collects the slots it needs."""

    text: str
    aggregate_of: AggregateOf
    aggregates: Aggregates
    slots: list[Expression] = field(default_factory=list)
    zone: str | None = None  # Muntin evaluates conditions on rows, with all that stands in them

    def place(self, expression: Expression) -> int:
        if expression not in self.slots:
            self.slots.append(expression)
        return self.slots.index(expression)

    def node(self, tree: exp.Expr) -> Node:
        tree = tree.unnest()
        if (number := _number(tree)) is not None:
            return number
        if not self.aggregates(tree):
            return Slot(self.place(Sql(tree.sql(dialect="spark"))))
        if (aggregate := self.aggregate_of(tree)) is not None:
            return self._inner(aggregate)
        kind = type(tree)
        if kind in _ARITHMETIC:
            return Arithmetic(_ARITHMETIC[kind], *self._sides(tree), self.zone or "UTC")
        if kind in _MORE_ARITHMETIC and self.zone is not None:
            return Arithmetic(_MORE_ARITHMETIC[kind], *self._sides(tree))
        if kind in _COMPARISONS:
            return Comparison(_COMPARISONS[kind], *self._sides(tree))
        return self._other(tree)

    def _sides(self, tree: exp.Expr) -> tuple[Node, Node]:
        return self.node(tree.this), self.node(tree.expression)

    def _other(self, tree: exp.Expr) -> Node:
        match tree:
            case exp.And():
                return conjunction([*self._sides(tree)])
            case exp.Or():  # De Morgan holds for SQL's three values
                left, right = self._sides(tree)
                return Negation(conjunction([Negation(left), Negation(right)]))
            case exp.Not():
                return Negation(self.node(tree.this))
            case exp.Neg():
                return Arithmetic("-", Constant(Decimal(0)), self.node(tree.this))
            case exp.Abs():
                return Absolute(self.node(tree.this))
            case exp.Between():
                value = self.node(tree.this)
                low, high = self.node(tree.args["low"]), self.node(tree.args["high"])
                return conjunction([Comparison(">=", value, low), Comparison("<=", value, high)])
            case exp.Is() if isinstance(tree.expression, exp.Null):
                return Missing(self.node(tree.this))
        part = None if self.zone is None else read_part(tree, self.node, self.zone, self.text)
        if part is None:
            more = "" if self.zone is None else f"{PARTS}, "
            raise ExpressionError(
                f"{self._where} {_shown(tree)!r} cannot be used; + - * / abs, comparisons, "
                f"BETWEEN, {more}IS NULL, AND, OR and NOT can",
                self.text,
            )
        return part

    @property
    def _where(self) -> str:
        if self.zone is not None:
            return "in a condition that Muntin evaluates itself"
        return "around an aggregate in a condition"

    def _inner(self, aggregate: Aggregate) -> Inner:
        _supported(aggregate, self.text)
        where: list[Node] = []
        if aggregate.condition is not None:
            where.append(Slot(self.place(aggregate.condition)))
        if not isinstance(aggregate, Correlated):
            argument = self.place(aggregate.arguments[0]) if aggregate.arguments else None
            return Inner(aggregate.function, argument, conjunction(where) if where else None)
        places = tuple(self.place(slot) for slot in aggregate.arguments)
        below = aggregate.correlation
        own = None if below.argument is None else places[below.argument]
        return Inner(below.function, own, conjunction([moved(below.where, places), *where]))


def _shown(tree: exp.Expr) -> str:
    """As it was written, more or less: the parser prefers capitals for functions."""
    return tree.sql(dialect="spark", normalize_functions="lower")


def _number(tree: exp.Expr) -> Constant | None:
    if isinstance(tree, exp.Neg) and (positive := _number(tree.this.unnest())) is not None:
        return Constant(-positive.value)
    if not isinstance(tree, exp.Literal) or tree.is_string:
        return None
    written = str(tree.this)
    # As in Spark: 1.5 is a decimal, 15e-1 a double.
    return Constant(float(written) if "e" in written.lower() else Decimal(written))
