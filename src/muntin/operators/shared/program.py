"""A query as workers run it: which rows it takes, what it computes, and the columns of its answers.

A program is data: it is written as JSON (:mod:`muntin.operators.shared.as_json`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.row_expression import RowExpression
from muntin.operators.common.changes import CHANGE_FIELDS
from muntin.operators.protocol import Operator
from muntin.operators.shared.asking.newest import NewestOf
from muntin.operators.shared.extent_reach import ExtentReach
from muntin.operators.shared.overload.preferred_rows import PreferredRows
from muntin.operators.shared.prepared_column import PreparedColumn
from muntin.operators.shared.view_rows import ViewRows
from muntin.specs.qos import Qos

#: The column of every answer that is false where rows of its extent may be missing.
COMPLETE = "complete"
#: The columns of answers that were made under a budget: the share of what they are made of that was
#: looked at, and whether that share was counted or is expected from rates.
COMPLETENESS, COMPLETENESS_BY = "completeness", "completeness_by"
_ABOUT = (COMPLETE, COMPLETENESS, COMPLETENESS_BY)
#: When answers are made: in every micro-batch, kept until somebody asks, or only when asked.
AnswerMode = Literal["eager", "partial", "lazy"]

#: Where a tap copies rows: those that a query takes, what travels of them, or its answers.
TapPlace = Literal["rows", "cells", "answers"]


@dataclass(frozen=True)
class Tap:
    """A place of the network where rows are copied, at most so many.

    ``member`` is the query that is tapped; -1 if rows of the stream are.
    """

    place: TapPlace
    member: int
    most: int


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
        """Return the answers that are made of some results; what is known of them stays."""
        known = {name: results[own] for own, name in self.names}
        table = pa.table(known) if known else results
        about = [name for name in _ABOUT if name in results.column_names]
        for name in about:
            if name not in table.column_names:
                table = table.append_column(name, results[name])
        if self.where is not None:
            table = table.filter(self.where.evaluate(table))
        answers = {name: expression.evaluate(table) for name, expression in self.columns}
        for name in dict.fromkeys([*about, COMPLETE]):
            if name in table.column_names:
                answers.setdefault(name, table[name])
        reported = [column.name for column in CHANGE_FIELDS if column.name in results.column_names]
        answers |= {name: results[name] for name in reported}
        return pa.table(answers)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of answers without ``complete``."""
        return pa.schema([(name, expression.type) for name, expression in self.columns])


@dataclass(frozen=True)
class AnswersShown:
    """HAVING, for an operator that must know which of its results are answers."""

    names: tuple[tuple[str, str], ...]
    where: RowExpression

    def mask(self, results: pa.Table) -> pa.Array:
        """Return a mask of the results for which HAVING is true."""
        known = pa.table({name: results[own] for own, name in self.names})
        mask = self.where.evaluate(known)
        return pc.fill_null(mask, False)


@dataclass(frozen=True)
class ProgramInput:
    """One input of a query: the rows that it takes, and what travels of them.

    ``predicate`` is None if it takes every row. Rows go to the shards of their keys or, if
    ``everywhere``, to every shard. ``of`` is the number of the stream's input that the rows are of.
    """

    columns: ArrowColumns
    predicate: RowExpression | None = None
    everywhere: bool = False
    of: int = 0


@dataclass(frozen=True)
class TakenPanes:
    """The panes that a member begins with: those of older members, or the stream's base panes.

    They are for the member with this number only, not for one that later has the same program.
    ``past`` is true if it answers the windows of base panes that closed before it began.
    """

    member: int
    donors: tuple[int, ...] = ()
    past: bool = False


@dataclass(frozen=True)
class QueryProgram:
    """A query of one generation, as workers run it.

    Args:
        member: The number of the query and its generation; no other ever has it.
        inputs: What travels of the stream's rows, for each input of the operator.
        operator: What is computed; None if the query only chooses rows.
        answers: The columns of answers; None if Spark evaluates them where answers are committed.
        extent: The operator's columns with the bounds of an answer along ``on``, if it has them.
        reach: How far rows beyond these bounds count.
        keyed: Whether results are made for each key of the stream, which may have a punctuation of
            its own.
        paused: Whether answers are not made, while the state goes on.
        seed: The name of the file with the state that history left, if the query begins with one.
        cells: The name of the file with the cells that history left, for a query that shares panes.
        panes: The panes of the stream that the query begins with, if it is filled from panes.
        answer: When answers are made.
        auto: Whether the engine chooses ``answer``, and may change it while the query runs.
        newest: Which of the answers made so far are the answer now.
        prefer: What it prefers when it cannot look at everything; None if it prefers nothing.
        until: The tick at which the query ends: extents that end after it are no answers.
        asked: The last command that asked for the answer, if answers are kept until then.
        tap: What is copied, if this is no query but a tap.
        view: The view whose rows the query reads; None if it reads those of the stream.
        prepared: The columns that Spark prepares for it, beside those that the stream carries.
        restart: Whether the stream was restarted to prepare them.
        qos: What its answers are worth, if somebody says so.
    """

    member: int
    inputs: tuple[ProgramInput, ...]
    operator: Operator | None
    answers: AnswerColumns | None
    extent: tuple[str, str] | None = None
    reach: ExtentReach = field(default_factory=ExtentReach)
    keyed: bool = False
    paused: bool = False
    seed: str | None = None
    cells: str | None = None
    panes: TakenPanes | None = None
    answer: AnswerMode = "eager"
    auto: bool = False
    newest: NewestOf = field(default_factory=NewestOf)
    asked: int = 0
    tap: Tap | None = None
    view: ViewRows | None = None
    prepared: tuple[PreparedColumn, ...] = ()
    restart: bool = False
    until: int | None = None
    prefer: PreferredRows | None = None
    qos: Qos | None = None

    @property
    def reads(self) -> tuple[int, ...]:
        """The inputs of the stream whose rows the query takes, each once."""
        return tuple(sorted({own.of for own in self.inputs}))

    def numbered(self, member: int) -> QueryProgram:
        """Return the same program as another member."""
        return replace(self, member=member)

    @property
    def donors(self) -> tuple[int, ...]:
        """The older members whose panes this member takes, the youngest first."""
        return self.panes.donors if self.panes and self.panes.member == self.member else ()

    @property
    def takes_base(self) -> bool:
        """Whether this member begins with the base panes of the stream."""
        own = self.panes is not None and self.panes.member == self.member
        return own and not self.donors

    @property
    def takes_panes(self) -> bool:
        """Whether this member begins with panes of the stream."""
        return self.takes_base or bool(self.donors)
