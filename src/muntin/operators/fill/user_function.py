"""A user's function over the rows of a window or frame: an Arrow table in, a row out [AU-6]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from muntin.errors import OwnFunctionError
from muntin.operators.fill.between_join import MatchedRows

#: Rows in their order, with the user's column names; a value for each result column.
Function = Callable[[pa.Table], Mapping[str, Any]]


@dataclass(frozen=True)
class UserFunction:
    """The function, the names of the columns it sees, and those it returns."""

    function: Function
    names: tuple[str, ...]
    returns: pa.Schema

    @property
    def label(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def of(self, matched: MatchedRows) -> list[pa.Array]:
        """The results, a row for every probe that was answered."""
        rows = [self._called(table) for table in self._tables(matched)]
        made = []
        for field in self.returns:
            values = [row.get(field.name) for row in rows]
            try:
                made.append(pa.array(values, field.type))
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                problem = f"returned {field.name} that is no {field.type}: {error}"
                raise OwnFunctionError(self.label, problem) from error
        return made

    def _tables(self, matched: MatchedRows) -> Iterator[pa.Table]:
        columns = [f"c{place}" for place in range(len(self.names))]
        rows = matched.rows.select(columns).rename_columns(list(self.names))
        for first, count in zip(matched.first.tolist(), matched.counts.tolist(), strict=True):
            yield rows.slice(first, count)

    def _called(self, table: pa.Table) -> Mapping[str, Any]:
        try:
            made = self.function(table)
        except Exception as error:
            problem = f"failed on {table.num_rows} rows: {type(error).__name__}: {error}"
            raise OwnFunctionError(self.label, problem) from error
        if not isinstance(made, Mapping):
            raise OwnFunctionError(self.label, f"returned {made!r}; it is to return a mapping")
        unknown = sorted({*made} - {*self.returns.names})
        if unknown:
            known = ", ".join(self.returns.names)
            raise OwnFunctionError(
                self.label, f"returned {', '.join(unknown)}, but the schema has {known}"
            )
        return made
