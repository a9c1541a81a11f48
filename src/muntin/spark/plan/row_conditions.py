"""Conditions of a kind that may read ``prev``, the row before: which columns travel for them.

Spark evaluates a condition that reads its own row. Of a condition that reads the row before too,
Spark evaluates the parts that read one of the two rows, and the worker does the rest once rows are
in order. If rows that tie become one row, only their columns travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.aggregates.parse_conditions import parse_with_previous
from muntin.errors import ArgumentError, ExpressionError, UnknownColumnError
from muntin.expressions.dialect import columns_of
from muntin.expressions.nodes import Slot
from muntin.expressions.types import check, no_aggregate
from muntin.operators.frames.ordered_rows import RowCondition
from muntin.specs.frames.frame_kind import Operand


@dataclass
class ConditionColumns:
    """Collects the columns ``f0..`` that conditions need; ``names`` are those of the stream.

    If ``columnwise``, rows are combined before conditions on two rows are evaluated.
    """

    names: Sequence[str]
    zone: str
    columnwise: bool
    operands: list[Operand] = field(default_factory=list)
    conditions: list[RowCondition] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def add(self, condition: Operand) -> None:
        """Add the next condition."""
        given = condition.given
        read = None
        if isinstance(given, str):
            read = parse_with_previous(given, self.zone, columnwise=self.columnwise)
            self._check_columns(condition, given)
        self.texts.append(str(given))
        if read is None:
            self.conditions.append(RowCondition.native(self._place(condition)))
            return
        if "prev" in self.names:
            reason = "prev is the row before, and the stream has a column of this name; rename it"
            raise ArgumentError(condition.argument, given, reason)
        tree, parts = read
        slots = []
        for part in parts:
            for name in part.columns:
                if name not in self.names:
                    raise UnknownColumnError(condition.argument, name, self.names)
            operand = Operand(condition.argument, part.text, "value")
            slots.append((part.row, self._place(operand)))
        self.conditions.append(RowCondition(tree, tuple(slots)))

    def _check_columns(self, condition: Operand, text: str) -> None:
        """Raise if a condition reads the row after."""
        rows = {name.partition(".")[0].lower() for name in columns_of(text) if "." in name}
        if "next" in rows and "next" not in self.names:
            problem = (
                f"{condition.argument} reads its own row and prev, the row before, but not next"
            )
            raise ExpressionError(problem, text, max(0, text.lower().find("next.")))

    def checked(self, types: Sequence[pa.DataType]) -> tuple[RowCondition, ...]:
        """Return the conditions; raise if one cannot be evaluated on columns of these types."""
        for text, condition in zip(self.texts, self.conditions, strict=True):
            if not isinstance(condition.where, Slot):
                read = [types[place] for _, place in condition.slots]
                check(condition.where, read, no_aggregate, text)
        return tuple(self.conditions)

    def _place(self, operand: Operand) -> int:
        """Return the number of the column of an expression, which travels once."""
        for place, known in enumerate(self.operands):
            # Two PySpark columns have no truth of being equal, so only texts are compared.
            texts = isinstance(known.given, str) and isinstance(operand.given, str)
            if texts and (known.given, known.role) == (operand.given, operand.role):
                return place
        self.operands.append(operand)
        return len(self.operands) - 1
