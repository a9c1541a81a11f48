"""Aggregates from SQL: ``"max(speed) - min(speed) AS spread"``.

In the tree of the text the parser finds the calls of Muntin's aggregates, and the expressions that
Spark evaluates. A :class:`~muntin.aggregates.definition.Definition` lists the arguments of each
aggregate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from muntin.aggregates.bind import (
    DEFINITIONS,
    aggregate_name,
    has_aggregates,
    refuse_aggregates,
    sql_aggregates,
    sql_nodes,
    synopsis_names,
)
from muntin.aggregates.definition import Definition
from muntin.aggregates.functions import Aggregate, Correlated, ignoring_nulls
from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.aggregates.sketches import SketchDefinition
from muntin.errors import ArgumentError, ExpressionError, did_you_mean
from muntin.expressions.dialect import (
    SPARK,
    constant,
    is_of_distinct,
    nesting_limit,
    parse_expression,
    refuse_parts,
    understood,
    written,
)
from muntin.expressions.nodes import (
    Correlation,
    Inner,
    Node,
    Slot,
    conjunction,
    moved,
)
from muntin.expressions.read import (
    ConditionReader,
    shown,
)
from muntin.expressions.spark_expressions import Expression, Name, Sql

#: The aggregates that return the value of one row, which may be null.
AT_EDGES = ("first", "last", "any_value")
#: A user's own aggregates by their names in SQL text.
Own = Mapping[str, OwnAggregate]
NO_FUNCTIONS: Own = MappingProxyType({})


@dataclass(frozen=True)
class Column:
    """A result column: its aggregates, and the SQL that combines them.

    That SQL, ``outer``, refers to the aggregates as ``placeholder(0)``, ``placeholder(1)`` and so
    on. It is None if the column is just one aggregate.
    """

    name: str
    aggregates: tuple[Aggregate, ...]
    outer: str | None = None


def placeholder(place: int) -> str:
    """Return the name under which the SQL of a result column refers to one of its aggregates."""
    return f"__muntin_aggregate_{place}"


def _reserved(name: str) -> bool:
    return name.casefold().startswith(placeholder(0)[:-1])


def numbered(outer: str, first: int) -> str:
    """Return the SQL of a result column with its aggregates numbered from ``first`` on.

    >>> numbered("__muntin_aggregate_0 / __muntin_aggregate_1", 4)
    '__muntin_aggregate_4 / __muntin_aggregate_5'
    """
    text = outer
    for token in reversed(sqlglot.tokenize(outer, read=SPARK)):
        if token.token_type is TokenType.VAR and _reserved(token.text):
            place = int(token.text.removeprefix(placeholder(0)[:-1]))
            text = text[: token.start] + placeholder(first + place) + text[token.end + 1 :]
    return text


def parse_column(
    text: str, known: Sequence[str], own: Own = NO_FUNCTIONS, alone: Sequence[str] = ()
) -> Column:
    """Read one result column; ``known`` are the columns it may use outside aggregates.

    With one of the columns in ``alone`` it needs no aggregate.
    """
    with nesting_limit(text):
        tree = parse_expression(text)
        if not isinstance(tree, exp.Alias) and re.search(r"\bas\s*$", text, re.IGNORECASE):
            raise ExpressionError("the name after AS is missing", text, len(text))
        name = tree.alias if isinstance(tree, exp.Alias) else text.strip()
        body = tree.this if isinstance(tree, exp.Alias) else tree
        return _column_of(body, name, text, known, own, alone)


def read_column(tree: exp.Expr, name: str, known: Sequence[str], own: Own = NO_FUNCTIONS) -> Column:
    """Read a result column from a query's tree, in which every call is a name and arguments."""
    text = written(tree)  # for messages
    with nesting_limit(text):
        body = understood(tree)
        refuse_parts(body, text)
        return _column_of(body, name, text, known, own)


def own_functions(given: object) -> dict[str, OwnAggregate]:
    """Check the names under which SQL text may call a user's own aggregates."""
    if not isinstance(given, Mapping):
        raise ArgumentError("functions", given, "write {'geometric_mean': GeometricMean()}")
    for name, aggregate in given.items():
        if not isinstance(name, str) or not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
            raise ArgumentError("functions", name, "a name has small letters, digits and _ only")
        if not isinstance(aggregate, OwnAggregate):
            raise ArgumentError("functions", aggregate, f"{name} must be an mt.OwnAggregate")
        if name in sql_aggregates():
            raise ArgumentError("functions", name, "Muntin has an aggregate of this name already")
        if not isinstance(parse_expression(f"{name}(x)"), exp.Anonymous):
            raise ArgumentError("functions", name, "SQL has a function of this name already")
    return dict(given)


def _column_of(
    tree: exp.Expr,
    name: str,
    text: str,
    known: Sequence[str],
    own: Own = NO_FUNCTIONS,
    alone: Sequence[str] = (),
) -> Column:
    """Read a result column from the tree of an expression; messages show ``text``."""
    for taken in [*known, *(column.name for column in tree.find_all(exp.Column))]:
        if _reserved(taken):
            raise ExpressionError(
                f"column {taken!r} has a name that Muntin uses for itself; rename it", text
            )
    aggregates: list[Aggregate] = []
    outer = _without_aggregates(tree, text, aggregates, own)
    suffices = {name.casefold() for name in alone}
    mentioned = {column.name.casefold() for column in outer.find_all(exp.Column)}
    if not aggregates and not mentioned & suffices:
        raise ExpressionError(f"there is no aggregate in it{hint(tree, own)}", text)
    names = {name.casefold() for name in known}  # Spark ignores case too
    for column in outer.find_all(exp.Column):
        if column.name.casefold() not in names and not _reserved(column.name):
            raise ExpressionError(
                f"column {column.name!r} stands outside an aggregate and is not in `by`",
                text,
                text.find(column.name),
            )
    if len(aggregates) == 1 and isinstance(outer, exp.Column):
        return Column(name, (aggregates[0],))
    return Column(name, tuple(aggregates), written(outer))


def parse_correlated(dependent: Aggregate, text: str) -> Correlated:
    """Read a condition on rows that contains aggregates (``"x >= avg(x)"``)."""
    with nesting_limit(text):
        tree = parse_expression(text)
        if isinstance(tree, exp.Alias):
            raise ExpressionError("a condition has no alias", text)
        if not has_aggregates(tree):
            raise ExpressionError(
                "there is no aggregate in it, so it is no correlated condition; "
                "use the plain aggregate with .filter(...)",
                text,
            )
        # With the same text as in the condition, a column is sent once.
        arguments = tuple(map(_as_in_text, dependent.arguments))
        return _correlated(replace(dependent, arguments=arguments), tree, text)


def _as_in_text(expression: Expression) -> Expression:
    if not isinstance(expression, Name) or not expression.name.isidentifier():
        return expression
    tree = parse_expression(expression.name)
    return Sql(written(tree)) if isinstance(tree, exp.Column) else expression


def _correlated(
    dependent: Aggregate, where: exp.Expr, text: str, own: Own = NO_FUNCTIONS
) -> Correlated:
    """Return an aggregate over the rows that meet a condition with aggregates in it."""
    _check_correlates(dependent, text)
    reader = ConditionReader(text, lambda tree: not has_aggregates(tree, own))

    def inner(tree: exp.Expr) -> Inner | None:
        aggregate = aggregate_of(tree, text, own)
        return None if aggregate is None else _inner(aggregate, reader)

    reader.inner = inner
    argument = reader.place(dependent.arguments[0]) if dependent.arguments else None
    node = reader.node(where)
    if not reader.slots:
        reader.place(Sql("TRUE"))  # rows can only be counted if a column of them is kept
    label = f"{dependent} FILTER (WHERE {shown(where)})"
    correlation = Correlation(dependent.function, argument, node, len(reader.slots), label)
    return Correlated("correlated", tuple(reader.slots), dependent.condition, None, (correlation,))


def _inner(aggregate: Aggregate, reader: ConditionReader) -> Inner:
    _check_correlates(aggregate, reader.text)
    where: list[Node] = []
    if aggregate.condition is not None:
        where.append(Slot(reader.place(aggregate.condition)))
    if not isinstance(aggregate, Correlated):
        argument = reader.place(aggregate.arguments[0]) if aggregate.arguments else None
        return Inner(aggregate.function, argument, conjunction(where) if where else None)
    places = tuple(reader.place(slot) for slot in aggregate.arguments)
    below = aggregate.correlation
    argument = None if below.argument is None else places[below.argument]
    return Inner(below.function, argument, conjunction([moved(below.where, places), *where]))


def _check_correlates(aggregate: Aggregate, text: str) -> None:
    able = [name for name, definition in DEFINITIONS.items() if definition.correlates]
    if not isinstance(aggregate, Correlated) and aggregate.function not in able:
        raise ExpressionError(
            f"{aggregate.function} cannot be part of a correlated aggregate; "
            f"these can: {', '.join(able)}",
            text,
        )


def _without_aggregates(
    tree: exp.Expr, text: str, aggregates: list[Aggregate], own: Own
) -> exp.Expr:
    """Return the tree with placeholders for its aggregates, and add these to the list."""

    def placed(node: exp.Expr) -> exp.Expr:
        aggregate = aggregate_of(node, text, own)
        if aggregate is None:
            return node
        if aggregate not in aggregates:
            aggregates.append(aggregate)
        return exp.column(placeholder(aggregates.index(aggregate)))

    return tree.transform(placed)


def aggregate_of(node: exp.Expr, text: str, own: Own) -> Aggregate | None:
    if isinstance(node, exp.Filter):
        inner = aggregate_of(node.this, text, own)
        if inner is None:
            raise ExpressionError("FILTER belongs to an aggregate such as max(...)", text)
        if has_aggregates(node.expression, own):
            return _correlated(inner, node.expression.this, text, own)
        return inner.filter_by(Sql(written(node.expression.this)))
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        inner = aggregate_of(node.this, text, own)
        if inner is None or inner.function not in AT_EDGES:
            raise ExpressionError("IGNORE NULLS and RESPECT NULLS belong to first and last", text)
        return ignoring_nulls(inner) if isinstance(node, exp.IgnoreNulls) else inner
    name = aggregate_name(node, own)
    if name is None:
        _refuse_synopsis(node, text)
        return None
    if is_of_distinct(node):
        arguments = _unnested(node.this.expressions)
        if len(arguments) > 1 and name == "count":
            arguments = [_together(arguments)]
        if len(arguments) != 1:
            raise ExpressionError(f"{name}(DISTINCT ...) takes 1 argument", text)
        name = f"{name}_distinct"
    else:
        arguments = _arguments(node)
    for argument in arguments:
        refuse_aggregates(argument, text, "an aggregate cannot stand inside another", own)
    if name in own:
        return _own(name, arguments, text, own[name])
    definition = sql_aggregates()[name]
    if isinstance(definition, SketchDefinition):
        _check_columns(name, arguments, text)
        return _own(name, arguments[:1], text, _sketch(definition, name, arguments[1:], text))
    return _built(definition, name, arguments, text)


def _together(arguments: list[exp.Expr]) -> exp.Expr:
    """Return values as one, null where one of them is: as COUNT(DISTINCT a, b) counts them."""
    known = exp.and_(*(argument.copy().is_(exp.null()).not_() for argument in arguments))
    return exp.Case().when(known, exp.Anonymous(this="struct", expressions=arguments))


def _refuse_synopsis(node: exp.Expr, text: str) -> None:
    """Raise if a node calls a synopsis, which Python has and SQL text has not."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if name in synopsis_names():
        raise ExpressionError(
            f"SQL text cannot call the synopsis {name}; write mt.{name}(...) in Python",
            text,
            text.lower().find(name),
        )


def _built(definition: Definition, name: str, arguments: list[exp.Expr], text: str) -> Aggregate:
    if definition.name == "count" and _counts_rows(arguments):
        return Aggregate("count", ())
    flag = arguments[1] if definition.takes_flag and len(arguments) == 2 else None
    if isinstance(flag, exp.Boolean):
        arguments = arguments[:1]
    options: tuple[object, ...] = ()
    if definition.constant is not None and len(arguments) == 2:
        options = (_constant(definition, arguments[1], text),)
        arguments = arguments[:1]
    elif definition.constant is not None and definition.constant.default is not None:
        options = (definition.constant.default,)
    wanted = definition.columns + (definition.constant is not None)
    if len(arguments) + len(options) != wanted:
        plural = "" if wanted == 1 else "s"
        raise ExpressionError(f"{name} takes {wanted} argument{plural}", text, text.find(name))
    if any(part.is_star for part in arguments):
        raise ExpressionError(f"{name} takes a column; count(*) counts rows", text, text.find("*"))
    expressions: tuple[Expression, ...] = tuple(Sql(written(part)) for part in arguments)
    aggregate = Aggregate(definition.name, expressions, options=options)
    ignores_nulls = definition.name in AT_EDGES and flag == exp.true()
    return ignoring_nulls(aggregate) if ignores_nulls else aggregate


def _constant(definition: Definition, tree: exp.Expr, text: str) -> object:
    assert definition.constant is not None
    given = _text(tree) if definition.constant.text else constant(tree)
    try:
        return definition.constant.check(definition.constant.name, given)
    except ArgumentError as error:
        place = text.find(written(tree))
        raise ExpressionError(str(error), text, place if place >= 0 else None) from None


def _text(tree: exp.Expr) -> str | None:
    """Return what a literal text says; None for anything else."""
    return str(tree.this) if isinstance(tree, exp.Literal) and tree.is_string else None


def _own(name: str, arguments: list[exp.Expr], text: str, own: OwnAggregate) -> Aggregate:
    _check_columns(name, arguments, text)
    return Aggregate("own", tuple(Sql(written(part)) for part in arguments), options=(own,))


def _check_columns(name: str, arguments: list[exp.Expr], text: str) -> None:
    if not arguments or any(part.is_star for part in arguments):
        raise ExpressionError(f"{name} takes a column", text, text.find(name))


def _sketch(
    definition: SketchDefinition, name: str, arguments: list[exp.Expr], text: str
) -> OwnAggregate:
    try:
        return definition.make(*map(constant, arguments))
    except TypeError:
        raise ExpressionError(f"write {definition.usage}", text, text.find(name)) from None
    except ArgumentError as error:
        raise ExpressionError(str(error), text, text.find(name)) from error


def _counts_rows(arguments: list[exp.Expr]) -> bool:
    return len(arguments) == 1 and isinstance(arguments[0], exp.Star | exp.Literal)


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return _unnested(node.expressions)
    operand = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    special = sql_nodes().get(type(node).__name__)
    if special is not None and special.parts:
        return [operand, *(node.args[part] for part in special.parts if node.args.get(part))]
    return [operand, *node.expressions] if operand is not None else list(node.expressions)


def _unnested(nodes: list[exp.Expr]) -> list[exp.Expr]:
    """Remove the parentheses around nodes: ``median((x))`` is ``median(x)``."""
    return [node.unnest() for node in nodes]


def hint(body: exp.Expr, own: Own) -> str:
    known = (*sql_aggregates(), *own)
    called = body.this if isinstance(body, exp.Anonymous) else None
    if isinstance(called, str):
        return f": {called} is not an aggregate Muntin knows{did_you_mean(called.lower(), known)}"
    match = re.match(r"\w+", written(body))
    return f"{did_you_mean(match.group().lower(), known)}" if match else ""
