"""What every kind of frame has: the base class of the kinds [Frames 4.3].

A kind is a frozen value that checks its arguments. Conditions and values that Spark evaluates for
each row are kept as the user gave them, as SQL text or as a PySpark column. Everything that other
rooms derive from a kind (the columns to read, the refusals, the text of a plan) is an attribute
here, so that a new kind is a new subclass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn, Protocol

from muntin.errors import ArgumentError, ContradictionError, Mention
from muntin.specs.lengths import Length, Number, parse_length

Span = Literal["maximal", "minimal"]
Restart = Literal["close", "drop", "continue"]
Sign = Literal["<", "<=", ">", ">="]
#: What an operand is: a condition, a value, the name of a column, or an argument of user code.
Role = Literal["condition", "value", "column", "argument"]
#: Policies for missing rows that have a name; any other text is a condition.
MISSING = ("break", "satisfy", "carry")


@dataclass(frozen=True)
class Operand:
    """A thing that a kind reads from every row: its argument's name, and the user's value."""

    argument: str
    given: object
    role: Role


class FramingProperties(Protocol):
    """The properties of a framing that a kind may refuse (:class:`Framing` has them)."""

    @property
    def min_count(self) -> int | None: ...
    @property
    def max_count(self) -> int | None: ...
    @property
    def max_duration(self) -> Length | None: ...
    @property
    def cut(self) -> bool: ...
    @property
    def fragments(self) -> Length | None: ...
    @property
    def missing(self) -> str: ...
    @property
    def bounds(self) -> str: ...
    @property
    def readings(self) -> str: ...
    @property
    def combines_ties(self) -> bool: ...
    @property
    def has_schedule(self) -> bool: ...


@dataclass(frozen=True)
class FrameKind:
    """The base of all kinds; a subclass overrides what differs."""

    #: The name of the kind: its public function and its SQL word.
    word: ClassVar[str] = ""
    #: False if a row counts whatever it holds; else a row without a value is a missing row.
    null_is_missing: ClassVar[bool] = True
    #: False if a row that was due and did not come changes nothing, so that a schedule is left out.
    follows_schedule: ClassVar[bool] = True
    #: The fewest rows of a frame.
    least_rows: ClassVar[int] = 1

    @property
    def label(self) -> str:
        """The kind and its arguments, for messages and for the fingerprint of a checkpoint."""
        raise NotImplementedError

    @property
    def span(self) -> Span:
        """``maximal`` if a frame grows while its condition holds; ``minimal`` if it then ends."""
        return "maximal"

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes that frames of this kind can have, the default first [Frames 4.2]."""
        return ("disjoint",)

    @property
    def lengths(self) -> tuple[Length, ...]:
        """The kind's own lengths along ``on``."""
        return ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What Spark evaluates for every row, in the order in which operators read it."""
        return ()

    @property
    def looks_back(self) -> bool:
        """True if the conditions of a row may read ``prev``, the row before it."""
        return False

    @property
    def running_aggregates(self) -> tuple[object, ...]:
        """The aggregates of the open frame's rows that decide about the next row."""
        return ()

    @property
    def window_aggregate(self) -> object:
        """The aggregate of the rows before a row that decides about it, or None."""
        return None

    @property
    def start_condition(self) -> object:
        """The condition of rows that may open a frame; None if every row may."""
        return None

    @property
    def continues(self) -> bool:
        """True if a frame goes on where another starts inside it [Frames, appendix A]."""
        return False

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The columns of a frame that only this kind has, after its bounds."""
        return ()

    @property
    def second_axis(self) -> str | None:
        """The column along which frames have a second extent, or None."""
        return None

    @property
    def user_code(self) -> object:
        """The user's own framing function, or None."""
        return None

    @property
    def overlap_reason(self) -> str | None:
        """The argument that makes frames overlap, in the user's words; None if none does."""
        return "restart='continue'" if self.continues else None

    def held_rows(self, framing: FramingProperties) -> tuple[str, bool] | None:
        """Return which rows of a key a stream keeps, and if they are bounded; None for no rows."""
        return None

    def check(self, framing: FramingProperties) -> None:
        """Raise if a property of the framing contradicts this kind."""


@dataclass(frozen=True)
class Starting(FrameKind):
    """Kinds whose frames may begin at any row, or only where ``start`` holds.

    ``restart`` decides what happens if such a row falls inside an open frame that would have
    taken it [Frames, appendix A]: ``close`` reports the open frame, ``drop`` forgets it, and
    ``continue`` keeps it open beside the new one.
    """

    start: object
    restart: Restart

    def _set_start(self, start: object, restart: object) -> None:
        if restart is not None and start is None:
            raise ArgumentError("restart", restart, "it goes with start=, a condition on rows")
        if restart not in (None, "close", "drop", "continue"):
            raise ArgumentError("restart", restart, "it is 'close', 'drop' or 'continue'")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "restart", restart or "close")

    @property
    def schemes(self) -> tuple[str, ...]:
        if self.start is not None:
            return ("partition",)
        return ("partition", "advancing", "adjacent", "cover", "unconstrained")

    @property
    def start_condition(self) -> object:
        return self.start

    @property
    def continues(self) -> bool:
        return self.start is not None and self.restart == "continue"

    @property
    def closes(self) -> bool:
        """True if a start ends the open frame before it, however far that frame has come."""
        return self.start is not None and self.restart == "close"

    @property
    def _start_label(self) -> str:
        if self.start is None:
            return ""
        return f", start={shown(self.start)}, restart={self.restart}"

    def check(self, framing: FramingProperties) -> None:
        if framing.fragments is not None and self.start is not None and self.restart == "drop":
            clash("fragments", Mention("restart", "drop"), "an open frame may yet be dropped")


def clash(one: Mention | str, other: Mention | str, *why: str | Mention) -> NoReturn:
    """Raise the error about two properties that contradict each other."""
    raise ContradictionError(one, other, *why)


def check_points(kind: FrameKind, framing: FramingProperties) -> None:
    """Raise if a property contradicts a kind that takes rows as points and ends its own frames."""
    if framing.cut:
        clash("cut", kind.word, f"{kind.word} decides itself where a frame ends")
    if framing.fragments is not None:
        clash("fragments", kind.word, "such a frame is certain only when it is over")
    if framing.readings != "point":
        clash(kind.word, framing.readings, "it takes rows as points")
    if framing.bounds == "liberal":
        clash(kind.word, "liberal", "its frames are bounded by their own rows")


def shown(given: object) -> str:
    """Return the text of a condition or a value in messages, also that of a PySpark column."""
    return str(given).removeprefix("Column<'").removesuffix("'>")


def positive(argument: str, given: object) -> Number:
    """Return a plain number above zero, read exactly."""
    length = parse_length(argument, given)
    if not isinstance(length, Number) or not length.positive:
        raise ArgumentError(argument, given, "it must be a number above zero")
    return length


def truth(argument: str, given: object) -> bool:
    """Return True or False; refuse text and numbers, which Python would take for one of them."""
    if not isinstance(given, bool):
        raise ArgumentError(argument, given, "it is True or False")
    return given


def checked_span(given: object) -> Span:
    """Return the span of frames, or raise."""
    if given == "maximal":
        return "maximal"
    if given == "minimal":
        return "minimal"
    raise ArgumentError("span", given, "it is 'maximal' or 'minimal'")
