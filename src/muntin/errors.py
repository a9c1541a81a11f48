"""What Muntin says when something cannot work.

Every error is a :class:`MuntinError` and also the builtin a caller would think of catching, so
``except ValueError`` keeps working around a bad argument.
"""

from __future__ import annotations

import difflib
import linecache
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: How a stream goes on that a row far ahead of the others has stopped.
_AHEAD = (
    "a stopped stream refuses rows far ahead, and goes on, when it is started again with ahead= in "
    "its rule of disorder, such as mt.slack('10 seconds', ahead='1 hour')"
)
#: A message shows at most this many characters of a value.
_SHOWN = 200


def shown_value(value: object) -> str:
    """Return a value as a message shows it: the beginning of a long one is enough.

    >>> shown_value("5 minutes"), shown_value(10**5000)
    ("'5 minutes'", 'a number of 16610 bits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not write such numbers
        bits = f" of {value.bit_length()} bits" if isinstance(value, int) else ""
        return f"a number{bits}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def in_notebook(error: BaseException, sentence: str) -> list[str]:
    """Return what a notebook shows of an error: the user's line with its place, and a sentence.

    The user's line is in the last file that is neither Muntin's nor an installed package.
    """
    ours = str(Path(__file__).parent)
    calls = [
        call
        for call in traceback.extract_tb(error.__traceback__)
        if not call.filename.startswith(ours) and "-packages" not in call.filename
    ]
    if not calls or calls[-1].lineno is None:
        return [sentence]
    call = calls[-1]
    line = linecache.getline(call.filename, call.lineno or 0).rstrip()
    shown = [f"line {call.lineno}", f"    {line}"] if line else []
    first, last = call.colno, call.end_colno
    if line and call.end_lineno == call.lineno and first is not None and last is not None:
        shown.append("    " + " " * first + "^" * (last - first))
    return [*shown, sentence]


class MuntinError(Exception):
    """The base of every error that Muntin raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows instead of a traceback through Muntin and Spark."""
        return in_notebook(self, f"{type(self).__name__}: {self}")


@dataclass(frozen=True)
class Mention:
    """An argument that a message mentions, with its value where the message gives one.

    ``str`` writes it as Python does; SQL has words of its own for it. ``...`` is any value.

    >>> [str(Mention("max_count")), str(Mention("until", ...)), str(Mention("prefix", "mt_"))]
    ['max_count', 'until=', "prefix='mt_'"]
    """

    argument: str
    value: object = None

    def __str__(self) -> str:
        if self.value is None:
            return self.argument
        return f"{self.argument}={'' if self.value is ... else shown_value(self.value)}"


class ArgumentError(MuntinError, ValueError):
    """An argument cannot be used: names it, its value, and what would work.

    Args:
        argument: The name of the argument.
        given: Its value.
        reason: Why it cannot be used and what would work: texts, and the other arguments that it
            mentions between them.
    """

    def __init__(self, argument: str, given: object, *reason: str | Mention) -> None:
        self.argument = argument
        self.given = given
        self._reason = reason
        super().__init__(f"{argument}={shown_value(given)} cannot be used: {self.reason()}")

    def reason(self, write: Callable[[Mention], str] = str) -> str:
        """Return the reason, with the arguments that it mentions written by ``write``."""
        return "".join(part if isinstance(part, str) else write(part) for part in self._reason)


class ContradictionError(ArgumentError):
    """Two arguments contradict each other: names both, and says why."""

    def __init__(self, one: Mention | str, other: Mention | str, *why: str | Mention) -> None:
        sides = (one, other)
        self.sides = tuple(Mention(side) if isinstance(side, str) else side for side in sides)
        self.argument, self.given = self.sides[0].argument, self.sides[1].argument
        self._reason = why
        MuntinError.__init__(self, self.sentence())

    def sentence(self, write: Callable[[Mention], str] = str) -> str:
        """Return the whole message, with arguments written by ``write``."""
        one, other = map(write, self.sides)
        return f"{one} and {other} contradict each other: {self.reason(write)}"


class UnknownColumnError(MuntinError, LookupError):
    """A column was named that the DataFrame does not have."""

    def __init__(self, argument: str, name: str, columns: Sequence[str]) -> None:
        self.argument = argument
        self.name = name
        self.columns = tuple(columns)
        super().__init__(
            f"{argument}={name!r} is not a column of the DataFrame{did_you_mean(name, columns)}; "
            f"its columns are {', '.join(columns)}"
        )


class UnsupportedTypeError(MuntinError, TypeError):
    """A column or a value has a type that the operation is not defined for.

    ``about`` is the expression or aggregate with that type, as the user wrote it.
    """

    def __init__(self, message: str, about: str | None = None) -> None:
        self.about = about
        super().__init__(message)


class ExpressionError(MuntinError, ValueError):
    """SQL text that cannot be used: says why, and shows the text with the place marked."""

    def __init__(self, problem: str, text: str, position: int | None = None) -> None:
        self.problem = problem
        self.text = text
        self.position = position
        # Of a long text, the part around the place.
        first = max(0, (position or 0) - _SHOWN)
        before, part = "..." if first else "", text[first : first + 2 * _SHOWN]
        after = "..." if first + len(part) < len(text) else ""
        shown = f"{problem}\n  {before}{part}{after}"
        if position is not None:
            shown += "\n  " + " " * max(0, len(before) + position - first) + "^"
        super().__init__(shown)


class CannotEvaluate(MuntinError, ValueError):  # noqa: N818  (a limit, not a mistake of the user)
    """An expression that only Spark evaluates: says why Muntin does not evaluate it itself."""


class RowError(MuntinError, ArithmeticError):
    """A row for which an expression has no value in Spark's ANSI mode: names the expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            f"{text!r} has no value for some row: a number is out of its type's range, a divisor "
            "is zero, or a text cannot be cast; the try_ functions of SQL return null instead"
        )


class TieError(MuntinError, ValueError):
    """Several rows of a key lie where only one may: says which key and where."""

    def __init__(self, key: Sequence[object], on: object, along: object = None) -> None:
        self.key = tuple(key)
        self.on = on
        self.along = along
        whose = f"key {', '.join(map(repr, self.key))} has" if self.key else "there is"
        one = (
            "refuse them with ties='refuse', with which a stopped stream goes on, or keep one with "
            "ties='first' or ties='last' and tie_order="
        )
        if along is not None:  # rows of a region have two places, which no mean can have
            super().__init__(f"{whose} more than one row at {on!r} and {along!r} along; {one}")
            return
        super().__init__(
            f"{whose} more than one row at {on!r}, or in its slot of the schedule; {one}, or make "
            "them one row with ties='mean', 'max', 'min' or 'sum'"
        )


class EmptySlotsError(MuntinError, ValueError):
    """So many slots of a schedule have no row that they cannot be framed one by one."""

    def __init__(self, empty: int, most: int, *, of_pattern: bool = False) -> None:
        by = "fragments=, cut= or a minimum of minimal frames"
        instead = "leave that out, or use missing='break' or 'carry'"
        if of_pattern:
            by, instead = "a pattern", "use missing='break'"
        super().__init__(
            f"{empty:,} slots of the schedule have no row, and with this missing= and with {by} "
            f"each of them is framed on its own, at most {most:,} in a micro-batch; look for a row "
            f"far before or after all others, or {instead}; {_AHEAD}"
        )


class TooManyPlacesError(MuntinError, ValueError):
    """A row far from the others asks for so many windows or instants that memory cannot hold them.

    Says how many, and how a stopped stream goes on without that row.
    """

    def __init__(self, listed: int, most: int, what: str) -> None:
        self.listed = listed
        self.most = most
        super().__init__(
            f"{listed:,} {what} would be listed at once, at most {most:,}; look for a row far "
            f"before or after all others and filter it out, or use a longer slide; {_AHEAD}"
        )


class RequirementError(MuntinError, RuntimeError):
    """The Spark session lacks something a run needs; the message has the line to paste."""


class ScanError(MuntinError, RuntimeError):
    """A file of a source cannot be read: says which, and why."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"the file {path} cannot be read: {problem}")


class CheckpointError(MuntinError, RuntimeError):
    """A checkpoint belongs to another query; the message says what differs."""


class ActionError(MuntinError, RuntimeError):
    """An action of a trigger failed: says which, and why."""


class SpoolError(MuntinError, OSError):
    """Lines of a pipe or a socket could not be kept: says how many, and why."""

    def __init__(self, lines: int, source: str, why: OSError) -> None:
        self.lines = lines
        reason = why.strerror or str(why)
        counted = f"{lines:,} line{'s' if lines != 1 else ''}"
        super().__init__(
            f"{counted} read from {source} could not be kept on disk: {reason}; make room where "
            "the spool is (the folder of --checkpoint, else that for temporary files), then send "
            "these lines and all after them again"
        )


class QueryFailedError(MuntinError, RuntimeError):
    """A streaming query ended with an error."""


class EngineError(MuntinError, RuntimeError):
    """The engine cannot do what was asked: its home, a stream or a file of it is not as needed."""


class UnknownQueryError(MuntinError, LookupError):
    """No query of the engine has this name or id."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        super().__init__(f"there is no query {name!r}{did_you_mean(name, known)}")


class SumOverflowError(MuntinError, ArithmeticError):
    """A sum left the range of its type while ANSI mode asks for an error."""


class OwnAggregateError(MuntinError, RuntimeError):
    """A user's own aggregate failed, or returned what it must not: says which, and where."""

    def __init__(self, aggregate: str, method: str, problem: str) -> None:
        self.aggregate = aggregate
        self.method = method
        super().__init__(f"{aggregate}: {method} {problem}")


class OwnFramingError(MuntinError, RuntimeError):
    """A user's own framing function failed, or answered what it must not: says which, and where."""

    def __init__(self, framing: str, method: str, problem: str) -> None:
        self.framing = framing
        self.method = method
        super().__init__(f"{framing}: {method} {problem}")


class OwnFunctionError(MuntinError, RuntimeError):
    """A user's function over the rows of a window failed, or returned what it must not."""

    def __init__(self, function: str, problem: str) -> None:
        self.function = function
        super().__init__(f"{function} {problem}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``" (did you mean 'speed'?)"`` when a known name is close, else an empty string."""
    by_letters = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(name.casefold(), list(by_letters), n=1)
    return f" (did you mean {by_letters[close[0]]!r}?)" if close else ""
