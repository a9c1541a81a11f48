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
from muntin.engine.planning.preparation import Preparation
from muntin.errors import CannotEvaluate, EngineError, MuntinError
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.row_expression import compile_row_expression
from muntin.operators.shared.asking.newest import NewestOf, orderable
from muntin.operators.shared.program import AnswerColumns, ProgramInput, QueryProgram
from muntin.parser.dialect import SQL, written
from muntin.parser.errors import SqlError
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
from muntin.spark.explain.state_of_plan import state_on_streams
from muntin.spark.plan.fill import FillPlan
from muntin.spark.plan.join import JoinPlan
from muntin.spark.plan.results import RenamedColumns, ResultNames
from muntin.spark.plan.windows import WindowPlan
from muntin.spark.plan.worker_program import carried_schema, condition_of, program_of, zone_of
from muntin.specs.axis import Axis
from muntin.specs.frames.framing import Framing
from muntin.specs.row_windows import SequenceSpec
from muntin.specs.windows import WindowSpec

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
        stream: The name of the stream that it reads, or of an input of it.
        program: What workers run.
        columns: The columns of its answers, without ``complete``.
        order: The columns of its answers to sort them by: keys and bounds.
        finish: How Spark turns the operator's rows into answers; None if workers do.
        why_spark: Why Spark does, for ``explain``.
        spec: Its windows or frames, if they are all that it computes.
    """

    text: str
    stream: str
    program: QueryProgram
    columns: pa.Schema
    order: tuple[str, ...]
    finish: SparkFinish | None = None
    why_spark: str | None = None
    spec: WindowSpec | SequenceSpec | Framing | None = None


def plan_query(
    text: str,
    streams: Mapping[str, tuple[Stream, Axis]],
    beyond: Mapping[str, Stream] | None = None,
) -> PlannedQuery:
    """Plan a query over a stream of an engine.

    Args:
        text: A SELECT.
        streams: The inputs of the stream by name, over empty tables, with their axis. A stream with
            one input has its name.
        beyond: The same inputs with all columns of their sources. What workers cannot evaluate, or
            the stream does not carry, is then prepared by Spark. Without them it is refused.
    """
    query = parse_query(text)
    check_continuous(query)
    return plan_parsed(query, streams, beyond)


def check_no_sources(query: Query) -> None:
    """Raise if a query opens a source itself: the rows of an engine are those of its streams."""
    for call in query.sources.values():
        problem = f"a query of an engine reads its streams, and {call} is a source"
        expected = f"CREATE STREAM name FROM {call} ON ..., and that name here"
        raise SqlError(problem, query.text, call.place, expected=expected)


def plan_parsed(
    query: Query,
    streams: Mapping[str, tuple[Stream, Axis]],
    beyond: Mapping[str, Stream] | None = None,
) -> PlannedQuery:
    """Plan a query that was parsed, without a look at when it is asked."""
    check_no_sources(query)
    if query.preference_place is not None:
        problem = "only queries of an engine that read its streams themselves prefer rows"
        raise SqlError(problem, query.text, query.preference_place, expected="no PREFERENCE")
    try:
        return _plan(query, streams, None)
    except MuntinError as refusal:
        if beyond is None:
            raise
        carried = [stream.df.columns for stream, _ in streams.values()]
        full = {name: (beyond[name], axis) for name, (_, axis) in streams.items()}
        stars = query.tree.find_all(exp.Star)
        starred = any(star.find_ancestor(exp.Func) is None for star in stars)  # not count(*)
        # All columns, if one is needed that is not carried; a star is those that are.
        for own in (streams,) if starred else (streams, full):
            inputs = [stream for stream, _ in own.values()]
            try:
                return _plan(query, own, Preparation(inputs, carried, zone_of(inputs[0])))
            except MuntinError:
                continue
        raise refusal


def _plan(
    query: Query, streams: Mapping[str, tuple[Stream, Axis]], preparing: Preparation | None
) -> PlannedQuery:
    read = read_inputs(query, list(streams))
    declared = {name: stream for name, (stream, _) in streams.items()}
    first, axis = streams[read[0]]
    # The name of an input is known in any case, and only inputs of this stream can be read.
    known = {name: declared[name] for name in read}
    scope = replace(Scope.of(first.df.sparkSession, known, {}), closed=True)
    answer = of_stream(translate(query, scope))
    check_bounded(answer)
    inputs = tuple(declared.values())
    try:
        for name in read:
            check_answers(answer, declared[name].disorder)
        if not answer.plans:
            of = list(streams).index(read[0])
            planned = _filter(query, answer, read[0], of, first, preparing)
        else:
            planned = _computed(query, answer, read[0], inputs, axis, preparing)
    except CannotEvaluate as reason:
        raise EngineError(
            f"the engine cannot run this query: {reason}; mt.sql and muntin run can"
        ) from reason
    if preparing is None:
        return planned
    for own in planned.program.inputs:
        preparing.note_read(own.of, sorted(_names_of(own, planned.program)))
    return replace(planned, program=replace(planned.program, prepared=preparing.columns))


def _names_of(own: ProgramInput, program: QueryProgram) -> set[str]:
    """Return the columns of the stream that an input of a query reads."""
    names = {*own.columns.names}
    if own.predicate is not None:
        names |= {*own.predicate.columns}
    if program.operator is None and program.answers is not None:
        for _, expression in program.answers.columns:
            names |= {*expression.columns}
    return names


def read_inputs(query: Query, names: Sequence[str]) -> list[str]:
    """Return the inputs of a stream that a query reads; raise if it reads something else."""
    read = list(dict.fromkeys(name.casefold() for name in tables_of(query)))
    known = {name.casefold(): name for name in names}
    others = [name for name in read if name not in known]
    if others:
        there = ", ".join(names) or "none"
        raise EngineError(f"the engine has no stream {others[0]}; its streams are: {there}")
    if not read:
        raise EngineError("a query of the engine reads a stream, and this one reads none")
    return [known[name] for name in read]


def _filter(
    query: Query,
    answer: TranslatedQuery,
    name: str,
    of: int,
    stream: Stream,
    preparing: Preparation | None,
) -> PlannedQuery:
    """Plan a query that only chooses rows of an input."""
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
        text = written(replaced(where.this, columns.bare))
        if preparing is not None:
            text = preparing.text(of, text, where=True)
            carried = preparing.schema(of)
        predicate = condition_of(text, carried, zone)
    texts = list(_texts(select, columns))
    if preparing is not None:
        texts = [preparing.text(of, text) for text in texts]
        carried = preparing.schema(of)
    answers = _answer_columns(texts, answer.df, carried, zone, ())
    # What travels is evaluated by the answers themselves.
    nothing = ProgramInput(ArrowColumns((), pa.schema([])), predicate, of=of)
    program = QueryProgram(0, (nothing,), None, answers)
    return PlannedQuery(query.text, name, program, answers.schema, ())


def _computed(
    query: Query,
    answer: TranslatedQuery,
    name: str,
    inputs: Sequence[Stream],
    axis: Axis,
    preparing: Preparation | None,
) -> PlannedQuery:
    """Plan a query over windows, frames or a join."""
    alone = answer.alone
    if alone is None:
        raise CannotEvaluate("it has several windows or joins, or Spark joins other rows to them")
    plan = alone.plan
    _check_longest(plan)
    program = program_of(plan.parts, inputs, axis, preparing)
    for of in program.reads:
        check_closed(program, inputs[of].disorder)
    if isinstance(plan.parts, JoinPlan) and not query.unbounded:
        _check_bounded_join(plan.parts)
    schema = _schema_of(answer.df)
    try:
        answers = _answers(answer, plan, zone_of(inputs[0]))
    except CannotEvaluate as reason:
        finish, why = _with_spark(plan, alone.results), str(reason)
        return PlannedQuery(query.text, name, program, schema, (), finish, why, _spec_of(plan))
    first, newest = _identifying(plan, answers.schema)
    order = tuple(column for column in first if column in answers.schema.names)
    program = replace(program, answers=answers, newest=newest)
    spec = _spec_of(plan)
    return PlannedQuery(query.text, name, program, answers.schema, order, spec=spec)


def _spec_of(plan: Plan) -> WindowSpec | SequenceSpec | Framing | None:
    """Return the windows or frames of a plan, unless something fills them."""
    if isinstance(plan.parts, WindowPlan):
        spec = plan.parts.spec
        return spec if isinstance(spec, WindowSpec | SequenceSpec | Framing) else None
    return None


def _check_bounded_join(join: JoinPlan) -> None:
    kept = state_on_streams(join)
    if kept.grows_for_ever:
        raise EngineError(
            f"the state of this query would grow for ever: {kept.why}; {kept.remedy}, or WITH "
            "UNBOUNDED STATE after the query"
        )


def _identifying(plan: Plan, schema: pa.Schema) -> tuple[list[str], NewestOf]:
    """Return the columns to sort answers by, and which of the answers of a key is the newest."""
    names = plan.parts.finisher
    if isinstance(names, ResultNames):
        first = [*names.by, *(names.prefix + bound for bound in names.bounds)]
        return first, _newest(names, schema)
    # A row that was joined is an answer for ever: the answer now are those of the last micro-batch.
    assert isinstance(plan.parts, JoinPlan)  # else its answers are left to Spark
    left = plan.parts.sources[0]
    return [*left.by, left.on], NewestOf()


def _check_longest(plan: Plan) -> None:
    """Raise if only the longest frame is filled, for which all rows would be kept."""
    if isinstance(plan.parts, FillPlan):
        plan.parts.check_longest()


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


def _answers(answer: TranslatedQuery, plan: Plan, zone: str) -> AnswerColumns:
    """Return the select list over the columns of an operator; raise if only Spark evaluates it."""
    select = _simple(answer.rest)
    if select is None:
        raise CannotEvaluate("Spark sorts, joins or chooses among the results")
    own = _known_names(plan)
    schema = plan.parts.operator.result_schema
    known = pa.schema([(name, schema.field(letter).type) for letter, name in own])
    columns = Columns(select.args["from_"].this.alias_or_name, known.names)
    answers = _answer_columns(list(_texts(select, columns)), answer.df, known, zone, own)
    where = select.args.get("where")
    if where is None:
        return answers
    text = written(replaced(where.this, columns.bare))
    return replace(answers, where=condition_of(text, known, zone))


def _known_names(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return the operator's columns with the names that a select list has for them."""
    names = plan.parts.finisher
    if isinstance(names, RenamedColumns) and isinstance(plan.parts, JoinPlan):
        return names.columns
    if not isinstance(names, ResultNames) or names.shifts or names.instead or names.first:
        raise CannotEvaluate("Spark renames the results")
    if any(outer is not None or count != 1 for _, count, outer in names.results):
        raise CannotEvaluate("Spark evaluates expressions over aggregates")
    own = {f"k{place}": name for place, name in enumerate(names.by)}
    own |= {name: names.prefix + name for name in names.bounds}
    own |= {f"r{place}": name for place, (name, _, _) in enumerate(names.results)}
    return tuple(own.items())


def _simple(tree: exp.Expr) -> exp.Select | None:
    """Return a SELECT that has only a list, FROM one relation, and WHERE; None if it has more."""
    if not isinstance(tree, exp.Select):
        return None
    parts = {name for name, value in tree.args.items() if value}
    plain = isinstance(tree.args["from_"].this, exp.Table)
    return tree if plain and parts <= _EVALUATED else None


def _answer_columns(
    texts: Sequence[str],
    df: DataFrame,
    known: pa.Schema,
    zone: str,
    names: tuple[tuple[str, str], ...],
) -> AnswerColumns:
    """Compile a select list; every column must have the type that Spark finds for it."""
    types = dict(zip(known.names, known.types, strict=True))
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
    program: QueryProgram, streams: Sequence[Stream], axis: Axis, argument: str, bound: object
) -> QueryProgram:
    """Return the program of a query that takes only rows before ``until``, or from ``start`` on."""
    tick = axis.point(argument, bound)  # raises if it is no value of the column

    def bounded(own: ProgramInput) -> ProgramInput:
        stream = streams[own.of]
        type_ = stream.df.schema[stream.on].dataType.simpleString()
        value = written(exp.cast(exp.convert(str(bound)), type_, dialect=SQL))
        # A number is a literal: workers do not evaluate the cast of a text to a number.
        value = str(bound) if type_.startswith(_NUMBERS) else value
        beside = f"`{stream.on}` {'<' if argument == 'until' else '>='} {value}"
        carried, zone = carried_schema(stream), zone_of(stream)
        for prepared in program.prepared:
            if prepared.of == own.of and prepared.name not in carried.names:
                carried = carried.append(pa.field(prepared.name, prepared.type))
        text = beside if own.predicate is None else f"({own.predicate.text}) AND {beside}"
        return replace(own, predicate=condition_of(text, carried, zone))

    until = tick if argument == "until" else program.until
    return replace(program, inputs=tuple(map(bounded, program.inputs)), until=until)


def _schema_of(df: DataFrame) -> pa.Schema:
    return pa.schema([(f.name, to_arrow(f.dataType, f.name)) for f in df.schema.fields])
