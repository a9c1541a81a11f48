"""Turns sqlglot's tree of a condition into nodes; the parts that Spark evaluates become slots.

There are three kinds of conditions. In a condition on pairs of rows, Spark only delivers the
columns (:func:`read_columnwise`). In a condition on two rows of one stream, Spark evaluates the
parts that read one of them (:func:`read_two_rows`, and :func:`read_with_previous` where one of them
is the row itself). In a condition on a whole window, Spark evaluates all but the aggregates and the
expressions around them (:mod:`muntin.aggregates.parse`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from muntin.errors import ExpressionError
from muntin.expressions.dialect import SPARK
from muntin.expressions.nodes import (
    Among,
    Arithmetic,
    BooleanConstant,
    Call,
    Cast,
    Choice,
    Comparison,
    Elapsed,
    Hash,
    LeastOrGreatest,
    Like,
    Missing,
    Negation,
    Node,
    Null,
    Slot,
    Text,
    conjunction,
)
from muntin.expressions.spark_expressions import Expression, Sql
from muntin.expressions.sql_constants import (
    cast_type,
    interval_constant,
    like_pattern,
    number_constant,
    time_constant,
)

#: More ORs than these are one node, because nodes that are nested deeper cannot be evaluated.
_NESTED_ORS = 64
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
#: Messages list what a condition on rows may contain besides arithmetic and comparisons.
_PARTS = (
    "IN, LIKE, % and div, coalesce, nullif, if, CASE, least, greatest, timestampdiff, datediff, "
    "intervals, constants"
)
_SECOND = 10**6
_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": _SECOND,
    "MINUTE": 60 * _SECOND,
    "HOUR": 3600 * _SECOND,
    "DAY": 86_400 * _SECOND,
    "WEEK": 7 * 86_400 * _SECOND,
}
_FIELDS = ("year", "quarter", "month", "day", "hour", "minute")
#: Functions of one argument.
_CALLS: dict[type[exp.Expr], str] = {
    exp.Negative: "negative",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Round: "round",
    exp.Sqrt: "sqrt",
    exp.IsNan: "isnan",
    exp.Upper: "upper",
    exp.Lower: "lower",
    exp.Length: "length",
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
    exp.Trim: "trim",
    exp.TimestampTrunc: "truncate",
    exp.Extract: "extract",
}
_TRUNCATED = {
    unit: name
    for name, units in {
        "YEAR": "YEAR YYYY YY",
        "QUARTER": "QUARTER",
        "MONTH": "MONTH MON MM",
        "WEEK": "WEEK",
        "DAY": "DAY DD",
        "HOUR": "HOUR",
        "MINUTE": "MINUTE",
        "SECOND": "SECOND",
    }.items()
    for unit in units.split()
}


@dataclass(frozen=True)
class OneRowExpression:
    """SQL that Spark evaluates for one of two rows, and its columns as they were written."""

    text: str
    columns: tuple[str, ...]


def read_columnwise(tree: exp.Expr, text: str, zone: str) -> tuple[Node, list[str]]:
    """Read a condition for which Spark only delivers the columns; return these as written.

    ``zone`` is the session's time zone, in which Spark's SQL reads timestamps.
    """
    reader = ConditionReader(text, lambda part: isinstance(part, exp.Column), zone=zone)
    node = reader.node(tree)
    return node, [str(slot) for slot in reader.slots]


def read_row_expression(tree: exp.Expr, text: str, zone: str) -> tuple[Node, list[tuple[str, ...]]]:
    """Read an expression of one row; return its columns as the parts of their names."""
    reader = ConditionReader(
        text, lambda part: isinstance(part, exp.Column | exp.Dot), zone=zone, functions=True
    )
    node = reader.node(tree)
    return node, [_path(reader.trees[slot], text) for slot in reader.slots]


def _path(tree: exp.Expr, text: str) -> tuple[str, ...]:
    """Return the parts of the name of a column or of a field in it."""
    if isinstance(tree, exp.Dot) and isinstance(tree.expression, exp.Identifier):
        return (*_path(tree.this, text), tree.expression.name)
    if isinstance(tree, exp.Column) and not isinstance(tree.this, exp.Star):
        return tuple(part.name for part in tree.parts)
    raise ExpressionError("a column is a name, or names joined by dots", text)


def read_two_rows(tree: exp.Expr, text: str, zone: str) -> tuple[Node, list[OneRowExpression]]:
    """Read a condition on two rows: every part that reads one row alone becomes a slot."""
    reader = ConditionReader(text, lambda part: len(_rows(part)) == 1, zone=zone)
    node = reader.node(tree)
    return node, [_of_one_row(reader.trees[slot]) for slot in reader.slots]


@dataclass(frozen=True)
class NeighbourExpression:
    """SQL that Spark evaluates for a row (``this``) or for the row before it (``prev``).

    ``columns`` are the names of the columns in it, without ``prev``.
    """

    row: Literal["this", "prev"]
    text: str
    columns: tuple[str, ...]


def read_with_previous(
    tree: exp.Expr, text: str, zone: str, *, columnwise: bool
) -> tuple[Node, list[NeighbourExpression]]:
    """Read a condition on a row and the row before it, whose columns begin with ``prev``.

    Every part that reads one of the rows alone becomes a slot; if ``columnwise``, every column.
    """

    def is_native(part: exp.Expr) -> bool:
        return isinstance(part, exp.Column) if columnwise else len(_neighbours(part)) == 1

    reader = ConditionReader(text, is_native, zone=zone)
    node = reader.node(tree)
    return node, [_of_neighbour(reader.trees[slot]) for slot in reader.slots]


def reads_previous(tree: exp.Expr) -> bool:
    """Return whether a condition reads the row before."""
    return "prev" in _neighbours(tree)


def shown(tree: exp.Expr) -> str:
    """Return the text of a tree with functions in small letters, close to what was written."""
    return tree.sql(dialect=SPARK, normalize_functions="lower")


@dataclass
class ConditionReader:
    """Reads one condition and collects the slots it needs.

    ``is_native`` is true for the parts that Spark evaluates; ``inner`` turns an aggregate into a
    node. ``zone`` is set for conditions on rows, which Muntin evaluates as a whole; ``functions``
    for expressions of one row, which may also call functions and cast.
    """

    text: str
    is_native: Callable[[exp.Expr], bool]
    inner: Callable[[exp.Expr], Node | None] = lambda tree: None
    zone: str | None = None
    functions: bool = False
    slots: list[Expression] = field(default_factory=list)
    trees: dict[Expression, exp.Expr] = field(default_factory=dict)

    def place(self, expression: Expression) -> int:
        """Return the number of an expression's slot; add the slot if it is new."""
        if expression not in self.slots:
            self.slots.append(expression)
        return self.slots.index(expression)

    def node(self, tree: exp.Expr) -> Node:
        tree = tree.unnest()
        if (number := number_constant(tree)) is not None:
            return number
        if self.is_native(tree):
            slot = Sql(tree.sql(dialect=SPARK))
            self.trees.setdefault(slot, tree)
            return Slot(self.place(slot))
        if (aggregate := self.inner(tree)) is not None:
            return aggregate
        kind = type(tree)
        if kind in _ARITHMETIC:
            return Arithmetic(_ARITHMETIC[kind], *self._sides(tree), self.zone or "UTC")
        if kind in _MORE_ARITHMETIC and self.zone is not None:
            return Arithmetic(_MORE_ARITHMETIC[kind], *self._sides(tree))
        if kind in _COMPARISONS:
            return Comparison(_COMPARISONS[kind], *self._sides(tree))
        return self._logic(tree)

    def _sides(self, tree: exp.Expr) -> tuple[Node, Node]:
        return self.node(tree.this), self.node(tree.expression)

    def _chain(self, tree: exp.Expr) -> list[Node]:
        """Return the operands of ANDs, or of ORs, that follow each other, however many."""
        kind, parts = type(tree), [tree.expression]
        tree = tree.this
        while type(tree) is kind and not self.is_native(tree):
            parts.append(tree.expression)
            tree = tree.this
        return [self.node(part) for part in (tree, *reversed(parts))]

    def _logic(self, tree: exp.Expr) -> Node:
        match tree:
            case exp.And():
                return conjunction(self._chain(tree))
            case exp.Or():  # De Morgan holds for SQL's three values
                parts = self._chain(tree)
                if len(parts) > _NESTED_ORS:
                    return Negation(conjunction([Negation(part) for part in parts]))
                return reduce(_either, parts)
            case exp.Not():
                return Negation(self.node(tree.this))
            case exp.Neg():
                return Call("negative", (self.node(tree.this),))
            case exp.Abs():
                return Call("abs", (self.node(tree.this),))
            case exp.Between():
                value = self.node(tree.this)
                low, high = self.node(tree.args["low"]), self.node(tree.args["high"])
                return conjunction([Comparison(">=", value, low), Comparison("<=", value, high)])
            case exp.Is() if isinstance(tree.expression, exp.Null):
                return Missing(self.node(tree.this))
        if self.zone is None:
            raise self._unusable(tree, "around an aggregate in a condition", "")
        node = self._condition_on_rows(tree, self.zone)
        if node is None:
            where = "in a condition that Muntin evaluates itself"
            raise self._unusable(tree, where, f"{_PARTS}, ")
        return node

    def _unusable(self, tree: exp.Expr, where: str, more: str) -> ExpressionError:
        return ExpressionError(
            f"{where} {shown(tree)!r} cannot be used; + - * / abs, comparisons, "
            f"BETWEEN, {more}IS NULL, AND, OR and NOT can",
            self.text,
        )

    def _condition_on_rows(self, tree: exp.Expr, zone: str) -> Node | None:
        """Read a part that only conditions on rows may contain; None if it is something else."""
        match tree:
            case exp.Boolean():
                return BooleanConstant(bool(tree.this))
            case exp.Null():
                return Null()
            case exp.Literal():
                return Text(str(tree.this))
            case exp.In() if tree.expressions:
                return Among(self.node(tree.this), tuple(map(self.node, tree.expressions)))
            case exp.NullSafeNEQ():
                return Negation(Comparison("<=>", *self._sides(tree)))
            case exp.Like() | exp.Escape():
                return self._like(tree)
            case exp.Interval():
                return interval_constant(tree, self.text)
            case exp.Cast() if isinstance(tree.this, exp.Literal) and tree.this.is_string:
                return time_constant(tree, zone, self.text)
            case exp.TsOrDsToDate():
                return Cast(self.node(tree.this), pa.date32(), zone)
            case exp.TimestampDiff():
                return self._elapsed(tree, zone)
            case exp.DateDiff() if tree.args.get("unit") is None:
                day = _UNITS["DAY"]
                days = Elapsed(day, self.node(tree.expression), self.node(tree.this), zone)
                return Cast(days, pa.int32(), zone) if self.functions else days
        node = self._choice(tree)
        return self._of_one_row(tree, zone) if node is None and self.functions else node

    def _choice(self, tree: exp.Expr) -> Node | None:
        match tree:
            case exp.Coalesce():
                *firsts, last = map(self.node, (tree.this, *tree.expressions))
                return Choice(tuple((Negation(Missing(value)), value) for value in firsts), last)
            case exp.Nullif():
                value = self.node(tree.this)
                equal = Comparison("=", value, self.node(tree.expression))
                return Choice(((equal, Null()),), value)
            case exp.If():
                case = self.node(tree.this), self.node(tree.args["true"])
                return Choice((case,), self._default(tree, "false"))
            case exp.Case():
                operand = tree.args.get("this")
                ifs = tree.args["ifs"]
                when = [
                    self.node(part.this)
                    if operand is None
                    else Comparison("=", self.node(operand), self.node(part.this))
                    for part in ifs
                ]
                then = [self.node(part.args["true"]) for part in ifs]
                return Choice(tuple(zip(when, then, strict=True)), self._default(tree, "default"))
            case exp.Least() | exp.Greatest():
                which: Literal["least", "greatest"]
                which = "least" if isinstance(tree, exp.Least) else "greatest"
                return LeastOrGreatest(which, tuple(map(self.node, (tree.this, *tree.expressions))))
        return None

    def _of_one_row(self, tree: exp.Expr, zone: str) -> Node | None:
        """Read a call or a cast; None if it is something else."""
        match tree:
            case exp.Is() if isinstance(tree.expression, exp.Boolean):
                known = BooleanConstant(bool(tree.expression.this))
                return Comparison("<=>", self.node(tree.this), known)
            case exp.Cast():
                type_ = cast_type(tree.to)
                safe = bool(tree.args.get("safe"))
                return None if type_ is None else Cast(self.node(tree.this), type_, zone, safe)
            case exp.Nvl2():
                exists = Negation(Missing(self.node(tree.this)))
                return Choice(
                    ((exists, self.node(tree.args["true"])),), self.node(tree.args["false"])
                )
            case exp.DPipe():
                return Call("concat", self._sides(tree))
            case exp.Concat():
                return Call("concat", tuple(map(self.node, tree.expressions)))
            case exp.Anonymous() if str(tree.this).lower() in ("isnull", "isnotnull"):
                missing = Missing(self.node(tree.expressions[0]))
                return missing if str(tree.this).lower() == "isnull" else Negation(missing)
            case exp.Anonymous() if str(tree.this).lower() == "xxhash64":
                return Hash(tuple(map(self.node, tree.expressions)))
        call = _call(tree)
        return None if call is None else Call(call[0], (self.node(call[1]),), zone)

    def _default(self, tree: exp.Expr, name: str) -> Node:
        default = tree.args.get(name)
        return Null() if default is None else self.node(default)

    def _like(self, tree: exp.Expr) -> Node:
        like, escape = (
            (tree.this, tree.expression) if isinstance(tree, exp.Escape) else (tree, None)
        )
        pattern = like.expression
        constant = isinstance(pattern, exp.Literal) and pattern.is_string
        if not isinstance(like, exp.Like) or not constant:
            raise ExpressionError("LIKE takes a constant pattern here, such as 'a%'", self.text)
        by = "\\" if escape is None else str(escape.this)
        node = Like(self.node(like.this), like_pattern(str(pattern.this), by, self.text))
        return Negation(node) if like.args.get("negate") else node

    def _elapsed(self, tree: exp.TimestampDiff, zone: str) -> Elapsed:
        unit = str(tree.args["unit"].name).upper()
        if unit not in _UNITS:
            units = ", ".join(_UNITS)
            raise ExpressionError(f"timestampdiff counts {units}, not {unit}", self.text)
        return Elapsed(_UNITS[unit], self.node(tree.expression), self.node(tree.this), zone)


def _either(left: Node, right: Node) -> Node:
    return Negation(conjunction([Negation(left), Negation(right)]))


def _call(tree: exp.Expr) -> tuple[str, exp.Expr] | None:
    """Return the function of a call and its argument; None if there is no such function."""
    if type(tree) not in _CALLS:
        return None
    others = {name for name, value in tree.args.items() if value and name != "this"}
    match tree:
        case exp.Trim():
            names = {None: "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
            position = tree.args.get("position")
            return (names[position], tree.this) if others <= {"position"} else None
        case exp.TimestampTrunc():
            unit = _TRUNCATED.get(tree.args["unit"].name.upper())
            return None if unit is None else (f"truncate to {unit}", tree.this)
        case exp.Extract():
            name = str(tree.this.name).lower()
            return (name, tree.expression) if name in _FIELDS else None
    return None if others else (_CALLS[type(tree)], tree.this)


def _rows(tree: exp.Expr) -> set[str]:
    """Return the rows that a tree reads: the first parts of its columns' names."""
    return {column.parts[0].name.lower() for column in tree.find_all(exp.Column)}


def _is_previous(column: exp.Column) -> bool:
    return len(column.parts) > 1 and column.parts[0].name.lower() == "prev"


def _neighbours(tree: exp.Expr) -> set[str]:
    """Return the rows that a tree reads: ``this``, ``prev``, both or none."""
    return {"prev" if _is_previous(c) else "this" for c in tree.find_all(exp.Column)}


def _of_neighbour(tree: exp.Expr) -> NeighbourExpression:
    columns = list(tree.find_all(exp.Column))
    names = tuple(column.parts[_is_previous(column)].name for column in columns)
    text = tree.transform(_quoted).sql(dialect=SPARK)
    return NeighbourExpression("prev" if reads_previous(tree) else "this", text, names)


def _quoted(node: exp.Expr) -> exp.Expr:
    """Write a column with quotes and without ``prev``, so that equal columns have one text."""
    if not isinstance(node, exp.Column):
        return node
    parts = node.parts[_is_previous(node) :]
    name, *fields = (exp.to_identifier(part.name, quoted=True) for part in parts)
    return exp.Dot.build([exp.Column(this=name), *fields]) if fields else exp.Column(this=name)


def _of_one_row(tree: exp.Expr) -> OneRowExpression:
    columns = tuple(column.sql(dialect=SPARK) for column in tree.find_all(exp.Column))
    return OneRowExpression(tree.transform(_without_row).sql(dialect=SPARK), columns)


def _without_row(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Column) or len(node.parts) < 2:
        return node
    # Names are quoted, because after a dot a name may be a reserved word of SQL.
    _, name, *fields = (exp.to_identifier(part.name, quoted=True) for part in node.parts)
    return exp.Dot.build([exp.Column(this=name), *fields]) if fields else exp.Column(this=name)
