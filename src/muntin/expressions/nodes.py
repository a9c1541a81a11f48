"""The nodes of conditions that Muntin evaluates itself: a small tree of frozen values.

Spark evaluates the parts that read one row alone; the tree refers to these columns as *slots*. The
other parts read two rows, or a whole window: ``count(*) FILTER (WHERE duration >= avg(duration))``
has an *inner* aggregate [CA-1 to CA-11]. Every node has its meaning from Spark's SQL. A ``zone`` is
the session's time zone: Spark measures the time between two timestamps, and adds days to one, on
the clocks of that zone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa

#: The signs of comparisons, and the signs after the sides are swapped.
COMPARISONS = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}


@dataclass(frozen=True)
class Slot:
    """A column that Spark evaluated, by its place among the slots."""

    place: int


@dataclass(frozen=True)
class Constant:
    """A number: exact as written (a Decimal), or a double where it is written as one (1e3)."""

    value: Decimal | float


@dataclass(frozen=True)
class Text:
    """A constant text, to compare with."""

    value: str


@dataclass(frozen=True)
class Inner:
    """The independent aggregate [CA-6]: over all rows, or over those that meet ``where`` [CA-5].

    ``argument`` is a slot; None counts rows.
    """

    function: str
    argument: int | None
    where: Node | None = None


@dataclass(frozen=True)
class Arithmetic:
    """``left + right`` and the like; ``/`` divides doubles, ``div`` and ``%`` whole numbers too.

    Times may be subtracted, and intervals added to them, on the clocks of ``zone``.
    """

    sign: str
    left: Node
    right: Node
    zone: str = "UTC"


@dataclass(frozen=True)
class Call:
    """A function of one row, by its name in :mod:`muntin.expressions.functions`."""

    function: str
    operands: tuple[Node, ...]
    zone: str = "UTC"


@dataclass(frozen=True)
class Cast:
    """CAST: null where a value cannot have the type, which is an error unless ``safe``."""

    operand: Node
    type: pa.DataType
    zone: str = "UTC"
    safe: bool = False


@dataclass(frozen=True)
class Among:
    """IN: the operand is equal to an item; null if it is not and an item is null."""

    operand: Node
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Comparison:
    sign: str
    left: Node
    right: Node


@dataclass(frozen=True)
class All:
    """SQL's AND: false if an operand is false, else null if an operand is null."""

    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Negation:
    operand: Node


@dataclass(frozen=True)
class Missing:
    """IS NULL."""

    operand: Node


@dataclass(frozen=True)
class BooleanConstant:
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True)
class Null:
    """NULL, which has the type of the values beside it."""


@dataclass(frozen=True)
class Choice:
    """CASE: the value of the first condition that is true, or ``otherwise``."""

    cases: tuple[tuple[Node, Node], ...]
    otherwise: Node


@dataclass(frozen=True)
class LeastOrGreatest:
    """``least`` or ``greatest`` of the operands that are not null; NaN is greater than all."""

    which: Literal["least", "greatest"]
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Like:
    """LIKE with a constant pattern, in which a backslash is the escape."""

    operand: Node
    pattern: str


@dataclass(frozen=True)
class TimeConstant:
    """A constant timestamp or date: its number, and its type."""

    value: int
    type: pa.DataType


@dataclass(frozen=True)
class IntervalConstant:
    """A constant length of time; with ``days`` it is written in days and may move dates."""

    micros: int
    days: bool


@dataclass(frozen=True)
class Elapsed:
    """The number of whole units from one time to another, on the clocks of a zone."""

    unit: int  # in microseconds
    start: Node
    end: Node
    zone: str


@dataclass(frozen=True)
class Hash:
    """Spark's ``xxhash64`` of some operands, with their types once these are known."""

    operands: tuple[Node, ...]
    types: tuple[pa.DataType, ...] = ()


Node = (
    Slot
    | Constant
    | Text
    | Inner
    | Arithmetic
    | Call
    | Cast
    | Among
    | Comparison
    | All
    | Negation
    | Missing
    | BooleanConstant
    | Null
    | Choice
    | LeastOrGreatest
    | Like
    | TimeConstant
    | IntervalConstant
    | Elapsed
    | Hash
)


@dataclass(frozen=True)
class Correlation:
    """The dependent aggregate [CA-6], its slot (None counts rows), and which rows it takes.

    ``slots`` is the number of its slots. If a call has one more slot, that slot is a further
    condition.
    """

    function: str
    argument: int | None
    where: Node
    slots: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class KeptRowsType:
    """The kind of accumulator that keeps rows; its value is computed from a whole window."""

    correlation: Correlation
    types: tuple[pa.DataType, ...]
    ansi: bool

    @property
    def where(self) -> Node:
        """The condition, together with the one that ``Aggregate.filter`` added."""
        plain = range(self.correlation.slots, len(self.types))
        return conjunction([self.correlation.where, *map(Slot, plain)])


def conjunction(operands: list[Node]) -> Node:
    """Return the AND of all operands, without nested ANDs."""
    flat: list[Node] = []
    for operand in operands:
        flat += operand.operands if isinstance(operand, All) else [operand]
    return flat[0] if len(flat) == 1 else All(tuple(flat))


def children(node: Node) -> tuple[Node, ...]:
    return tuple(_nodes(tuple(vars(node).values())))


def _nodes(value: object) -> Iterator[Node]:
    """Yield the nodes in a field of a node, which may be a tuple of nodes."""
    if isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)
    elif isinstance(value, Node):
        yield value


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from walk(child)


def level(node: Node) -> int:
    """Return how deeply aggregates are nested [CA-5]: level n needs n + 1 passes."""
    below = max((level(child) for child in children(node)), default=0)
    return below + isinstance(node, Inner)


def about_rows(node: Node) -> bool:
    """Return whether a value may differ between the rows of a window."""
    if isinstance(node, Inner):
        return False
    return isinstance(node, Slot) or any(map(about_rows, children(node)))


def moved(node: Node, places: tuple[int, ...]) -> Node:
    """Return the same tree with slot ``i`` renumbered to slot ``places[i]``."""
    match node:
        case Slot(place):
            return Slot(places[place])
        case Inner(function, argument, where):
            own = None if argument is None else places[argument]
            return Inner(function, own, None if where is None else moved(where, places))
        case _:
            fields: dict[str, Any] = {n: _moved(v, places) for n, v in vars(node).items()}
            return type(node)(**fields)


def _moved(value: object, places: tuple[int, ...]) -> object:
    if isinstance(value, tuple):
        return tuple(_moved(part, places) for part in value)
    return moved(value, places) if isinstance(value, Node) else value


def limit_of(node: Node) -> tuple[int, str, Node] | None:
    """Read a condition as ``slot sign value of the window``; None if it has another form."""
    if not isinstance(node, Comparison):
        return None
    if isinstance(node.left, Slot) and not about_rows(node.right):
        return node.left.place, node.sign, node.right
    if isinstance(node.right, Slot) and not about_rows(node.left):
        return node.right.place, COMPARISONS[node.sign], node.left
    return None


def conjuncts(node: Node) -> tuple[Node, ...]:
    return node.operands if isinstance(node, All) else (node,)
