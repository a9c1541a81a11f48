"""The definition of an aggregate: its arguments, what a pane keeps of them, and its result.

A :class:`Definition` is all that Muntin knows of one aggregate. Families of definitions are in
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

    ``slots`` are the places, among all slots of the query, of the expressions that
    :meth:`Definition.slots` returns. ``types`` are the types of these slots, ``label`` is the name
    in messages, and ``options`` are the constants.
    """

    function: str
    label: str
    slots: tuple[int, ...]
    types: tuple[pa.DataType, ...]
    ansi: bool
    options: tuple[object, ...] = ()

    @property
    def type(self) -> pa.DataType:
        """The type of the first slot; bigint if there is no slot."""
        return self.types[0] if self.types else pa.int64()

    def require(self, holds: bool, wanted: str) -> None:
        """Raise an error about the argument's type unless ``holds``."""
        if not holds:
            raise UnsupportedTypeError(
                f"{self.label} needs {wanted}, but its argument is {self.type}", self.label
            )


@dataclass(frozen=True)
class BoundAggregate:
    """An aggregate that is ready to run.

    ``finish`` takes a list of columns for each accumulator, with one row per window. For a
    ``Counted`` accumulator the list holds one ``holistic.Bags`` instead.
    """

    accumulators: tuple[Accumulator, ...]
    type: pa.DataType
    finish: Finish


def slot_types(calls: Sequence[AggregateCall]) -> dict[int, pa.DataType]:
    """Return the types of the slots that the calls read, by place and in order."""
    types = {
        slot: type_ for call in calls for slot, type_ in zip(call.slots, call.types, strict=True)
    }
    return dict(sorted(types.items()))


@dataclass(frozen=True)
class SqlNode:
    """A call that sqlglot parses into a special node: its name, and the fields of its arguments.

    ``parts`` are the node's fields that hold the arguments after the first.
    """

    name: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConstantArgument:
    """A constant after the columns: its name in messages, and the check that it must pass.

    ``default`` is the constant if none is written; without one it must be. With ``text`` the
    constant is a string, else a number or a list of them.
    """

    name: str
    check: Callable[[str, object], object]
    default: object = None
    text: bool = False


@dataclass(frozen=True)
class Definition:
    """One aggregate.

    Attributes:
        name: Its name in labels and in :class:`AggregateCall`.
        sql_names: The names under which SQL text may call it; empty if SQL text cannot.
        nodes: sqlglot's special nodes for it, by the name of their class.
        columns: How many expressions it takes.
        constant: The constant that follows the expressions.
        takes_flag: Whether a TRUE or FALSE may follow, as in Spark.
        correlates: Whether a correlated aggregate may use it; it must not need the order of rows.
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
        """Return what Spark evaluates for each row, with the FILTER condition applied."""
        return [where(condition, argument) for argument in arguments]

    def bind(self, call: AggregateCall) -> BoundAggregate:
        """Return the accumulators and the result of a call; raise if a type is not supported."""
        raise NotImplementedError


def where(condition: Expression | None, value: Expression) -> Expression:
    """Return an expression: the value where the condition is true, else null."""
    return value if condition is None else Where(condition, value)
