"""A user's own framing function: open, update, close [Frames 4.4, Definition 5].

It runs where the built-in ones run: rows come key by key in their order, missing rows and the
local conditions are dealt with around it, and what it remembers is kept in the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muntin.errors import ArgumentError
from muntin.specs.frames.kinds import OwnKind


class FramingFunction:
    """The base of a user's own framing function, run row by row.

    ``columns`` are what it looks at: names of columns, or SQL text; a row in which one of them is
    null is a missing row. ``state`` is an empty dictionary when a frame opens, and remembers
    numbers, text and truths of it, and lists and dictionaries (keyed by text) of them; what would
    not be the same after a stream has written it down is refused.

    >>> class Dropping(FramingFunction):
    ...     '''From a row until the level has fallen by ten.'''
    ...
    ...     columns = ("level",)
    ...
    ...     def open(self, row, state):
    ...         state["top"] = row["level"]
    ...         return True
    ...
    ...     def update(self, row, state):
    ...         state["top"] = max(state["top"], row["level"])
    ...         return True
    ...
    ...     def close(self, row, state):
    ...         return row["level"] <= state["top"] - 10
    >>> Dropping().name
    'Dropping'
    """

    #: What it looks at.
    columns: Sequence[str] = ()

    @property
    def name(self) -> str:
        """What messages call it: the name of the class."""
        return type(self).__name__

    def open(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        """Whether a frame opens with a row; asked while none is open."""
        raise NotImplementedError

    def update(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        """Whether the next row belongs to the open frame; if not, the frame ends before it."""
        raise NotImplementedError

    def close(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        """Whether the frame ends with this row, which belongs to it."""
        return False


class CompiledFraming:
    """The same, compiled by Numba: many times faster, for numbers only.

    ``row`` is an array of doubles, one for each of ``columns``; ``state`` one of so many
    ``numbers``, zeros when a frame opens. The methods are static and use what Numba can compile.

    >>> class Rising(CompiledFraming):
    ...     columns = ("level",)
    ...     numbers = 1
    ...
    ...     @staticmethod
    ...     def open(row, state):
    ...         state[0] = row[0]
    ...         return True
    ...
    ...     @staticmethod
    ...     def update(row, state):
    ...         rises = row[0] > state[0]
    ...         state[0] = row[0]
    ...         return rises
    >>> Rising().name
    'Rising'
    """

    #: What it looks at: numbers and truths.
    columns: Sequence[str] = ()
    #: How many numbers it remembers of an open frame.
    numbers: int = 0

    @property
    def name(self) -> str:
        """What messages call it: the name of the class."""
        return type(self).__name__

    @staticmethod
    def open(row: Any, state: Any) -> bool:
        """Whether a frame opens with a row; asked while none is open."""
        raise NotImplementedError

    @staticmethod
    def update(row: Any, state: Any) -> bool:
        """Whether the next row belongs to the open frame; if not, the frame ends before it."""
        raise NotImplementedError

    @staticmethod
    def close(row: Any, state: Any) -> bool:
        """Whether the frame ends with this row, which belongs to it."""
        return False


#: Either form.
OwnFraming = FramingFunction | CompiledFraming


def own_kind(framing: OwnFraming) -> OwnKind:
    """A framing function as a kind of frame, or an error where it does not say what it is."""
    columns = framing.columns
    if isinstance(columns, str) or not columns or not all(isinstance(c, str) for c in columns):
        raise ArgumentError(
            "columns", columns, f"{framing.name}.columns names what it looks at: ('speed',)"
        )
    numbers = getattr(framing, "numbers", 0)
    if type(numbers) is not int or numbers < 0:
        raise ArgumentError("numbers", numbers, f"{framing.name}.numbers counts what it remembers")
    return OwnKind(framing, framing.name)
