"""The rows of a view: what a query that only chooses rows hands to queries that read it.

A view's rows are made where the stream's rows are read, once for all of its readers. So they meet
the same punctuation as the stream's own, and a reader shares panes with others that read the view.
[Aurora 2.2, Aurora report 3.2]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from muntin.expressions.nodes import Slot
from muntin.expressions.row_expression import RowExpression


@dataclass(frozen=True)
class ViewRows:
    """How rows of a view are made of the rows of a stream, or of another view.

    Args:
        columns: The columns of the view, by name.
        predicate: Which rows it chooses; None if it takes every row.
        of: The view that it reads itself; None if it reads the stream.
    """

    columns: tuple[tuple[str, RowExpression], ...]
    predicate: RowExpression | None = None
    of: ViewRows | None = None

    def rows(self, stream_rows: pa.Table) -> pa.Table:
        """Return the rows of the view among rows of the stream."""
        read = stream_rows if self.of is None else self.of.rows(stream_rows)
        if self.predicate is not None:
            read = read.filter(pc.fill_null(self.predicate.evaluate(read), False))
        return pa.table({name: expression.evaluate(read) for name, expression in self.columns})

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the view."""
        return pa.schema([(name, expression.type) for name, expression in self.columns])

    def passed_on(self, name: str) -> str | None:
        """Return the column of the view that is a column of the stream as it is; None if none."""
        inner = name if self.of is None else self.of.passed_on(name)
        for own, expression in self.columns:
            plain = isinstance(expression.node, Slot) and expression.paths == ((inner,),)
            if inner is not None and plain:
                return own
        return None
