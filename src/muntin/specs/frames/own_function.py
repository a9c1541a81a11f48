"""A user's own framing function: open, update, close [Frames 4.4, Definition 5].

It runs where the built-in kinds run. It gets the rows of a key in their order. The operator around
it handles missing rows and the local conditions, and its state is part of the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from muntin.errors import ArgumentError, Mention
from muntin.specs.frames.frame_kind import (
    MISSING,
    FrameKind,
    FramingProperties,
    Operand,
    clash,
    shown,
)


class FramingFunction:
    """The base of a user's own framing function, run row by row.

    ``columns`` are the columns that it reads: names, or SQL text. A row in which one of them is
    null is a missing row. ``state`` is an empty dictionary when a frame opens. It may hold numbers,
    text and booleans, and lists and dictionaries (keyed by text) of them. Anything that a
    checkpoint would not restore exactly is refused. If it is ``overlapping``, frames may open while
    others are open, and each has a state of its own.

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

    #: The columns that it reads.
    columns: Sequence[str] = ()
    #: True if ``open`` is called at every row, also while frames are open.
    overlapping: bool = False

    @property
    def name(self) -> str:
        """The name in messages, which is that of the class."""
        return type(self).__name__

    def open(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        """Return True if a frame opens with this row; called while none is open, or always."""
        raise NotImplementedError

    def update(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        """Return True if this row belongs to the open frame; else the frame ends before it."""
        raise NotImplementedError

    def close(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        """Return True if the frame ends with this row, which belongs to it."""
        return False


class CompiledFraming:
    """The base of a framing function that Numba compiles: many times faster, for numbers only.

    ``row`` is an array of doubles, one for each of ``columns``. ``state`` is an array of
    ``numbers`` doubles, all zero when a frame opens. The methods are static, and Numba must be able
    to compile them. If it is ``overlapping``, frames may open while others are open.

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

    #: The columns that it reads: numbers and booleans.
    columns: Sequence[str] = ()
    #: How many numbers it remembers about an open frame.
    numbers: int = 0
    #: True if ``open`` is called at every row, also while frames are open.
    overlapping: bool = False

    @property
    def name(self) -> str:
        """The name in messages, which is that of the class."""
        return type(self).__name__

    @staticmethod
    def open(row: Any, state: Any) -> bool:
        """Return True if a frame opens with this row; called while none is open, or always."""
        raise NotImplementedError

    @staticmethod
    def update(row: Any, state: Any) -> bool:
        """Return True if this row belongs to the open frame; else the frame ends before it."""
        raise NotImplementedError

    @staticmethod
    def close(row: Any, state: Any) -> bool:
        """Return True if the frame ends with this row, which belongs to it."""
        return False


#: A framing function of either form.
OwnFraming = FramingFunction | CompiledFraming


@dataclass(frozen=True)
class OwnKind(FrameKind):
    """The kind of frame that a user's own framing function finds."""

    framing: OwnFraming
    name: str
    word: ClassVar[str] = "own"

    @property
    def label(self) -> str:
        return f"own({self.name})"

    @property
    def schemes(self) -> tuple[str, ...]:
        return ("unconstrained",) if self.framing.overlapping else ("disjoint",)

    @property
    def overlap_reason(self) -> str | None:
        return f"{self.name}.overlapping" if self.framing.overlapping else None

    @property
    def operands(self) -> tuple[Operand, ...]:
        return tuple(Operand("columns", column, "argument") for column in self.framing.columns)

    @property
    def user_code(self) -> OwnFraming:
        return self.framing

    def check(self, framing: FramingProperties) -> None:
        if framing.missing not in MISSING:
            missing = Mention("missing", shown(framing.missing))
            clash(self.name, missing, "use 'break', 'satisfy' or 'carry'")


def own_kind(framing: OwnFraming) -> OwnKind:
    """Return a framing function as a kind of frame; raise if its class attributes are unusable."""
    columns = framing.columns
    if isinstance(columns, str) or not columns or not all(isinstance(c, str) for c in columns):
        raise ArgumentError(
            "columns", columns, f"{framing.name}.columns names what it looks at: ('speed',)"
        )
    numbers = getattr(framing, "numbers", 0)
    if type(numbers) is not int or numbers < 0:
        raise ArgumentError("numbers", numbers, f"{framing.name}.numbers counts what it remembers")
    if not isinstance(framing.overlapping, bool):
        raise ArgumentError(
            "overlapping", framing.overlapping, f"{framing.name}.overlapping is True or False"
        )
    return OwnKind(framing, framing.name)
