"""What an aggregate is: the arguments it takes, what a pane keeps of them, and how it ends.

A :class:`Definition` is all that Muntin knows of one aggregate. Families of them are in
:mod:`~muntin.aggregates.sums`, :mod:`~muntin.aggregates.order` and
:mod:`~muntin.aggregates.holistic`; :mod:`muntin.aggregates.bind` finds them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator
from muntin.errors import UnsupportedTypeError
from muntin.expressions.spark_expressions import Expression, Where

Columns = Sequence[Sequence[pa.Array]]
Finish = Callable[[Columns], pa.Array]


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate with its types known, in a form that can be shipped to workers.

    ``slots`` are the places of the expressions of :meth:`Definition.slots` among all slots of the
    query, ``types`` their types, ``label`` what messages call it, ``options`` its constants.
    """

    function: str
    label: str
    slots: tuple[int, ...]
    types: tuple[pa.DataType, ...]
    ansi: bool
    options: tuple[object, ...] = ()

    @property
    def type(self) -> pa.DataType:
        """The type of the first slot; of a row where there is none."""
        return self.types[0] if self.types else pa.int64()

    def require(self, holds: bool, wanted: str) -> None:
        """Raise that the argument has an unsupported type unless ``holds``."""
        if not holds:
            raise UnsupportedTypeError(
                f"{self.label} needs {wanted}, but its argument is {self.type}"
            )


@dataclass(frozen=True)
class BoundAggregate:
    """An aggregate ready to run: ``finish`` takes what each accumulator slid to, in turn.

    That is its columns, one row per window; of a ``Counted`` one ``holistic.Bags``.
    """

    accumulators: tuple[Accumulator, ...]
    type: pa.DataType
    finish: Finish


def slot_types(calls: Sequence[AggregateCall]) -> dict[int, pa.DataType]:
    """The types of the slots that some calls look at, in order of their places."""
    types = {
        slot: type_ for call in calls for slot, type_ in zip(call.slots, call.types, strict=True)
    }
    return dict(sorted(types.items()))


@dataclass(frozen=True)
class SqlNode:
    """How sqlglot reads a call into a node of its own: the name to show, and where arguments are.

    ``parts`` are the node's fields for the arguments after the first.
    """

    name: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConstantArgument:
    """A constant after the columns: its name in messages, and the check that it must pass."""

    name: str
    check: Callable[[str, object], object]


@dataclass(frozen=True)
class Definition:
    """One aggregate.

    Attributes:
        name: Its name in labels and in :class:`AggregateCall`.
        sql_names: The names under which SQL text may call it; none if it has no text.
        nodes: sqlglot's classes for it, by name, where they differ from SQL's name.
        columns: How many expressions it takes.
        constant: The constant that follows them.
        takes_flag: Whether a TRUE or FALSE may follow, as in Spark.
        correlates: Whether it may stand in a correlated aggregate: it needs no order of rows.
    """

    name: str
    sql_names: tuple[str, ...] = ()
    _: KW_ONLY
    nodes: Mapping[str, SqlNode] = field(default_factory=dict)
    columns: int = 1
    constant: ConstantArgument | None = None
    takes_flag: bool = False
    correlates: bool = False

    def slots(
        self, arguments: tuple[Expression, ...], condition: Expression | None
    ) -> list[Expression]:
        """What Spark evaluates for each row, with the FILTER condition applied."""
        return [where(condition, argument) for argument in arguments]

    def bind(self, call: AggregateCall) -> BoundAggregate:
        """The accumulators and the result of a call; raise where a type is not supported."""
        raise NotImplementedError


def where(condition: Expression | None, value: Expression) -> Expression:
    """The value where the condition is true, else null."""
    return value if condition is None else Where(condition, value)
