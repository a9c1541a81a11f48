"""Calls of a user's own framing function: what it reads of rows, and what goes wrong in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.errors import OwnFramingError
from muntin.operators.frames.ordered_rows import OrderedRows
from muntin.specs.frames.own_function import CompiledFraming, FramingFunction


@dataclass(frozen=True)
class OwnCalls:
    """Calls the methods of a framing function in Python."""

    own: FramingFunction

    def values(self, rows: OrderedRows) -> list[dict[str, Any]]:
        """Return the columns of each row by their names; a row that never came has none."""
        columns = list(self.own.columns)
        table = rows.table.select([f"f{place}" for place in range(len(columns))])
        values = [dict(zip(columns, row.values(), strict=True)) for row in table.to_pylist()]
        source = rows.source
        return values if source is None else [values[row] if row >= 0 else {} for row in source]

    def ask(self, method: str, row: dict[str, Any], state: dict[str, Any]) -> bool:
        """Return the answer of a method about a row; raise if the state cannot be kept."""
        try:
            answer = bool(getattr(self.own, method)(row, state))
        except Exception as error:
            problem = f"failed: {type(error).__name__}: {error}; the row was {row}"
            raise OwnFramingError(self.own.name, method, problem) from error
        # Checked after every call, so that a batch refuses what a stream could not have kept.
        if not _plainly_kept(state):
            problem = _not_kept(state, "state", set())
            if problem:
                raise OwnFramingError(self.own.name, method, f"{problem}; {_KEPT}")
        return answer


@contextmanager
def compiled_errors(own: CompiledFraming) -> Iterator[None]:
    """Report an exception of a compiled framing function under its name."""
    try:
        yield
    except Exception as error:
        raise OwnFramingError(own.name, "cannot be compiled or failed:", str(error)) from error


_KEPT = (
    "state keeps numbers, text, truths, None, and lists and dictionaries (keyed by text) of them"
)
#: Longer whole numbers cannot be read back from text.
_MOST_BITS = 14_000


def _plainly_kept(state: dict[str, Any]) -> bool:
    """Return True if a quick look shows that a checkpoint restores the state exactly."""
    return all(
        type(name) is str
        and (type(value) in (float, bool, str) or (type(value) is int and value.bit_length() < 64))
        for name, value in state.items()
    )


def _not_kept(value: Any, where: str, seen: set[int]) -> str:
    """Return which part of a state a checkpoint would not restore exactly, or ""."""
    kind = type(value)
    if kind is int:
        long = value.bit_length() > _MOST_BITS
        return f"leaves a number of too many digits in {where}" if long else ""
    if value is None or kind in (float, str, bool):
        return ""
    if kind not in (list, dict):
        return f"leaves a {kind.__name__} in {where}"
    if id(value) in seen:
        return f"leaves in {where} what is in state already, and would become two"
    seen.add(id(value))
    parts = enumerate(value) if kind is list else value.items()
    for name, part in parts:
        if kind is dict and type(name) is not str:
            return f"leaves a key {name!r} of type {type(name).__name__} in {where}"
        problem = _not_kept(part, f"{where}[{name!r}]", seen)
        if problem:
            return problem
    return ""


def matrix(rows: OrderedRows, columns: int) -> npt.NDArray[np.float64]:
    """Return the values that a compiled function reads: a line of doubles for each row."""
    matrix = np.zeros((len(rows), columns))
    source = rows.source
    for place in range(columns):
        column = rows.table[f"f{place}"].combine_chunks().cast(pa.float64()).fill_null(0.0)
        values = column.to_numpy(zero_copy_only=False)
        if source is None:
            matrix[:, place] = values
        elif len(values):
            matrix[:, place] = np.where(source >= 0, values[np.maximum(source, 0)], 0.0)
    return matrix
