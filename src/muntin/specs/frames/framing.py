"""A framing: a kind of frame with its local conditions, its scheme, and how rows are read.

[Frames 4.1 and 4.2] has the conditions and schemes; its appendices A, C and F add what practice
needs. A framing checks itself on construction. If two properties contradict each other, the error
names both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from muntin.errors import ArgumentError, Mention
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.frame_kind import MISSING, FrameKind, clash, shown, truth
from muntin.specs.frames.schemes import Schedule, Scheme
from muntin.specs.lengths import Length, Number, positive_length
from muntin.specs.windows import Context, column_name, digits_for

Bounds = Literal["conservative", "liberal"]
Readings = Literal["point", "until_next", "interval"]
_LIMITS = ("min_duration", "max_duration", "min_count", "max_count")
#: How rows that tie become one: by choosing one of them, or by a value of each column.
TIE_VALUES = ("mean", "max", "min", "sum")


@dataclass(frozen=True)
class Framing:
    """Everything that decides which frames a stream has."""

    kind: FrameKind
    on: str
    min_duration: Length | None
    max_duration: Length | None
    min_count: int | None
    max_count: int | None
    cut: bool
    scheme: Scheme
    longest: bool
    fragments: Length | None
    missing: str
    bounds: Bounds
    ties: object
    tie_order: tuple[str, ...]
    readings: Readings
    until: str | None
    schedule: Schedule | None
    forget: Length | None

    def __init__(
        self,
        kind: object,
        on: str,
        *,
        min_duration: object = None,
        max_duration: object = None,
        min_count: object = None,
        max_count: object = None,
        cut: bool = False,
        scheme: object = None,
        longest: bool = False,
        fragments: object = None,
        missing: object = "break",
        bounds: object = "conservative",
        ties: object = "fail",
        tie_order: object = None,
        readings: object = "point",
        until: object = None,
        schedule: Schedule | None = None,
        forget: object = None,
    ) -> None:
        if not isinstance(kind, FrameKind):
            raise ArgumentError(
                "kind", kind, "it is made by mt.threshold, mt.boundary, mt.delta and the like"
            )
        set_field = object.__setattr__
        set_field(self, "kind", kind)
        set_field(self, "on", column_name("on", on))
        set_field(self, "min_duration", _length("min_duration", min_duration))
        set_field(self, "max_duration", _length("max_duration", max_duration))
        set_field(self, "min_count", _count("min_count", min_count))
        set_field(self, "max_count", _count("max_count", max_count))
        set_field(self, "cut", truth("cut", cut))
        set_field(self, "scheme", _scheme(scheme, kind))
        set_field(self, "longest", truth("longest", longest))
        set_field(self, "fragments", _length("fragments", fragments))
        set_field(self, "missing", _missing(missing))
        set_field(self, "bounds", _one_of("bounds", bounds, ("conservative", "liberal")))
        set_field(self, "ties", _ties(ties))
        set_field(self, "tie_order", _names("tie_order", tie_order))
        set_field(
            self, "readings", _one_of("readings", readings, ("point", "until_next", "interval"))
        )
        set_field(self, "until", None if until is None else column_name("until", until))
        set_field(self, "schedule", schedule if kind.follows_schedule else None)
        set_field(self, "forget", _length("forget", forget))
        self._check()

    @property
    def overlapping(self) -> bool:
        """True if a row may lie in several frames, so that rows must be kept one by one."""
        return self.scheme.overlapping or self.kind.continues

    @property
    def has_bounded_frames(self) -> bool:
        """True if no open frame grows beyond a maximum: it is cut there, or given up."""
        return self._is_limited and (self.cut or self.kind.span == "minimal")

    @property
    def combines_ties(self) -> bool:
        """True if rows that tie become one row with values of its own."""
        return self.ties not in ("fail", "refuse", "first", "last")

    @property
    def predicted(self) -> bool:
        """True if a condition on the rows around a missing row decides about it."""
        return self.missing not in MISSING

    @property
    def has_schedule(self) -> bool:
        """True if rows are due at known times, so that a row that does not come is missing."""
        return self.schedule is not None

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length along ``on``."""
        own = (self.min_duration, self.max_duration, self.fragments, self.scheme.overlap)
        slots = () if self.schedule is None else (self.schedule.every,)
        more = *slots, *self.kind.lengths, self.forget
        return tuple(x for x in (*own, *more) if x is not None)

    @property
    def context(self) -> Context:
        """FCA: the frames of a row depend on the rows after it."""
        return Context.FCA

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """Return the axis for a column of this domain, fine enough for every length in play."""
        return Axis(domain, digits_for(domain, scale, *self.lengths, also), zone)

    def __str__(self) -> str:
        words = [f"FRAME {self.kind.label}", f"WATTR {self.on}"]
        words += [
            f"{name}={getattr(self, name)}"
            for name in (*_LIMITS, "fragments", "forget")
            if getattr(self, name) is not None
        ]
        usual = {"bounds": "conservative", "readings": "point", "ties": "fail", "missing": "break"}
        words += [
            f"{name}={shown(getattr(self, name))}"
            for name, plain in usual.items()
            if getattr(self, name) != plain
        ]
        words += [word for word in ("cut", "longest") if getattr(self, word)]
        if self.scheme.name not in ("disjoint", "partition"):
            words.append(f"scheme={self.scheme}")
        if self.tie_order:
            words.append(f"tie_order={','.join(self.tie_order)}")
        if self.until is not None:
            words.append(f"until={self.until}")
        if self.schedule is not None:
            words.append(f"schedule {self.schedule}")
        return " ".join(words)

    def _check(self) -> None:
        """Raise if two properties contradict each other; the kind checks last."""
        self._check_limits()
        self._check_minimal()
        self._check_cut()
        self._check_fragments()
        self._check_reading()
        self._check_ties()
        self._check_forget()
        self.kind.check(self)

    def _check_limits(self) -> None:
        for least, most in (("min_duration", "max_duration"), ("min_count", "max_count")):
            low, high = getattr(self, least), getattr(self, most)
            if low is None or high is None:
                continue
            if type(low) is not type(high):
                clash(least, most, f"{low} and {high} are lengths of different kinds")
            if _beyond(low, high):
                clash(least, most, f"{low} is more than {high}")

    def _check_minimal(self) -> None:
        """Raise if a minimal frame would be reported before it meets its condition."""
        if self.kind.span != "minimal":
            return
        if self.cut and self._is_limited:
            why = "its frames are minimal, and one that is cut does not meet its condition"
            clash("cut", self.kind.word, why)
        if self.fragments is not None:
            why = "its frames are minimal, and certain only when they are over"
            clash("fragments", self.kind.word, why)

    def _check_cut(self) -> None:
        if not self.cut:
            return
        if not self._is_limited:
            limits = Mention("max_duration"), " or ", Mention("max_count")
            raise ArgumentError("cut", True, "a frame is cut at ", *limits, "; give one")
        if self.overlapping and self.kind.second_axis is not None:
            clash("cut", self._overlap_reason, "regions that overlap are not cut")
        if self.readings == "until_next" and self.max_duration is not None:
            clash("cut", "until_next", "how long a row holds is known only with the next one")
        if self.bounds == "liberal":
            clash("cut", "liberal", "where a frame is cut, the row beside it satisfies as well")

    def _check_fragments(self) -> None:
        if self.fragments is None:
            return
        if self.longest:
            clash("fragments", "longest", "which frame is the longest is known only at the end")
        if not self.cut and self._is_limited:
            word = "max_count" if self.max_duration is None else "max_duration"
            why = "an open frame may yet become too long; add "
            clash("fragments", word, why, Mention("cut", True))
        if self.overlapping:
            clash("fragments", self._overlap_reason, "frames that overlap are reported whole")

    def _check_reading(self) -> None:
        if self.readings == "interval" and self.until is None:
            reason = "it needs ", Mention("until", ...), ", the column that ends it"
            raise ArgumentError("readings", "interval", *reason)
        if self.readings != "interval" and self.until is not None:
            interval = Mention("readings", "interval")
            raise ArgumentError("until", self.until, "it goes with ", interval)
        if self.readings == "interval" and self.schedule is not None:
            why = "either each row has its own end, or a schedule gives it one"
            clash("interval", "schedule", why)
        if self.readings != "point" and self.bounds == "liberal":
            clash(self.readings, "liberal", "a row that holds for a while leaves nothing to widen")
        if self.overlapping and self.bounds == "liberal":
            clash("liberal", self._overlap_reason, "frames that overlap have no rows between them")

    def _check_ties(self) -> None:
        chosen = self.ties in ("first", "last")
        if chosen and not self.tie_order:
            reason = "give the columns that order rows that tie with "
            raise ArgumentError("ties", self.ties, reason, Mention("tie_order", ...))
        if self.tie_order and not chosen:
            order = list(self.tie_order)
            choices = Mention("ties", "first"), " or ", Mention("ties", "last")
            raise ArgumentError("tie_order", order, "it goes with ", *choices)
        if self.combines_ties and self.readings == "interval":
            clash("ties", "interval", "rows that hold until different ends do not become one")

    def _check_forget(self) -> None:
        """Raise if what comes after the last row of a key is part of its frames."""
        if self.forget is None:
            return
        if self.schedule is not None:
            why = "by a schedule a key that sends nothing has missing rows, and does not end"
            clash("forget", "schedule", why)
        if self.readings == "until_next":
            clash("forget", "until_next", "the last row before a gap would hold for ever")
        if self.readings == "interval":
            clash("forget", "interval", "a row may hold beyond the gap that ends its key")
        if self.fragments is not None:
            why = "its parts are known by their frame_id, which begins anew after a gap"
            clash("forget", "fragments", why)

    @property
    def _is_limited(self) -> bool:
        return self.max_duration is not None or self.max_count is not None

    @property
    def _overlap_reason(self) -> str:
        """The argument that makes frames overlap, in the user's words."""
        return self.kind.overlap_reason or self.scheme.name


def _beyond(low: Length | int, high: Length | int) -> bool:
    if isinstance(low, int) and isinstance(high, int):
        return low > high
    if isinstance(low, Number) and isinstance(high, Number):
        return low.value > high.value
    return getattr(low, "micros", 0) > getattr(high, "micros", 0)


def _length(argument: str, value: object) -> Length | None:
    return None if value is None else positive_length(argument, value)


def _count(argument: str, count: object) -> int | None:
    if count is not None and (type(count) is not int or count < 1):
        raise ArgumentError(argument, count, "it counts rows: a whole number above zero")
    return count


def _scheme(requested: object, kind: FrameKind) -> Scheme:
    if requested is None:
        return Scheme(kind.schemes[0])
    if requested == "adjacent":
        raise ArgumentError(
            "scheme", requested, "mt.adjacent('10 seconds') says how far they overlap"
        )
    scheme = requested if isinstance(requested, Scheme) else Scheme(str(requested))
    if scheme.name not in kind.schemes:
        word = kind.word if kind.start_condition is None else f"{kind.word}(start=...)"
        clash(word, Mention("scheme", scheme.name), f"its frames are {' or '.join(kind.schemes)}")
    return scheme


def _missing(policy: object) -> str:
    if not isinstance(policy, str) or not policy.strip():
        raise ArgumentError(
            "missing",
            policy,
            "it is 'break', 'satisfy', 'carry' or SQL text such as 'prev.x > 1 AND next.x > 1'",
        )
    return policy


def _one_of(argument: str, value: object, known: Sequence[str]) -> str:
    if value not in known:
        raise ArgumentError(argument, value, f"it is one of {', '.join(map(repr, known))}")
    return str(value)


def _ties(ties: object) -> object:
    if isinstance(ties, Mapping):
        for column, how in ties.items():
            if how not in TIE_VALUES:
                raise ArgumentError("ties", {column: how}, f"it is one of {', '.join(TIE_VALUES)}")
        return tuple(sorted((column_name("ties", c), str(how)) for c, how in ties.items()))
    if ties in ("fail", "refuse", "first", "last", *TIE_VALUES):
        return ties
    if isinstance(ties, tuple):  # the form in which a framing keeps it
        return ties
    known = ", ".join(("fail", "refuse", "first", "last", *TIE_VALUES))
    raise ArgumentError("ties", ties, f"it is one of {known}, or {{column: one of the last four}}")


def _names(argument: str, columns: object) -> tuple[str, ...]:
    if columns is None:
        return ()
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, Sequence):
        raise ArgumentError(argument, columns, "it must be a column name or several")
    return tuple(column_name(argument, str(name)) for name in names)
