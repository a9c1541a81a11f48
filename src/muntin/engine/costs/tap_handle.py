"""Taps of an engine: look at rows on their way through a running stream."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, get_args

import pyarrow as pa

from muntin.engine.asking.chosen_modes import mode_of
from muntin.engine.costs.full_taps import tap_in
from muntin.engine.engine_stream import EngineStream
from muntin.engine.registry import Registry
from muntin.engine.registry_records import QueryRecord
from muntin.errors import ArgumentError, CannotEvaluate, EngineError
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.program import COMPLETE, ProgramInput, QueryProgram, Tap, TapPlace
from muntin.operators.shared.taps import MEMBERS
from muntin.spark.plan.worker_program import carried_schema, condition_of, zone_of

#: A tap copies at most so many rows.
MOST_ROWS = 10_000
_LOOK = 0.02


class TappedEngine(Protocol):
    """An engine, as its taps use it."""

    registry: Registry

    def stream_of(self, name: str) -> EngineStream:
        """Return a stream by its name."""

    def remove_tap(self, id: str) -> None:
        """Log that a tap is removed."""


@dataclass(frozen=True, eq=False)
class TapHandle:
    """A tap on a running stream; :meth:`muntin.Engine.tap` returns it.

    Args:
        engine: The engine that it belongs to.
        id: Its id.
        most: How many rows it copies at most; then it removes itself.
        about: What it copies, in words.
    """

    engine: TappedEngine
    id: str
    most: int
    about: str

    @property
    def open(self) -> bool:
        """True until the tap has copied its rows, its time is over, or it was removed."""
        return self._record.status != "dropped"

    def rows(self) -> pa.Table:
        """Return the rows that were copied; the last column is the micro-batch of each.

        Cells have the names of the queries that want them in ``members``.
        """
        record = self._record
        table = self.engine.stream_of(record.stream).answers().read([record.number])
        if COMPLETE in table.column_names and tap_in(record).place == "rows":
            table = table.drop_columns([COMPLETE])
        if MEMBERS in table.column_names:
            place = table.schema.get_field_index(MEMBERS)
            names = [[*map(self._name, members)] for members in table[MEMBERS].to_pylist()]
            table = table.set_column(place, MEMBERS, pa.array(names, pa.list_(pa.string())))
        return table

    def wait(self, timeout: float = 60.0) -> pa.Table:
        """Wait until the tap is no longer open, and return its rows."""
        stream = self.engine.stream_of(self._record.stream)
        until = time.monotonic() + timeout
        while self.open:
            stream.check()
            if time.monotonic() > until:
                raise EngineError(
                    f"the tap has copied {self.rows().num_rows} of {self.most} rows within "
                    f"{timeout:g} seconds; rows() returns them"
                )
            time.sleep(_LOOK)
        return self.rows()

    def remove(self) -> None:
        """Remove the tap; its rows can still be read for a day."""
        if self.open:
            self.engine.remove_tap(self.id)

    @property
    def _record(self) -> QueryRecord:
        return self.engine.registry.get(self.id)

    def _name(self, member: int) -> str:
        record = self.engine.registry.member(member)
        return record.name or record.id

    def __repr__(self) -> str:
        return f"<tap {self.id}, {'open' if self.open else 'closed'}: {self.about}>"


def check_rows(rows: object) -> int:
    """Return how many rows a tap copies; raise if it is no such number."""
    if not isinstance(rows, int) or isinstance(rows, bool) or not 0 < rows <= MOST_ROWS:
        raise ArgumentError("rows", rows, f"a tap copies 1 to {MOST_ROWS:,} rows")
    return rows


def query_tap(record: QueryRecord, at: str, most: int) -> QueryProgram:
    """Return a tap on the rows, the cells or the answers of a query."""
    places: Mapping[str, TapPlace] = {place: place for place in get_args(TapPlace)}
    if at not in places:
        raise ArgumentError("at", at, f"it is {', '.join(places)}")
    if mode_of(record) == "lazy":
        raise EngineError(f"{record.name} computes nothing until it is asked, so nothing passes")
    program: QueryProgram = from_json(record.program).numbered(record.number)
    if at == "cells" and program.operator is None:
        reason = f"{record.name} only chooses rows, and has no cells; rows or answers can be tapped"
        raise ArgumentError("at", at, reason)
    predicate = program.inputs[0].predicate if at == "rows" else None
    return _program(Tap(places[at], record.number, most), replace(_EVERY, predicate=predicate))


def stream_tap(most: int) -> QueryProgram:
    """Return a tap on the rows that a stream reads."""
    return _program(Tap("rows", -1, most), _EVERY)


def with_condition(program: QueryProgram, stream: EngineStream, where: str | None) -> QueryProgram:
    """Return a tap on rows that takes only those for which a condition is true."""
    if where is None:
        return program
    if program.tap is None or program.tap.place != "rows":
        raise ArgumentError("where", where, "a condition is for taps on rows, at='rows'")
    planning = stream.network.planning
    own = program.inputs[0].predicate
    text = where if own is None else f"({own.text}) AND ({where})"
    try:
        predicate = condition_of(text, carried_schema(planning), zone_of(planning))
    except CannotEvaluate as reason:
        raise ArgumentError("where", where, f"workers cannot evaluate it: {reason}") from reason
    return replace(program, inputs=(replace(program.inputs[0], predicate=predicate),))


_EVERY = ProgramInput(ArrowColumns((), pa.schema([])))


def _program(tap: Tap, own: ProgramInput) -> QueryProgram:
    return QueryProgram(0, (own,), None, None, tap=tap)
