"""Plain values as JSON and back, exactly; what a synopsis leaves in a checkpoint runs no code.

A pickle would: whoever can write to the folder of a checkpoint could run a program in every worker.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from muntin.errors import ArgumentError, CheckpointError, MuntinError

#: Every pickle of protocol 2 or later begins with this byte, and no dump of a synopsis does.
_PICKLE = b"\x80"
#: Larger numbers are not written by Python.
_MOST_BITS = 10_000
#: What of NumPy is data alone: truth values, whole numbers and floating-point numbers.
_NUMBERS = "biuf"
_EXPECTED = (
    "a checkpoint holds numbers, texts, bytes, None, lists, tuples, dictionaries and arrays of "
    "numbers; for a class of your own give the function two more methods, to_bytes(sketch) and "
    "from_bytes(data)"
)


def refuse_pickle(dumped: bytes) -> None:
    """Raise if a dump of a synopsis is a pickle, as older versions of Muntin wrote."""
    if dumped.startswith(_PICKLE):
        raise CheckpointError(
            "this checkpoint's state has a synopsis as a pickle, which an older version of Muntin "
            "wrote; it is not read, because reading a pickle runs what is in it. Begin with a new "
            "checkpointLocation, or let the version that wrote it go on to the end of the stream"
        )


@contextmanager
def reading_dump() -> Iterator[None]:
    """Raise that a dump of a synopsis cannot be read, whatever its parts raise."""
    try:
        yield
    except MuntinError:
        raise
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError, struct.error) as why:
        raise CheckpointError(
            f"this checkpoint's state has a synopsis that cannot be read: {why}; go on from a copy "
            "of the checkpoint, or use a new checkpointLocation"
        ) from None


def plain_to_json(value: object) -> str:
    """Return a value as JSON that :func:`plain_from_json` turns into an equal value.

    >>> plain_to_json((1, {2.5: "a"}))
    '{"tuple": [1, {"pairs": [[2.5, "a"]]}]}'
    """
    return json.dumps(_written(value))


def plain_from_json(text: str | bytes) -> Any:
    """Return the value that :func:`plain_to_json` wrote.

    >>> plain_from_json(plain_to_json((1, {2.5: b"a"})))
    (1, {2.5: b'a'})
    """
    with reading_dump():
        return _read(json.loads(text))


def _written(value: object) -> object:
    kind = type(value)
    if value is None or kind in (bool, float, str):
        return value
    if kind is int and value.bit_length() <= _MOST_BITS:  # type: ignore[attr-defined]
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in _NUMBERS:
        array = np.asarray(value)
        scalar = isinstance(value, np.generic)
        return {"array": [array.dtype.str, list(array.shape), _text(array.tobytes()), scalar]}
    match value:
        case list() if kind is list:
            return [_written(part) for part in value]
        case tuple() if kind is tuple:
            return {"tuple": [_written(part) for part in value]}
        case dict() if kind is dict:
            return {"pairs": [[_written(key), _written(part)] for key, part in value.items()]}
        case bytes() if kind is bytes:
            return {"bytes": _text(value)}
    raise ArgumentError("sketch", value, _EXPECTED)


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(part) for part in value]
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    match kind:
        case "tuple":
            return tuple(_read(part) for part in inside)
        case "pairs":
            return {_read(key): _read(part) for key, part in inside}
        case "bytes":
            return base64.b64decode(inside, validate=True)
        case "array":
            dtype, shape, content, scalar = inside
            return _array(np.dtype(str(dtype)), shape, content, scalar)
    raise KeyError(kind)


def _array(dtype: np.dtype[Any], shape: list[int], content: str, scalar: bool) -> Any:
    if dtype.kind not in _NUMBERS:
        raise TypeError(f"{dtype} is no type of numbers")
    array = np.frombuffer(base64.b64decode(content, validate=True), dtype).reshape(shape)
    return array[()] if scalar else array.copy()


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
