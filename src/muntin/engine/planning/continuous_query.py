"""What must hold of a query that answers for ever, one micro-batch at a time.

A query of the engine is planned over an empty table, so what Spark does with results must be looked
at here: it is given the results of one micro-batch, and remembers nothing of the others.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from muntin.errors import CannotEvaluate
from muntin.operators.shared.program import QueryProgram
from muntin.planner.bounded import kept_by_spark
from muntin.planner.spark_sql import full_name
from muntin.planner.translate import TranslatedQuery
from muntin.specs.disorder import Disorder, PerKey, Punctuated
from muntin.specs.idle import Follow


def of_stream(answer: TranslatedQuery) -> TranslatedQuery:
    """Return a query whose only table stands for a stream."""
    parts = tuple(
        replace(part, streams=frozenset(full_name(t) for t in part.tree.find_all(exp.Table)))
        for part in answer.parts
    )
    return replace(answer, parts=parts, continuous=True)


def check_answers(answer: TranslatedQuery, disorder: Disorder | None) -> None:
    """Raise if answers would depend on how rows are split into micro-batches.

    Raises:
        CannotEvaluate: Spark would need the results of other micro-batches.
    """
    if not answer.plans:
        return
    for part in answer.parts:
        kept = kept_by_spark(part)
        if kept is not None:
            raise CannotEvaluate(
                f"{kept.why}, and the engine lets Spark see the results of one micro-batch at a "
                "time"
            )
        if not answer.query.per_window and part.tree.find(exp.Limit, exp.Offset) is not None:
            raise CannotEvaluate(
                "LIMIT chooses among the results of all micro-batches, and the engine lets Spark "
                "see those of one; LIMIT n PER WINDOW chooses among those of a window"
            )
    if answer.query.per_window and _is_keyed(disorder):
        raise CannotEvaluate(
            "PER WINDOW compares the keys of a window, and under a punctuation for each key "
            f"({disorder}) they are complete at different times"
        )


def check_closed(program: QueryProgram, disorder: Disorder | None) -> None:
    """Raise if the punctuation of keys would never close what a query groups otherwise.

    Raises:
        CannotEvaluate: The stream has no punctuation of its own.
    """
    if program.keyed or not _is_keyed(disorder):
        return
    if isinstance(disorder, PerKey) and isinstance(disorder.idle, Follow):
        return  # the furthest key brings the whole stream forward
    raise CannotEvaluate(
        "it is not grouped by the stream's by columns, so it waits for punctuation of the whole "
        f"stream, which {disorder} does not give; mt.per_key(..., idle=mt.follow(...)) does"
    )


def _is_keyed(disorder: Disorder | None) -> bool:
    return isinstance(disorder, PerKey) or (isinstance(disorder, Punctuated) and disorder.key)
