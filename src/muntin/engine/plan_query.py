"""Planning a query of the engine: from SQL text to a program that workers run.

The planner plans the query over an empty table with the columns of the stream. What workers cannot
evaluate is refused with the reason, except the select list: Spark evaluates it where answers are
committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from muntin.engine.planning.continuous_query import check_answers, check_closed, of_stream
from muntin.errors import CannotEvaluate, EngineError
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.row_expression import compile_row_expression
from muntin.operators.shared.asking.newest import NewestOf, orderable
from muntin.operators.shared.program import AnswerColumns, ProgramInput, QueryProgram
from muntin.parser.dialect import SQL, written
from muntin.parser.parse import parse_query
from muntin.parser.query import check_continuous
from muntin.parser.statements import Query
from muntin.planner.aggregates import any_aggregate, known_aggregates, replaced
from muntin.planner.bounded import check_bounded
from muntin.planner.relations import Columns, Scope
from muntin.planner.translate import TranslatedQuery, tables_of, translate
from muntin.spark.api.plan import Plan
from muntin.spark.api.stream import Stream
from muntin.spark.columns import DataFrame, to_arrow
from muntin.spark.plan.results import ResultNames
from muntin.spark.plan.worker_program import carried_schema, condition_of, program_of, zone_of
from muntin.specs.axis import Axis

#: Parts of a SELECT that workers evaluate.
_EVALUATED = {"expressions", "from_", "where", "kind", "hint"}
#: How the names of Spark's types of numbers begin.
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
#: Turns the rows that an operator reports into answers, with Spark.
SparkFinish = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, eq=False)
class PlannedQuery:
    """A query that was planned.

    Args:
        text: The query.
        stream: The name of the stream that it reads.
        program: What workers run.
        columns: The columns of its answers, without ``complete``.
        order: The columns of its answers to sort them by: keys and bounds.
        finish: How Spark turns the operator's rows into answers; None if workers do.
        why_spark: Why Spark does, for ``explain``.
    """

    text: str
    stream: str
    program: QueryProgram
    columns: pa.Schema
    order: tuple[str, ...]
    finish: SparkFinish | None = None
    why_spark: str | None = None


def plan_query(text: str, streams: Mapping[str, tuple[Stream, Axis]]) -> PlannedQuery:
    """Plan a query over one of the streams of an engine.

    Args:
        text: A SELECT.
        streams: The streams by name, over empty tables, with the axis of each.
    """
    query = parse_query(text)
    check_continuous(query)
    name = _stream_of(query, list(streams))
    stream, axis = streams[name]
    # The name of a stream is known in any case, and only this stream can be read.
    answer = of_stream(translate(query, Scope.of(stream.df.sparkSession, {name: stream}, {})))
    check_bounded(answer)
    try:
        check_answers(answer, stream.disorder)
        if not answer.plans:
            return _filter(query, answer, name, stream)
        return _computed(query, answer, name, stream, axis)
    except CannotEvaluate as reason:
        raise EngineError(
            f"the engine cannot run this query: {reason}; mt.sql and muntin run can"
        ) from reason


def _stream_of(query: Query, names: Sequence[str]) -> str:
    read = list(dict.fromkeys(name.casefold() for name in tables_of(query)))
    known = {name.casefold(): name for name in names}
    others = [name for name in read if name not in known]
    if others:
        there = ", ".join(names) or "none"
        raise EngineError(f"the engine has no stream {others[0]}; its streams are: {there}")
    if len(read) != 1:
        raise EngineError(
            "a query of the engine reads one stream; a join needs a stream that is declared with "
            'both inputs: engine.stream("both", {"a": df1, "b": df2}, on=..., by=...)'
        )
    return known[read[0]]


def _filter(query: Query, answer: TranslatedQuery, name: str, stream: Stream) -> PlannedQuery:
    """Plan a query that only chooses rows."""
    tree = answer.rest
    select = _simple(tree)
    if select is None or query.windowings or any_aggregate(select, known_aggregates(())):
        raise CannotEvaluate(
            "without a window it can only choose rows: SELECT columns FROM a stream WHERE ..."
        )
    carried, zone = carried_schema(stream), zone_of(stream)
    columns = Columns(select.args["from_"].this.alias_or_name, carried.names)
    where = select.args.get("where")
    predicate = None
    if where is not None:
        predicate = condition_of(written(replaced(where.this, columns.bare)), carried, zone)
    answers = _answer_columns(select, answer.df, columns, carried, zone, ())
    # What travels is evaluated by the answers themselves.
    nothing = ProgramInput(ArrowColumns((), pa.schema([])), predicate)
    program = QueryProgram(0, (nothing,), None, answers)
    return PlannedQuery(query.text, name, program, answers.schema, ())


def _computed(
    query: Query, answer: TranslatedQuery, name: str, stream: Stream, axis: Axis
) -> PlannedQuery:
    """Plan a query over windows or frames."""
    alone = answer.alone
    if alone is None:
        raise CannotEvaluate("it has several windows or joins, or Spark joins other rows to them")
    plan = alone.plan
    program = program_of(plan.parts, stream, axis)
    check_closed(program, stream.disorder)
    schema = _schema_of(answer.df)
    try:
        answers = _answers(answer, plan, stream)
    except CannotEvaluate as reason:
        return PlannedQuery(
            query.text, name, program, schema, (), _with_spark(plan, alone.results), str(reason)
        )
    names = plan.parts.finisher
    assert isinstance(names, ResultNames)  # else its answers are left to Spark
    first = [*names.by, *(names.prefix + bound for bound in names.bounds)]
    order = tuple(column for column in first if column in answers.schema.names)
    newest = _newest(names, answers.schema)
    program = replace(program, answers=answers, newest=newest)
    return PlannedQuery(query.text, name, program, answers.schema, order)


def _newest(names: ResultNames, answers: pa.Schema) -> NewestOf:
    """Return the keys and bounds among the columns of answers; an extent's end counts first."""
    there = {field.name for field in answers if orderable(field.type)}
    bounds = [names.prefix + bound for bound in reversed(names.bounds)]
    return NewestOf(
        tuple(name for name in names.by if name in there),
        tuple(name for name in bounds if name in there),
    )


def _with_spark(plan: Plan, results: SparkFinish) -> SparkFinish:
    def finish(flat: DataFrame) -> DataFrame:
        return results(plan.parts.finisher.apply(flat))

    return finish


def _answers(answer: TranslatedQuery, plan: Plan, stream: Stream) -> AnswerColumns:
    """Return the select list over the columns of an operator; raise if only Spark evaluates it."""
    select = _simple(answer.rest)
    names = plan.parts.finisher
    if select is None:
        raise CannotEvaluate("Spark sorts, joins or chooses among the results")
    if not isinstance(names, ResultNames) or names.shifts or names.instead or names.first:
        raise CannotEvaluate("Spark renames the results")
    if any(outer is not None or count != 1 for _, count, outer in names.results):
        raise CannotEvaluate("Spark evaluates expressions over aggregates")
    own = {f"k{place}": name for place, name in enumerate(names.by)}
    own |= {name: names.prefix + name for name in names.bounds}
    own |= {f"r{place}": name for place, (name, _, _) in enumerate(names.results)}
    schema = plan.parts.operator.result_schema
    known = pa.schema([(name, schema.field(letter).type) for letter, name in own.items()])
    columns = Columns(select.args["from_"].this.alias_or_name, known.names)
    answers = _answer_columns(
        select, answer.df, columns, known, zone_of(stream), tuple(own.items())
    )
    where = select.args.get("where")
    if where is None:
        return answers
    text = written(replaced(where.this, columns.bare))
    return replace(answers, where=condition_of(text, known, zone_of(stream)))


def _simple(tree: exp.Expr) -> exp.Select | None:
    """Return a SELECT that has only a list, FROM one relation, and WHERE; None if it has more."""
    if not isinstance(tree, exp.Select):
        return None
    parts = {name for name, value in tree.args.items() if value}
    plain = isinstance(tree.args["from_"].this, exp.Table)
    return tree if plain and parts <= _EVALUATED else None


def _answer_columns(
    select: exp.Select,
    df: DataFrame,
    columns: Columns,
    known: pa.Schema,
    zone: str,
    names: tuple[tuple[str, str], ...],
) -> AnswerColumns:
    """Compile a select list; every column must have the type that Spark finds for it."""
    types = dict(zip(known.names, known.types, strict=True))
    texts = list(_texts(select, columns))
    compiled = []
    for text, field in zip(texts, _schema_of(df), strict=True):
        expression = compile_row_expression(text, types, zone=zone, errors="null")
        if expression.type != field.type:
            raise CannotEvaluate(f"{text} is {expression.type} here and {field.type} in Spark")
        compiled.append((field.name, expression))
    return AnswerColumns(names, tuple(compiled))


def _texts(select: exp.Select, columns: Columns) -> list[str]:
    """Return the expressions of a select list, with all columns in the place of a star."""
    texts: list[str] = []
    for item in select.expressions:
        inner = item.this if isinstance(item, exp.Alias) else item
        if inner.is_star:
            if not isinstance(inner, exp.Star) or inner.args.get("except_"):
                raise CannotEvaluate("only a plain * can be selected")
            texts += [f"`{name}`" for name in columns.names]
        else:
            texts.append(written(replaced(inner, columns.bare)))
    return texts


def with_bound(
    program: QueryProgram, stream: Stream, axis: Axis, argument: str, bound: object
) -> QueryProgram:
    """Return the program of a query that takes only rows before ``until``, or from ``start`` on."""
    tick = axis.point(argument, bound)  # raises if it is no value of the column
    type_ = stream.df.schema[stream.on].dataType.simpleString()
    # A number is a literal: workers do not evaluate the cast of a text to a number.
    number = type_.startswith(_NUMBERS)
    value = str(bound) if number else written(exp.cast(exp.convert(str(bound)), type_, dialect=SQL))
    beside = f"`{stream.on}` {'<' if argument == 'until' else '>='} {value}"
    carried, zone = carried_schema(stream), zone_of(stream)

    def bounded(own: ProgramInput) -> ProgramInput:
        text = beside if own.predicate is None else f"({own.predicate.text}) AND {beside}"
        return replace(own, predicate=condition_of(text, carried, zone))

    until = tick if argument == "until" else program.until
    return replace(program, inputs=tuple(map(bounded, program.inputs)), until=until)


def _schema_of(df: DataFrame) -> pa.Schema:
    return pa.schema([(f.name, to_arrow(f.dataType, f.name)) for f in df.schema.fields])
