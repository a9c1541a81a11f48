"""Queries with early answers: the program of a query becomes that of its changes.

HAVING moves from the select list to the operator, because a result for which it is no longer true
is an answer that is withdrawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from muntin.aggregates.bind import aggregate_name
from muntin.engine.plan_query import PlannedQuery
from muntin.engine.registry_records import QueryRecord
from muntin.engine.sinks.sink_call import SinkCall
from muntin.errors import ArgumentError
from muntin.operators.build import early
from muntin.operators.common.changes import CHANGE_FIELDS
from muntin.operators.shared.asking.newest import NewestOf
from muntin.operators.shared.program import COMPLETE, AnswerColumns, AnswersShown
from muntin.parser.dialect import written
from muntin.parser.lexer import is_word, lex
from muntin.parser.parse import parse_query
from muntin.spark.plan.early import ticks_between
from muntin.specs.axis import Axis
from muntin.specs.emission import FINALLY, Emission

#: The names of the average in SQL.
_AVERAGES = ("avg", "mean")
#: The operator's columns with bounds of which one alone tells the windows of a key apart.
_ENOUGH: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("window_start", "window_end"): ("window_end",)
}


def with_early_answers(planned: PlannedQuery, emission: Emission, axis: Axis) -> PlannedQuery:
    """Return the plan of a query whose answers are reported early; raise if it has no such."""
    if not emission.early:
        return planned
    program, answers = planned.program, planned.program.answers
    if program.operator is None:
        raise _refused("a query that only chooses rows answers each row once, when it comes")
    if planned.spec is None:
        raise _refused("of a query with one window or frame, unfilled, open results have a meaning")
    if planned.finish is not None or answers is None:
        raise _refused(f"Spark evaluates its select list, because {planned.why_spark}")
    taken = [field.name for field in CHANGE_FIELDS if field.name in answers.schema.names]
    if taken:
        raise _refused(f"it selects a column {taken[0]}, which early answers have; rename yours")
    operator = early(planned.spec, program.operator, ticks_between(axis, emission))
    keys, bounds = _identity(answers, operator.identity)
    shown = None if answers.where is None else AnswersShown(answers.names, answers.where)
    program = replace(
        program,
        operator=replace(operator, shown=shown),
        answers=replace(answers, where=None),
        newest=NewestOf(keys, bounds, changes=True),
    )
    return replace(planned, program=program)


def with_intervals_in(text: str, confidence: float | None) -> str:
    """Return a query that also selects the ends of the interval of each of its averages.

    >>> print(with_intervals_in("SELECT avg(v) AS m FROM s [TUMBLING 10]", 0.9))
    SELECT avg(v) AS m, avg_low(v, 0.9) AS m_low, avg_high(v, 0.9) AS m_high FROM s [TUMBLING 10]
    """
    if confidence is None:
        return text
    ends = [
        f"{_end_of(item, f'avg_{end}', confidence)} AS {_quoted(f'{item.alias}_{end}')}"
        for item in _averages(parse_query(text).tree)
        for end in ("low", "high")
    ]
    if not ends:
        reason = "no column is an average with a name; select one, such as avg(speed) AS mean"
        raise ArgumentError("confidence", confidence, reason)
    place = _end_of_list(text)
    return f"{text[:place].rstrip()}, {', '.join(ends)} {text[place:]}"


def _averages(tree: exp.Expr) -> list[exp.Expr]:
    """Return the columns of a select list that are an average and nothing else, with a name."""
    if not isinstance(tree, exp.Select):
        return []
    named = [item for item in tree.expressions if isinstance(item, exp.Alias)]
    return [item for item in named if aggregate_name(_call(item)) in _AVERAGES]


def _call(item: exp.Expr) -> exp.Expr:
    inner: exp.Expr = item.this
    return inner.this if isinstance(inner, exp.Filter) else inner


def _end_of(item: exp.Expr, function: str, confidence: float) -> str:
    (argument,) = _call(item).expressions or [_call(item).this]
    call = f"{function}({written(argument)}, {confidence})"
    if isinstance(item.this, exp.Filter):
        return f"{call} FILTER ({written(item.this.expression).strip()})"
    return call


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _end_of_list(text: str) -> int:
    """Return the place of the FROM of a SELECT, which follows its list."""
    depth = 0
    for token in lex(text).tokens:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and is_word(token, "FROM"):
            return int(token.start)
    raise AssertionError("a query over a stream has a FROM")


def upserting(call: SinkCall, newest: NewestOf) -> SinkCall:
    """Return the sink of a query; a table of PostgreSQL has each early answer as it is now."""
    upserts = newest.changes and call.connector.lower() == "postgres" and "key" not in call.options
    if not upserts:
        return call
    return replace(call, options={**call.options, "key": ", ".join((*newest.keys, *newest.bounds))})


def emission_of(record: QueryRecord) -> Emission:
    """Return when the answers of a query are reported, as its registration says."""
    return Emission("early", record.every) if record.emit == "early" else FINALLY


def answer_schema(columns: pa.Schema, record: QueryRecord) -> pa.Schema:
    """Return the columns of a query's answers: those selected, ``complete``, and of changes."""
    if COMPLETE not in columns.names:
        columns = columns.append(pa.field(COMPLETE, pa.bool_()))
    return pa.schema([*columns, *(CHANGE_FIELDS if record.emit == "early" else ())])


def _identity(
    answers: AnswerColumns, identity: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys and the bounds among the columns of answers that identify an answer."""
    keys = tuple(name for name in identity if name.startswith("k"))
    bounds = tuple(name for name in identity if not name.startswith("k"))
    bounds = _ENOUGH.get(bounds, bounds)
    names = dict(answers.names)
    selected = {expression.text.strip("`"): name for name, expression in answers.columns}
    missing = [names[own] for own in (*keys, *bounds) if names[own] not in selected]
    if missing:
        reason = f"its select list leaves out {missing[0]}, and nobody could tell which answer"
        raise _refused(f"{reason} has changed; select it")
    own = {column: selected[names[column]] for column in (*keys, *bounds)}
    return tuple(own[key] for key in keys), tuple(own[bound] for bound in bounds)


def _refused(reason: str) -> ArgumentError:
    return ArgumentError("emit", "early", reason)
