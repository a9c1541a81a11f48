"""A query as workers run it: which rows it takes, what it computes, and the columns of its answers.

A program is data: it is written as JSON (:mod:`muntin.operators.shared.as_json`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import pyarrow as pa

from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.row_expression import RowExpression
from muntin.operators.protocol import Operator
from muntin.operators.shared.asking.newest import NewestOf

#: The column of every answer that is false where rows of its extent may be missing.
COMPLETE = "complete"
#: When answers are made: in every micro-batch, kept until somebody asks, or only when asked.
AnswerMode = Literal["eager", "partial", "lazy"]


@dataclass(frozen=True)
class AnswerColumns:
    """The select list of a query, evaluated on the rows that its operator reports.

    ``names`` has, for each column of the operator, the name by which expressions know it. ``where``
    is HAVING, or None.
    """

    names: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, RowExpression], ...]
    where: RowExpression | None = None

    def of(self, results: pa.Table) -> pa.Table:
        """Return the answers that are made of some results; ``complete`` stays if it is there."""
        known = {name: results[own] for own, name in self.names}
        table = pa.table(known) if known else results
        if COMPLETE in results.column_names and COMPLETE not in table.column_names:
            table = table.append_column(COMPLETE, results[COMPLETE])
        if self.where is not None:
            table = table.filter(self.where.evaluate(table))
        answers = {name: expression.evaluate(table) for name, expression in self.columns}
        if COMPLETE in table.column_names:
            answers.setdefault(COMPLETE, table[COMPLETE])
        return pa.table(answers)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of answers without ``complete``."""
        return pa.schema([(name, expression.type) for name, expression in self.columns])


@dataclass(frozen=True)
class ProgramInput:
    """One input of a query: the rows that it takes, and what travels of them.

    ``predicate`` is None if it takes every row. Rows go to the shards of their keys or, if
    ``everywhere``, to every shard.
    """

    columns: ArrowColumns
    predicate: RowExpression | None = None
    everywhere: bool = False


@dataclass(frozen=True)
class QueryProgram:
    """A query of one generation, as workers run it.

    Args:
        member: The number of the query and its generation; no other ever has it.
        inputs: What travels of the stream's rows, for each input of the operator.
        operator: What is computed; None if the query only chooses rows.
        answers: The columns of answers; None if Spark evaluates them where answers are committed.
        extent: The operator's columns with the bounds of an answer along ``on``, if it has them.
        keyed: Whether results are made for each key of the stream, which may have a punctuation of
            its own.
        paused: Whether answers are not made, while the state goes on.
        seed: The name of the file with the state that history left, if the query begins with one.
        answer: When answers are made.
        newest: Which of the answers made so far are the answer now.
        until: The tick at which the query ends: extents that end after it are no answers.
        asked: The last command that asked for the answer, if answers are kept until then.
    """

    member: int
    inputs: tuple[ProgramInput, ...]
    operator: Operator | None
    answers: AnswerColumns | None
    extent: tuple[str, str] | None = None
    keyed: bool = False
    paused: bool = False
    seed: str | None = None
    answer: AnswerMode = "eager"
    newest: NewestOf = field(default_factory=NewestOf)
    asked: int = 0
    until: int | None = None

    def numbered(self, member: int) -> QueryProgram:
        """Return the same program as another member."""
        return replace(self, member=member)
