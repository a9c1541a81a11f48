"""Evaluating the columns that travel on an Arrow table, as Spark would from the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import CannotEvaluate
from muntin.expressions.row_expression import Errors, RowExpression, compile_row_expression
from muntin.expressions.spark_expressions import (
    AsDouble,
    Both,
    CastTo,
    Expression,
    Hashed,
    KeyOf,
    Lacking,
    Name,
    Native,
    NotNull,
    Sql,
    Times,
    Travelling,
    Where,
)

_WIDENED = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}


@dataclass(frozen=True)
class CompiledSql(Sql):
    """SQL text that is evaluated on Arrow."""

    compiled: RowExpression


@dataclass(frozen=True)
class ArrowColumns:
    """Columns that travel, with the types that Spark would give them.

    Only rows that meet all ``conditions`` travel.
    """

    columns: tuple[Travelling, ...]
    schema: pa.Schema
    conditions: tuple[Expression, ...] = ()

    @classmethod
    def of(
        cls,
        travelling: Sequence[Travelling],
        given: pa.Schema,
        wanted: pa.Schema,
        zone: str | None,
        conditions: Sequence[str] = (),
        errors: Errors = "raise",
    ) -> ArrowColumns:
        """Check that the columns can be evaluated on rows of some schema; else CannotEvaluate.

        Args:
            travelling: The columns.
            given: The columns of the rows, in the types in which Spark reads them.
            wanted: The columns that travel, in the types that Spark finds for them.
            zone: The time zone of the session; None if arithmetic does not follow ANSI SQL, so that
                only Spark evaluates expressions.
            conditions: The conditions that rows must meet, in SQL.
            errors: Whether an expression that Spark's ANSI mode refuses raises, or is null.
        """
        compiled = partial(_compiled, given=given, zone=zone, errors=errors)
        bound = tuple((name, _bound(expression, compiled)) for name, expression in travelling)
        chosen = tuple(compiled(text) for text in conditions)
        columns = cls(bound, wanted, chosen)
        for condition in chosen:
            if not pa.types.is_boolean(_evaluate(condition, given.empty_table()).type):
                raise CannotEvaluate(f"{condition} is no condition on Arrow")
        for name, found in zip(wanted.names, columns._evaluated(given.empty_table()), strict=True):
            if found.type != wanted.field(name).type:
                raise CannotEvaluate(
                    f"{dict(bound)[name]} is {found.type} on Arrow and "
                    f"{wanted.field(name).type} in Spark"
                )
        return columns

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read, once each."""
        parts = (*self.conditions, *(part for _, part in self.columns))
        return tuple(dict.fromkeys(name for part in parts for name in _names(part)))

    @property
    def compiled_conditions(self) -> tuple[RowExpression, ...]:
        """The conditions that are more than a plain column."""
        return tuple(part.compiled for part in self.conditions if isinstance(part, CompiledSql))

    def evaluate(self, rows: pa.Table) -> pa.Table:
        """Return the columns that travel of some rows."""
        for condition in self.conditions:
            rows = rows.filter(_evaluate(condition, rows))
        return pa.Table.from_arrays(self._evaluated(rows), schema=self.schema)

    def _evaluated(self, rows: pa.Table) -> list[pa.ChunkedArray]:
        return [
            _in_zone(_chunked(_evaluate(part, rows)), self.schema.field(name).type)
            for name, part in self.columns
        ]


def _compiled(text: str, given: pa.Schema, zone: str | None, errors: Errors) -> Expression:
    """Return a text as a plain column, or compiled; raise CannotEvaluate if only Spark can."""
    plain = text.strip().strip("`").lower()
    names = [name for name in given.names if name.lower() == plain]
    if names:
        return Name(names[-1])
    if zone is None:
        raise CannotEvaluate(f"{text} is not a plain column, and spark.sql.ansi.enabled is false")
    columns = dict(zip(given.names, given.types, strict=True))
    compiled = compile_row_expression(text, columns, zone=zone, errors=errors)
    return CompiledSql(text, compiled)


def _bound(expression: Expression, compiled: Callable[[str], Expression]) -> Expression:
    """Return an expression whose texts are plain columns, or compiled."""
    match expression:
        case Name() | KeyOf():
            return expression
        case Sql(text):
            return compiled(text)
        case Native():
            raise CannotEvaluate(f"{expression} is a PySpark column, which only Spark evaluates")
        case Where(condition, value):
            inner = None if value is None else _bound(value, compiled)
            return Where(_bound(condition, compiled), inner)
        case NotNull(operands):
            return NotNull(tuple(_bound(operand, compiled) for operand in operands))
        case Both(left, right):
            return Both(_bound(left, compiled), _bound(right, compiled))
        case Times(left, right):
            return Times(_bound(left, compiled), _bound(right, compiled))
        case AsDouble(operand):
            return AsDouble(_bound(operand, compiled))
        case Lacking(operands, floating):
            bound = {operand: _bound(operand, compiled) for operand in operands}
            return Lacking(tuple(bound.values()), tuple(bound[operand] for operand in floating))
        case CastTo(operand, type_) if type_ in _WIDENED:
            return CastTo(_bound(operand, compiled), type_)
        case CastTo() | Hashed():
            raise CannotEvaluate(f"{expression} is evaluated only by Spark")


def _names(expression: Expression) -> list[str]:
    """Return the columns that a bound expression reads."""
    match expression:
        case Name(name) | KeyOf(name):
            return [name]
        case CompiledSql(compiled=compiled):
            return list(compiled.columns)
        case Where(condition, value):
            return _names(condition) + ([] if value is None else _names(value))
        case NotNull(operands) | Lacking(operands):
            return [name for operand in operands for name in _names(operand)]
        case Both(left, right) | Times(left, right):
            return _names(left) + _names(right)
        case AsDouble(operand) | CastTo(operand):
            return _names(operand)
    raise AssertionError(f"{expression} is not bound")


def _evaluate(expression: Expression, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
    match expression:
        case Name(name):
            return rows[name]
        case KeyOf(name):
            return _key(rows[name])
        case CompiledSql(compiled=compiled):
            return compiled.evaluate(rows)
        case Where(condition, None):
            return pc.if_else(_evaluate(condition, rows), pa.scalar(1, pa.int32()), None)
        case Where(condition, value):
            assert value is not None
            return _where(_evaluate(condition, rows), value, rows)
        case NotNull(operands):
            return _all([pc.is_valid(_evaluate(operand, rows)) for operand in operands], rows)
        case Both(left, right):
            return pc.and_kleene(_evaluate(left, rows), _evaluate(right, rows))
        case Times(left, right):
            return pc.multiply(_evaluate(left, rows), _evaluate(right, rows))
        case AsDouble(operand):
            return _as_double(_evaluate(operand, rows))
        case Lacking(operands, floating):
            return _lacking(operands, floating, rows)
        case CastTo(operand, type_):
            return _widened(_evaluate(operand, rows), _WIDENED[type_])
    raise AssertionError(f"{expression} is not bound")


def _in_zone(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return instants in the zone in which Spark hands them over; it does not change them."""
    instants = all(pa.types.is_timestamp(type_) and type_.tz for type_ in (column.type, wanted))
    return column.cast(wanted) if instants else column


def _key(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a key: adding zero turns -0.0 to 0.0; every NaN becomes the same one."""
    zero, nan = (pa.scalar(value, column.type) for value in (0.0, float("nan")))
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def _where(condition: pa.Array, value: Expression, rows: pa.Table) -> pa.Array:
    """Return the value where the condition is true; only there it is evaluated, as in Spark."""
    if isinstance(value, Name):
        column = rows[value.name]
        return pc.if_else(condition, column, pa.scalar(None, column.type))
    chosen = pc.fill_null(condition, False)
    mask = np.asarray(chosen).astype(bool)
    found = _chunked(_evaluate(value, rows.filter(chosen))).combine_chunks()
    places = pa.array(np.cumsum(mask) - 1, mask=~mask)
    return found.take(places)


def _all(conditions: Sequence[pa.Array], rows: pa.Table) -> pa.Array:
    together = pa.array(np.ones(rows.num_rows, bool))
    for condition in conditions:
        together = pc.and_(together, condition)
    return together


def _lacking(
    operands: Sequence[Expression], floating: Sequence[Expression], rows: pa.Table
) -> pa.Array:
    lacking = pa.array(np.zeros(rows.num_rows, bool))
    for operand in operands:
        value = _evaluate(operand, rows)
        lacking = pc.or_(lacking, pc.is_null(value, nan_is_null=operand in floating))
    return lacking


def _as_double(value: pa.Array) -> pa.Array:
    if pa.types.is_decimal(value.type):
        raise CannotEvaluate("a decimal as a double is rounded only by Spark")
    if not (pa.types.is_integer(value.type) or pa.types.is_floating(value.type)):
        raise CannotEvaluate(f"{value.type} becomes a double only in Spark")
    # A bigint above 2**53 is rounded to the nearest double, as in Spark.
    return value.cast(pa.float64(), safe=False)


def _widened(value: pa.Array, wanted: pa.DataType) -> pa.Array:
    if not pa.types.is_signed_integer(value.type) or value.type.bit_width > wanted.bit_width:
        raise CannotEvaluate(f"{value.type} becomes {wanted} only in Spark")
    return value.cast(wanted)


def _chunked(array: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
