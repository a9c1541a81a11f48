"""What Spark has to prepare for a query of the engine, found while the query is planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from muntin.errors import CannotEvaluate
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.row_expression import compile_row_expression
from muntin.expressions.spark_expressions import (
    AsDouble,
    Both,
    CastTo,
    Expression,
    Hashed,
    Lacking,
    NotNull,
    Sql,
    Times,
    Travelling,
    Where,
)
from muntin.operators.shared.prepared_column import PreparedColumn
from muntin.parser.dialect import SQL, written
from muntin.spark.plan.inputs import StreamInput
from muntin.spark.plan.worker_program import type_in_spark
from muntin.spark.scan.choose import arrow_field

#: Spark's functions that are NULL where an operator or a cast raises an error.
_TRIED: dict[type[exp.Expr], str] = {
    exp.Add: "try_add",
    exp.Sub: "try_subtract",
    exp.Mul: "try_multiply",
    exp.Div: "try_divide",
    exp.Mod: "try_mod",
}
#: Functions that have a form with ``try_`` before their name.
_TRIED_FUNCTIONS = {
    *("to_timestamp", "to_date", "to_time", "to_number", "to_binary", "element_at"),
    *("make_timestamp", "make_interval", "parse_json", "parse_url", "url_decode", "aes_decrypt"),
}


@dataclass
class Preparation:
    """Finds what workers cannot evaluate of a query, and lets Spark prepare it.

    Args:
        streams: The inputs of the stream, over empty tables with all columns that can be read.
        carried: The columns that each input carries.
        zone: The time zone of the session.
    """

    streams: Sequence[StreamInput]
    carried: Sequence[Sequence[str]]
    zone: str
    found: dict[tuple[int, str], PreparedColumn] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[PreparedColumn, ...]:
        """What Spark prepares, in an order that does not depend on the query's."""
        return tuple(self.found[place] for place in sorted(self.found))

    def schema(self, of: int) -> pa.Schema:
        """Return the columns of an input, with what is prepared of it so far."""
        known = [arrow_field(own, self.zone) for own in self.streams[of].df.schema.fields]
        beside = [
            pa.field(own.name, own.type)
            for own in self.found.values()
            if own.of == of and own.is_evaluated
        ]
        return pa.schema([*known, *beside])

    def travelling(
        self, of: int, columns: Sequence[Travelling], wanted: pa.Schema
    ) -> list[Travelling]:
        """Return columns that travel, with prepared ones in the place of what only Spark can."""
        return [(name, self._column(of, part, wanted.field(name))) for name, part in columns]

    def _column(self, of: int, part: Expression, wanted: pa.Field) -> Expression:
        try:
            own = pa.schema([wanted])
            ArrowColumns.of([(wanted.name, part)], self.schema(of), own, self.zone, errors="null")
        except CannotEvaluate:
            return Sql(f"`{self._prepared(of, part, wanted.type).name}`")
        return part

    def text(self, of: int, text: str, *, where: bool = False) -> str:
        """Return a text over the columns of an input, or a prepared column in its place."""
        known = self.schema(of)
        types = dict(zip(known.names, known.types, strict=True))
        try:
            compile_row_expression(text, types, zone=self.zone, errors="null")
        except CannotEvaluate:
            type_ = pa.bool_() if where else type_in_spark(self.streams[of], Sql(text))
            return f"`{self._prepared(of, Sql(text), type_).name}`"
        return text

    def note_read(self, of: int, names: Sequence[str]) -> None:
        """Note the columns that a query reads; those that are not carried are prepared."""
        schema = self.schema(of)
        evaluated = {own.name for own in self.found.values() if own.is_evaluated}
        for name in names:
            if name not in self.carried[of] and name not in evaluated:
                self.found[of, name] = PreparedColumn.carried(of, name, schema.field(name).type)

    def _prepared(self, of: int, part: Expression, type_: pa.DataType) -> PreparedColumn:
        tried = without_errors(part)
        if (made := type_in_spark(self.streams[of], tried)) != type_:
            raise CannotEvaluate(f"{part} is {type_}, and {made} where errors are NULL")
        prepared = PreparedColumn.evaluated(of, tried, type_)
        self.found[of, prepared.name] = prepared
        return prepared


def without_errors(part: Expression) -> Expression:
    """Return an expression that is NULL where the part raises an error, as far as SQL can tell."""
    match part:
        case Sql(text):
            tree = SQL().parse(text)[0]
            assert tree is not None  # it was read before
            return Sql(written(_all_safe(tree)))
        case Where(condition, value):
            return Where(
                without_errors(condition), None if value is None else without_errors(value)
            )
        case NotNull(operands):
            return NotNull(tuple(map(without_errors, operands)))
        case Both(left, right):
            return Both(without_errors(left), without_errors(right))
        case Times(left, right):
            return Times(without_errors(left), without_errors(right))
        case AsDouble(operand):
            return AsDouble(without_errors(operand))
        case Hashed(operand):
            return Hashed(without_errors(operand))
        case CastTo(operand, type_):
            return CastTo(without_errors(operand), type_)
        case Lacking(operands, floating):
            tried = {operand: without_errors(operand) for operand in operands}
            return Lacking(tuple(tried.values()), tuple(tried[operand] for operand in floating))
    return part


def _all_safe(tree: exp.Expr) -> exp.Expr:
    """Return a tree whose parts are NULL where they would raise, the innermost first."""
    for node in reversed(list(tree.walk())):
        made = _safe(node)
        if node is tree:
            return made
        if made is not node:
            node.replace(made)
    raise AssertionError("a tree has a root")


def _safe(node: exp.Expr) -> exp.Expr:
    """Return a node that is NULL where it would raise; functions without such a form stay."""
    match node:
        case exp.Cast():  # sqlglot reads CAST of Spark's SQL as TRY_CAST that is not safe
            return exp.TryCast(**{**node.args, "safe": True})
        case exp.IntDiv():
            divisor = exp.Anonymous(this="nullif", expressions=[node.expression, exp.convert(0)])
            return exp.IntDiv(this=node.this, expression=divisor)
        case exp.Anonymous() if str(node.this).lower() in _TRIED_FUNCTIONS:
            return exp.Anonymous(this=f"try_{node.this}".lower(), expressions=node.expressions)
    name = _TRIED.get(type(node))
    if name is None:
        return node
    return exp.Anonymous(this=name, expressions=[node.this, node.expression])
