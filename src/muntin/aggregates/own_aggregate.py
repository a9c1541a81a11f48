"""A user's own aggregate: a class that makes partial rows, merges them and finishes them.

It runs like a built-in aggregate: its partial rows are columns of a pane [Panes 3.1]. They are made
before the shuffle, kept in the state and merged into windows.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import OwnAggregateError, UnsupportedTypeError
from muntin.kernels.arrays import Ints

#: Columns of equal length: the arguments of some rows, or some partial rows.
Columns = Sequence[pa.Array]


class OwnAggregate:
    """The base of a user's own aggregate.

    ``partials`` are the columns that a pane keeps; the methods say how rows become partial rows,
    how partial rows are merged, and how a partial row becomes a result. Merging must not depend on
    the order of rows or on how they were grouped. A row whose arguments are all null must count for
    nothing, because that is what ``filter`` makes of the rows it leaves out.

    >>> class Squares(OwnAggregate):
    ...     partials = (pa.float64(),)
    ...
    ...     def result(self, types):
    ...         return pa.float64()
    ...
    ...     def partial(self, columns, groups, count):
    ...         return [grouped_sum(pc.power(columns[0], 2.0), groups, count)]
    ...
    ...     def merge(self, partials, groups, count):
    ...         return [grouped_sum(partials[0], groups, count)]
    ...
    ...     def finish(self, partials):
    ...         return partials[0]
    >>> squares = Squares()
    >>> squares.partial([pa.array([1.0, 2.0, 3.0])], np.array([0, 1, 0]), 2)[0].to_pylist()
    [10.0, 4.0]
    """

    #: The Arrow types of a partial row.
    partials: Sequence[pa.DataType] = ()
    #: Whether a partial row has a fixed size; False for a holistic aggregate, which keeps values.
    bounded: bool = True
    #: Whether there is a ``remove`` that undoes ``merge`` exactly.
    differential: bool = False

    @property
    def name(self) -> str:
        """The name in messages and result columns: the name of the class."""
        return type(self).__name__

    def typed(self, types: Sequence[pa.DataType]) -> OwnAggregate:
        """Return the aggregate for arguments of these types, if its partials depend on them."""
        return self

    def result(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """Return the type of the result; raise ``UnsupportedTypeError`` for an unsupported type."""
        raise NotImplementedError

    def partial(self, columns: Columns, groups: Ints, count: int) -> Columns:
        """Return one partial row for each group of rows.

        ``groups`` has a number from 0 to ``count - 1`` for every row; no group is empty.
        """
        raise NotImplementedError

    def merge(self, partials: Columns, groups: Ints, count: int) -> Columns:
        """Merge partial rows into one for each group."""
        raise NotImplementedError

    def remove(self, whole: Columns, part: Columns) -> Columns:
        """Remove ``part`` from ``whole``, row by row; only called if ``differential``."""
        raise NotImplementedError

    def finish(self, partials: Columns) -> pa.Array:
        """Return one result for each partial row."""
        raise NotImplementedError


@dataclass(frozen=True)
class CheckedAggregate:
    """An aggregate with its types known, whose results are checked.

    An error in a user's code is raised with the names of the aggregate and of the method. The
    aggregate is never called without rows.
    """

    own: OwnAggregate
    label: str
    type: pa.DataType
    partials: tuple[pa.DataType, ...]

    def partial(self, columns: Columns, groups: Ints, count: int) -> list[pa.Array]:
        return self._partials("partial", count, columns, groups, count)

    def merge(self, partials: Columns, groups: Ints, count: int) -> list[pa.Array]:
        return self._partials("merge", count, partials, groups, count)

    def remove(self, whole: Columns, part: Columns) -> list[pa.Array]:
        return self._partials("remove", len(whole[0]), whole, part)

    def finish(self, partials: Columns) -> pa.Array:
        if len(partials[0]) == 0:
            return pa.array([], self.type)
        result = called(self.label, "finish", self.own.finish, partials)
        return self._array("finish", "the result", result, self.type, len(partials[0]))

    def _partials(self, method: str, rows: int, *arguments: object) -> list[pa.Array]:
        if rows == 0:
            return [pa.array([], type_) for type_ in self.partials]
        columns = called(self.label, method, getattr(self.own, method), *arguments)
        if not isinstance(columns, Sequence) or len(columns) != len(self.partials):
            got = (
                f"{len(columns)}"
                if isinstance(columns, Sequence)
                else f"a {type(columns).__name__}"
            )
            raise OwnAggregateError(
                self.label, method, f"must return {len(self.partials)} columns, but returned {got}"
            )
        return [
            self._array(method, f"column {place}", column, type_, rows)
            for place, (column, type_) in enumerate(zip(columns, self.partials, strict=True))
        ]

    def _array(
        self, method: str, name: str, column: object, type_: pa.DataType, rows: int
    ) -> pa.Array:
        array = pa.array(column) if isinstance(column, np.ndarray) else column
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        problem = None
        if not isinstance(array, pa.Array):
            problem = f"is a {type(array).__name__}, not an Arrow array"
        elif array.type != type_:
            problem = f"has type {array.type}, not {type_}"
        elif len(array) != rows:
            problem = f"has {len(array)} rows, not {rows}"
        if problem is not None:
            raise OwnAggregateError(self.label, method, f"made a mistake: {name} {problem}")
        return array


def checked(own: OwnAggregate, label: str, types: Sequence[pa.DataType]) -> CheckedAggregate:
    """Return the aggregate for arguments of these types; raise if a type is not supported."""
    typed = called(label, "typed", own.typed, types)
    if not isinstance(typed, OwnAggregate):
        raise OwnAggregateError(label, "typed", "must return an OwnAggregate")
    result = called(label, "result", typed.result, types)
    if not isinstance(result, pa.DataType):
        raise OwnAggregateError(label, "result", f"must return an Arrow type, not {result!r}")
    if not typed.partials or not all(isinstance(type_, pa.DataType) for type_ in typed.partials):
        raise OwnAggregateError(label, "partials", "must name Arrow types, at least one")
    return CheckedAggregate(typed, label, result, tuple(typed.partials))


def called(label: str, method: str, function: Callable[..., object], *given: object) -> object:
    """Call a user's method; if it fails, raise an error that names the aggregate."""
    try:
        return function(*given)
    except UnsupportedTypeError as error:
        raise UnsupportedTypeError(f"{label}: {error}", label) from error
    except Exception as error:
        raise OwnAggregateError(
            label, method, f"failed: {type(error).__name__}: {error}"
        ) from error


def described(own: OwnAggregate, arguments: Sequence[str]) -> str:
    """Return a call's text: ``GeometricMean(price)``, or ``Trimmed(price, share=0.1)`` with fields.

    Only public fields are shown. The text is the same in every process, because checkpoints are
    compared by it.
    """
    aggregate: object = own
    if dataclasses.is_dataclass(aggregate) and not isinstance(aggregate, type):
        fields = {field.name: getattr(own, field.name) for field in dataclasses.fields(aggregate)}
    else:
        fields = dict(getattr(own, "__dict__", {}))
    written = [
        f"{name}={_ADDRESS.sub('', repr(value))}"
        for name, value in fields.items()
        if not name.startswith("_")
    ]
    return f"{own.name}({', '.join([*arguments, *written])})"


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def grouped_sum(values: pa.Array, groups: Ints, count: int) -> pa.Array:
    """The sum of each group: bigint, double or a wide decimal; zero if all values are null.

    >>> grouped_sum(pa.array([1, 2, None]), np.array([0, 0, 1]), 2).to_pylist()
    [3, 0]
    """
    return _grouped("sum", values, groups, count, pc.ScalarAggregateOptions(min_count=0))


def grouped_count(values: pa.Array, groups: Ints, count: int) -> pa.Array:
    """How many values each group has; nulls do not count."""
    return _grouped("count", values, groups, count, pc.CountOptions(mode="only_valid"))


def grouped_min(values: pa.Array, groups: Ints, count: int) -> pa.Array:
    """The least value of each group; null if all values are null, NaN only if all are NaN."""
    return _grouped("min", values, groups, count, None)


def grouped_max(values: pa.Array, groups: Ints, count: int) -> pa.Array:
    """The greatest value of each group; null if all values are null, NaN only if all are NaN."""
    return _grouped("max", values, groups, count, None)


def _grouped(how: str, values: pa.Array, groups: Ints, count: int, options: object) -> pa.Array:
    # One null for each group comes first, so that the groups are in order.
    filler = pa.nulls(count, values.type)
    table = pa.table(
        {
            "group": pa.array(np.concatenate([np.arange(count), groups])),
            "value": pa.chunked_array([filler, values]),
        }
    )
    aggregated = table.group_by("group", use_threads=False).aggregate([("value", how, options)])
    return aggregated[f"value_{how}"].combine_chunks()
