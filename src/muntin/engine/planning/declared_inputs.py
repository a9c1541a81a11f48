"""Declaring the inputs of a stream: one DataFrame, or several by name with what holds for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.errors import ArgumentError
from muntin.spark.api.stream import Stream
from muntin.spark.api.stream import stream as declare_stream
from muntin.spark.columns import DataFrame
from muntin.spark.queries.many_queries import NetworkInput
from muntin.spark.scan.worker_rows import WorkerRows

Rows = DataFrame | WorkerRows


@dataclass(frozen=True)
class DeclaredInputs:
    """What was declared of the inputs of a stream: one value for all of them, or one for each.

    Args:
        on: The column that progresses.
        by: The keys.
        disorder: How much disorder there is.
        control: Control rows.
        carry: The columns that queries can read.
        schedule: When rows are due.
        shards: How many parts the state has.
    """

    on: Any
    by: Any = None
    disorder: Any = None
    control: Any = None
    carry: Any = None
    schedule: Any = None
    shards: int | None = None

    def of(self, stream: str, df: Rows | Mapping[str, Rows]) -> tuple[NetworkInput, ...]:
        """Return the inputs of a stream; a single DataFrame is one with the stream's name."""
        if not isinstance(df, Mapping):
            return (self._input(stream, df, 0, vars(self)),)
        if len(df) < 2:
            raise ArgumentError(
                "df",
                list(df),
                "several inputs are at least two; a stream with one is declared with its DataFrame",
            )
        if len({name.casefold() for name in df}) < len(df):
            raise ArgumentError("df", list(df), "SQL does not tell names of inputs apart by case")
        given = {name: self._given(name, tuple(df)) for name in df}
        return tuple(
            self._input(name, rows, number, given[name])
            for number, (name, rows) in enumerate(df.items())
        )

    def _given(self, name: str, names: Sequence[str]) -> dict[str, Any]:
        """Return what was given for an input."""
        found = {}
        for argument, value in vars(self).items():
            if isinstance(value, Mapping):
                unknown = [key for key in value if key not in names]
                if unknown:
                    reason = f"the inputs are {', '.join(names)}"
                    raise ArgumentError(argument, unknown[0], reason)
                value = value.get(name)
            found[argument] = value
        if found["on"] is None:
            raise ArgumentError("on", self.on, f"it names no column of {name}")
        return found

    def _input(self, name: str, df: Rows, number: int, given: Mapping[str, Any]) -> NetworkInput:
        source = declare_stream(
            df,
            given["on"],
            given["by"],
            given["disorder"],
            control=given["control"],
            shards=given["shards"],
            schedule=given["schedule"],
        )
        source.check_windowed()
        return NetworkInput(source, _carried(source, given["carry"]), name, number)


def _carried(source: Stream, carry: Sequence[str] | None) -> tuple[str, ...]:
    columns = source.df.columns
    if carry is None:
        return tuple(columns)
    unknown = [name for name in carry if name not in columns]
    if unknown:
        raise ArgumentError("carry", unknown[0], f"the columns are {', '.join(columns)}")
    wanted = {source.on, *source.by, *carry}
    return tuple(name for name in columns if name in wanted)
