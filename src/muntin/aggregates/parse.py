"""Aggregates from SQL text: ``"max(speed) - min(speed) AS spread"``.

The text is parsed, never pasted: the tree tells which calls are Muntin's aggregates and what
Spark is to evaluate, and only text written out again by the parser reaches Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from muntin.aggregates import arguments
from muntin.aggregates.functions import SYNONYMS, Aggregate, Correlated, ignoring_nulls
from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.aggregates.sketches import SKETCHES
from muntin.errors import ArgumentError, ExpressionError, did_you_mean
from muntin.expressions.dialect import SPARK as _DIALECT
from muntin.expressions.dialect import constant
from muntin.expressions.nodes import Node
from muntin.expressions.read import columnwise, correlate
from muntin.expressions.spark_expressions import Expression, Name, Sql
from muntin.expressions.two_rows import OneRowExpression, of_two_rows

#: In a select list, so that an alias is read as in SQL and one statement is all there is; not the
#: first of it, because there ALL and DISTINCT would belong to the query.
_BEFORE = "SELECT 1, "
_REFUSED: dict[type[exp.Expr], str] = {
    exp.Subquery: "a subquery cannot stand in an aggregate",
    exp.Select: "a subquery cannot stand in an aggregate",
    exp.Window: "OVER has no place here: the window is the one this is aggregated over",
    exp.Distinct: "DISTINCT stands in count(DISTINCT x) and in no other aggregate",
    exp.Order: "ORDER BY has no place here: first and last go by the stream's `on`",
    exp.Aliases: "a result column has one name",
    exp.Parameter: "a parameter cannot stand in an aggregate",
    exp.Placeholder: "a parameter cannot stand in an aggregate",
}
#: What sqlglot calls a function where that differs from SQL.
_NODE_NAMES: dict[type[exp.Expr], str] = {
    exp.Any: "any",
    exp.All: "all",
    exp.LogicalOr: "bool_or",
    exp.LogicalAnd: "bool_and",
    exp.Stddev: "stddev",
    exp.StddevPop: "stddev_pop",
    exp.StddevSamp: "stddev_samp",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.CountIf: "count_if",
    exp.ApproxDistinct: "approx_count_distinct",
    exp.ApproxQuantile: "approx_percentile",
}
#: Where sqlglot puts the constants behind the first argument.
_PARTS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.First: ("expression",),
    exp.Last: ("expression",),
    exp.ApproxDistinct: ("accuracy",),
    exp.ApproxQuantile: ("quantile", "accuracy", "weight", "error_tolerance"),
    exp.ApproxTopK: ("expression", "counters"),
}
Read = TypeVar("Read")
#: A user's own aggregates by the names that stand for them.
Own = Mapping[str, OwnAggregate]
_NONE: Own = MappingProxyType({})


@dataclass(frozen=True)
class Column:
    """A result column: aggregates, and the SQL that combines them unless it is just one.

    ``outer`` refers to the aggregates as ``placeholder(0)``, ``placeholder(1)`` and so on.
    """

    name: str
    aggregates: tuple[Aggregate, ...]
    outer: str | None = None


def placeholder(place: int) -> str:
    """The name under which the text of a result column refers to one of its aggregates."""
    return f"__muntin_aggregate_{place}"


def _reserved(name: str) -> bool:
    return name.casefold().startswith(placeholder(0)[:-1])


def numbered(outer: str, first: int) -> str:
    """The SQL of a result column, its aggregates numbered from ``first`` on.

    >>> numbered("__muntin_aggregate_0 / __muntin_aggregate_1", 4)
    '__muntin_aggregate_4 / __muntin_aggregate_5'
    """
    written = outer
    for token in reversed(sqlglot.tokenize(outer, read=_DIALECT)):
        if token.token_type is TokenType.VAR and _reserved(token.text):
            place = int(token.text.removeprefix(placeholder(0)[:-1]))
            written = written[: token.start] + placeholder(first + place) + written[token.end + 1 :]
    return written


def parse_column(text: str, known: Sequence[str], own: Own = _NONE) -> Column:
    """Read one result column; ``known`` are the columns that may stand beside aggregates."""
    try:
        return _column(text, known, own)
    except RecursionError:
        raise ExpressionError(_DEEP, text) from None


def own_functions(given: object) -> dict[str, OwnAggregate]:
    """Check the names under which SQL text may call a user's own aggregates."""
    if not isinstance(given, Mapping):
        raise ArgumentError("functions", given, "write {'geometric_mean': GeometricMean()}")
    for name, aggregate in given.items():
        if not isinstance(name, str) or not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
            raise ArgumentError("functions", name, "a name has small letters, digits and _ only")
        if not isinstance(aggregate, OwnAggregate):
            raise ArgumentError("functions", aggregate, f"{name} must be an mt.OwnAggregate")
        if name in SYNONYMS or name in SKETCHES:
            raise ArgumentError("functions", name, "Muntin has an aggregate of this name already")
        if not isinstance(_parse(f"{name}(x)"), exp.Anonymous):
            raise ArgumentError("functions", name, "SQL has a function of this name already")
    return dict(given)


def _column(text: str, known: Sequence[str], own: Own) -> Column:
    tree = _parse(text)
    if not isinstance(tree, exp.Alias) and re.search(r"\bas\s*$", text, re.IGNORECASE):
        raise ExpressionError("the name behind AS is missing", text, len(text))
    name = tree.alias if isinstance(tree, exp.Alias) else text.strip()
    body = tree.this if isinstance(tree, exp.Alias) else tree
    _refuse(body, text)
    for taken in [*known, *(column.name for column in body.find_all(exp.Column))]:
        if _reserved(taken):
            raise ExpressionError(
                f"column {taken!r} has a name that Muntin uses for itself; rename it", text
            )
    found: list[Aggregate] = []
    outer = _replace(body, text, found, own)
    if not found:
        raise ExpressionError(f"there is no aggregate in it{_hint(body, own)}", text)
    names = {name.casefold() for name in known}  # Spark, too, does not look at case
    for column in outer.find_all(exp.Column):
        if column.name.casefold() not in names and not _reserved(column.name):
            raise ExpressionError(
                f"column {column.name!r} stands outside an aggregate and is not in `by`",
                text,
                text.find(column.name),
            )
    if len(found) == 1 and isinstance(outer, exp.Column):
        return Column(name, (found[0],))
    return Column(name, tuple(found), outer.sql(dialect=_DIALECT))


def parse_condition(text: str) -> str:
    """Check a condition (``"speed > 30"``) and write it out again."""
    try:
        return _condition(text)
    except RecursionError:
        raise ExpressionError(_DEEP, text) from None


def _condition(text: str) -> str:
    tree = _parse(text)
    _refuse(tree, text)
    if isinstance(tree, exp.Alias):
        raise ExpressionError("a condition has no alias", text)
    _refuse_aggregates(tree, text, "an aggregate cannot stand in a condition on rows")
    return tree.sql(dialect=_DIALECT)


def columns_of(text: str) -> list[str]:
    """The columns that an expression on rows mentions, each once.

    >>> columns_of("speed < 30 AND abs(speed - `top speed`) > 5")
    ['speed', 'top speed']
    """
    found = _parse(text).find_all(exp.Column)
    return list(dict.fromkeys(".".join(part.name for part in column.parts) for column in found))


#: Comparisons of an aggregate with a number, and what they become the other way round.
_COMPARED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
    exp.EQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
}


def parse_comparison(text: object, own: Own = _NONE) -> tuple[Aggregate, str, Decimal]:
    """Read an aggregate compared with a number: ``"sum(vehicles) >= 100"``.

    >>> aggregate, sign, limit = parse_comparison("100 <= sum(vehicles)")
    >>> print(aggregate, sign, limit)
    sum(vehicles) >= 100
    """
    if not isinstance(text, str):
        raise ArgumentError("condition", text, "write SQL text such as 'sum(vehicles) >= 100'")
    try:
        tree = _parse(text).unnest()
        _refuse(tree, text)
        return _comparison(tree, text, own)
    except RecursionError:
        raise ExpressionError(_DEEP, text) from None


def _comparison(tree: exp.Expr, text: str, own: Own) -> tuple[Aggregate, str, Decimal]:
    usage = "compare one aggregate with a number, such as 'sum(vehicles) >= 100'"
    if type(tree) not in _COMPARED:
        raise ExpressionError(usage, text)
    signs = _COMPARED[type(tree)]
    left, right = tree.this.unnest(), tree.expression.unnest()
    for one, other, sign in ((left, right, signs[0]), (right, left, signs[1])):
        try:
            limit = constant(other)
        except ArgumentError:
            continue
        found = _aggregate(one, text, own)
        number = isinstance(limit, int | float | Decimal) and not isinstance(limit, bool)
        if found is not None and number and Decimal(str(limit)).is_finite():
            return found, sign, Decimal(str(limit))
    raise ExpressionError(usage, text)


def parse_bridge(text: str, zone: str = "UTC") -> tuple[Node, list[str]]:
    """Read a condition of which Spark gives the columns only (``"left.x > right.x"``).

    The tree, in which columns are slots, and the columns as they were written. ``zone`` is the
    session's, on whose clocks Spark's SQL reads timestamps.
    """
    return _on_rows(
        text,
        lambda tree: columnwise(tree, text, zone, lambda part: isinstance(part, exp.Column)),
    )


def parse_two_rows(text: str, zone: str = "UTC") -> tuple[Node, list[OneRowExpression]]:
    """Read a condition on two rows (``"prev.x % 2 = 1 AND next.x > prev.x"``).

    The tree, in which everything on one of them alone is a slot, and what these slots are.
    """
    return _on_rows(text, lambda tree: of_two_rows(tree, text, zone))


def _on_rows(text: str, read: Callable[[exp.Expr], Read]) -> Read:
    try:
        tree = _parse(text)
        _refuse(tree, text)
        _refuse_aggregates(tree, text, "an aggregate cannot stand in a condition on rows")
        if isinstance(tree, exp.Alias):
            raise ExpressionError("a condition has no alias", text)
        return read(tree)
    except RecursionError:
        raise ExpressionError(_DEEP, text) from None


def parse_correlated(dependent: Aggregate, text: str) -> Correlated:
    """Read a condition on rows in which aggregates stand (``"x >= avg(x)"``)."""
    try:
        tree = _parse(text)
        _refuse(tree, text)
        if isinstance(tree, exp.Alias):
            raise ExpressionError("a condition has no alias", text)
        if not _has_aggregates(tree):
            raise ExpressionError(
                "there is no aggregate in it, so it is no correlated condition; "
                "use the plain aggregate with .filter(...)",
                text,
            )
        # Written as the condition writes it, a column travels once.
        arguments = tuple(map(_as_in_text, dependent.arguments))
        return _correlated(replace(dependent, arguments=arguments), tree, text)
    except RecursionError:
        raise ExpressionError(_DEEP, text) from None


def _as_in_text(expression: Expression) -> Expression:
    if not isinstance(expression, Name) or not expression.name.isidentifier():
        return expression
    tree = _parse(expression.name)
    return Sql(_written(tree)) if isinstance(tree, exp.Column) else expression


def _parse(text: str) -> exp.Expr:
    try:
        statements = sqlglot.parse(_BEFORE + text, dialect=_DIALECT)
    except SqlglotError as error:
        raise ExpressionError(_problem(error), text, _position(error)) from None
    except (IndexError, KeyError, AttributeError, TypeError, ValueError):
        # The parser trips over some broken text itself, such as "map(limit<sort".
        raise ExpressionError("this is not SQL that can be read", text) from None
    select = statements[0] if len(statements) == 1 else None
    if not isinstance(select, exp.Select) or len(select.expressions) != 2:
        raise ExpressionError("write one expression, such as 'max(speed) AS hi'", text)
    if [part for part, value in select.args.items() if value and part not in _EXPECTED_PARTS]:
        raise ExpressionError("write an expression, not a query", text)
    tree: exp.Expr = select.expressions[1]
    return tree


_EXPECTED_PARTS = {"expressions"}
_DEEP = "it is nested too deeply to be read"


def _problem(error: Exception) -> str:
    details = getattr(error, "errors", None)
    what = details[0]["description"] if details else str(error).splitlines()[0]
    if what.startswith("Required keyword"):  # goes on about the parser's classes
        what = "something is missing"
    return f"this is not SQL that can be read: {what.rstrip('.')}"


def _position(error: Exception) -> int | None:
    details = getattr(error, "errors", None)
    if not details or details[0].get("line") != 1:
        return None
    column = details[0]["col"] - len(_BEFORE) - len(details[0].get("highlight") or "")
    return int(column) if column >= 0 else 0


def _refuse(tree: exp.Expr, text: str) -> None:
    for node in tree.walk():
        if _is_distinct_count(node.parent):
            continue
        for kind, why in _REFUSED.items():
            if isinstance(node, kind):
                raise ExpressionError(why, text)


def _is_distinct_count(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct)


def _refuse_aggregates(tree: exp.Expr, text: str, why: str, own: Own = _NONE) -> None:
    if _has_aggregates(tree, own):
        raise ExpressionError(why, text)


def _has_aggregates(tree: exp.Expr, own: Own = _NONE) -> bool:
    return any(_function_name(node, own) for node in tree.walk())


def _correlated(dependent: Aggregate, where: exp.Expr, text: str, own: Own = _NONE) -> Correlated:
    return correlate(
        dependent,
        where,
        text,
        lambda node: _aggregate(node, text, own),
        lambda tree: _has_aggregates(tree, own),
    )


def _replace(tree: exp.Expr, text: str, found: list[Aggregate], own: Own) -> exp.Expr:
    """The tree with placeholders where its aggregates were, which are added to ``found``."""

    def placed(node: exp.Expr) -> exp.Expr:
        aggregate = _aggregate(node, text, own)
        if aggregate is None:
            return node
        if aggregate not in found:
            found.append(aggregate)
        return exp.column(placeholder(found.index(aggregate)))

    return tree.transform(placed)


def _aggregate(node: exp.Expr, text: str, own: Own) -> Aggregate | None:
    if isinstance(node, exp.Filter):
        inner = _aggregate(node.this, text, own)
        if inner is None:
            raise ExpressionError("FILTER belongs to an aggregate such as max(...)", text)
        if _has_aggregates(node.expression, own):
            return _correlated(inner, node.expression.this, text, own)
        return inner.filter(_written(node.expression.this))
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        inner = _aggregate(node.this, text, own)
        if inner is None or inner.function not in ("first", "last"):
            raise ExpressionError("IGNORE NULLS and RESPECT NULLS belong to first and last", text)
        return ignoring_nulls(inner) if isinstance(node, exp.IgnoreNulls) else inner
    name = _function_name(node, own)
    if name is None:
        return None
    if _is_distinct_count(node):
        name, arguments = "count_distinct", _unnested(node.this.expressions)
        if len(arguments) != 1:
            raise ExpressionError("count(DISTINCT ...) takes 1 argument", text)
    else:
        arguments = _arguments(node)
    for argument in arguments:
        _refuse_aggregates(argument, text, "an aggregate cannot stand inside another", own)
    if name in own or name in SKETCHES:
        return _build_own(name, arguments, text, own)
    return _build(name, arguments, text)


def _build(name: str, arguments: list[exp.Expr], text: str) -> Aggregate:
    function = SYNONYMS[name]
    if function == "count" and _counts_rows(arguments):
        return Aggregate("count", ())
    ignores = function in ("first", "last") and arguments[1:] == [exp.true()]
    arguments, options = _options(function, arguments, text)
    wanted = 2 if function == "weighted_avg" or function in _CONSTANTS else 1
    if len(arguments) + len(options) != wanted:
        plural = "" if wanted == 1 else "s"
        raise ExpressionError(f"{name} takes {wanted} argument{plural}", text, text.find(name))
    if any(part.is_star for part in arguments):
        raise ExpressionError(f"{name} takes a column; count(*) counts rows", text, text.find("*"))
    expressions: tuple[Expression, ...] = tuple(Sql(_written(part)) for part in arguments)
    made = Aggregate(function, expressions, options=options)
    return ignoring_nulls(made) if ignores else made


#: Aggregates whose last argument is a constant, what messages call it, and how it is checked.
_CONSTANTS: dict[str, tuple[str, Callable[[str, object], object]]] = {
    "quantile": ("share", arguments.quantile_shares),
    "heavy_hitters": ("share", arguments.positive_share),
    "top_k": ("k", arguments.positive_count),
}


def _options(
    function: str, arguments: list[exp.Expr], text: str
) -> tuple[list[exp.Expr], tuple[object, ...]]:
    """The arguments that are columns, and the constants behind them."""
    # For mode it asks Spark for the least of several, which it always is here.
    flagged = function in ("mode", "first", "last")
    if flagged and len(arguments) == 2 and isinstance(arguments[1], exp.Boolean):
        return arguments[:1], ()
    if function not in _CONSTANTS or len(arguments) != 2:
        return arguments, ()
    name, checked = _CONSTANTS[function]
    try:
        return arguments[:1], (checked(name, constant(arguments[1])),)
    except ArgumentError as error:
        place = text.find(arguments[1].sql(dialect=_DIALECT))
        raise ExpressionError(str(error), text, place if place >= 0 else None) from None


def _build_own(name: str, arguments: list[exp.Expr], text: str, own: Own) -> Aggregate:
    if not arguments or any(part.is_star for part in arguments):
        raise ExpressionError(f"{name} takes a column", text, text.find(name))
    if name in own:
        expressions = tuple(Sql(_written(part)) for part in arguments)
        return Aggregate("own", expressions, options=(own[name],))
    make, usage = SKETCHES[name]
    try:
        sketch = make(*map(constant, arguments[1:]))
    except TypeError:
        raise ExpressionError(f"write {usage}", text, text.find(name)) from None
    except ArgumentError as error:
        raise ExpressionError(str(error), text, text.find(name)) from error
    return Aggregate("own", (Sql(_written(arguments[0])),), options=(sketch,))


def _counts_rows(arguments: list[exp.Expr]) -> bool:
    return len(arguments) == 1 and isinstance(arguments[0], exp.Star | exp.Literal)


def _written(node: exp.Expr) -> str:
    return node.sql(dialect=_DIALECT)


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return _unnested(node.expressions)
    operand = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    if type(node) in _PARTS:
        return [operand, *(node.args[part] for part in _PARTS[type(node)] if node.args.get(part))]
    return [operand, *node.expressions] if operand is not None else list(node.expressions)


def _unnested(nodes: list[exp.Expr]) -> list[exp.Expr]:
    """Without the parentheses around them: ``median((x))`` is ``median(x)``."""
    return [node.unnest() for node in nodes]


def _function_name(node: exp.Expr, own: Own) -> str | None:
    if isinstance(node.parent, exp.Like | exp.ILike) and isinstance(node, exp.Any | exp.All):
        return None  # ``name LIKE ANY ('a%', 'b%')``: a quantifier
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
    elif type(node) in _NODE_NAMES:
        name = _NODE_NAMES[type(node)]
    elif isinstance(node, exp.Func):
        name = node.sql_name().lower()
    else:
        return None
    return name if name in SYNONYMS or name in SKETCHES or name in own else None


def _hint(body: exp.Expr, own: Own) -> str:
    known = (*SYNONYMS, *SKETCHES, *own)
    called = body.this if isinstance(body, exp.Anonymous) else None
    if isinstance(called, str):
        return f": {called} is not an aggregate Muntin knows{did_you_mean(called.lower(), known)}"
    match = re.match(r"\w+", body.sql(dialect=_DIALECT))
    return f"{did_you_mean(match.group().lower(), known)}" if match else ""
