"""Expressions of one row, compiled from SQL and evaluated on Arrow tables as Spark would.

``compile_row_expression`` raises :class:`~muntin.errors.CannotEvaluate` for whatever is not known
to be exactly what Spark gives with ANSI mode on; such an expression is left to Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import CannotEvaluate, ExpressionError, RowError
from muntin.expressions.casts import to_arrow
from muntin.expressions.coercion import INSTANT, Coercion
from muntin.expressions.evaluate import Evaluation
from muntin.expressions.failures import fails
from muntin.expressions.nodes import Inner, Node
from muntin.expressions.values import Value, from_arrow

Errors = Literal["raise", "null"]


@dataclass(frozen=True)
class RowExpression:
    """An expression of one row, its type, and the columns that it reads.

    ``type`` is the Arrow type of Spark's result; a timestamp has the zone UTC. ``paths`` are the
    columns and fields by their places, with their types. With ``errors="raise"`` evaluation raises
    :class:`~muntin.errors.RowError` where Spark raises an error in ANSI mode; with ``"null"`` a
    part that fails is null, as with Spark's ``try_`` functions.

    >>> added = compile_row_expression("a + 1", {"a": pa.int32()}, zone="UTC", errors="null")
    >>> added.type, added.columns
    (DataType(int32), ('a',))
    >>> added.evaluate(pa.table({"a": pa.array([1, None, 2**31 - 1], pa.int32())})).to_pylist()
    [2, None, None]
    """

    text: str
    node: Node
    type: pa.DataType
    paths: tuple[tuple[str, ...], ...]
    types: tuple[pa.DataType, ...]
    errors: Errors

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are read, each once."""
        return tuple(dict.fromkeys(path[0] for path in self.paths))

    def evaluate(self, table: pa.Table) -> pa.Array:
        """Return the value for each row of a table that has the columns."""
        evaluation = Evaluation(
            lambda place: column_value(table, self.paths[place], self.types[place]), _no_aggregate
        )
        value = evaluation.value(self.node)
        if self.errors == "raise" and fails(self.node, evaluation):
            raise RowError(self.text)
        column = to_arrow(value, self.type)
        return column if len(column) == table.num_rows else pa.repeat(column[0], table.num_rows)


def column_value(table: pa.Table, path: tuple[str, ...], type_: pa.DataType) -> Value:
    """Return the values of a column, or of a field in it, in the type they are evaluated in."""
    name, *fields = path
    column = table.column(name)
    for field in fields:
        column = pc.struct_field(column, field)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return from_arrow(whole if whole.type == type_ else whole.cast(type_))


def compile_row_expression(
    text: str, columns: Mapping[str, pa.DataType], *, zone: str, errors: Errors
) -> RowExpression:
    """Read an expression of one row; raise CannotEvaluate if only Spark can evaluate it.

    Args:
        text: An expression in Spark's SQL.
        columns: The columns of the tables that it will be evaluated on, with their types.
        zone: The session's time zone.
        errors: ``"raise"`` to raise where Spark does in ANSI mode, ``"null"`` for null there.
    """
    # Workers only evaluate, and are ready sooner without a parser.
    from muntin.expressions.dialect import nesting_limit, parse_expression
    from muntin.expressions.read import read_row_expression

    try:
        with nesting_limit(text):
            tree, names = read_row_expression(parse_expression(text), text, zone)
            resolved = [_resolved(parts, columns) for parts in names]
            types = tuple(type_ for _, type_ in resolved)
            node, type_ = Coercion(types, zone).typed(tree)
    except ExpressionError as error:
        raise CannotEvaluate(f"{text!r} is left to Spark: {error.problem}") from None
    except CannotEvaluate as error:
        raise CannotEvaluate(f"{text!r} is left to Spark: {error}") from None
    paths = tuple(path for path, _ in resolved)
    return RowExpression(text, node, type_, paths, types, errors)


def _resolved(
    parts: tuple[str, ...], columns: Mapping[str, pa.DataType]
) -> tuple[tuple[str, ...], pa.DataType]:
    """Find a column, and fields in it, by names in any case."""
    path = [_named(parts[0], list(columns))]
    type_ = columns[path[0]]
    for part in parts[1:]:
        if not pa.types.is_struct(type_):
            raise CannotEvaluate(f"{path[-1]} is no struct, so it has no field {part}")
        path.append(_named(part, [field.name for field in type_]))
        type_ = type_.field(path[-1]).type
    return tuple(path), _as_spark_has_it(type_, ".".join(path))


def _named(name: str, names: list[str]) -> str:
    alike = [other for other in names if other.lower() == name.lower()]
    if len(alike) != 1:
        problem = "is no column" if not alike else "is the name of several columns"
        raise CannotEvaluate(f"{name} {problem}")
    return alike[0]


def _as_spark_has_it(type_: pa.DataType, name: str) -> pa.DataType:
    """Return the type in which values are evaluated."""
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us") if type_.tz is None else INSTANT
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_dictionary(type_):
        return _as_spark_has_it(type_.value_type, name)
    known = (pa.types.is_boolean, pa.types.is_string, pa.types.is_date32, pa.types.is_null)
    signed = pa.types.is_signed_integer, pa.types.is_float32, pa.types.is_float64
    if any(test(type_) for test in (*known, *signed, pa.types.is_decimal128)):
        return type_
    raise CannotEvaluate(f"{name} has the type {type_}")


def _no_aggregate(node: Inner) -> Value:
    raise AssertionError(node)  # refused when the expression was compiled
