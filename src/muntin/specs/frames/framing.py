"""A framing: a kind of frame with its local conditions, its scheme and how rows are read.

[Frames 4.1 and 4.2] has the conditions and schemes; its appendices A, C and F add what practice
needs. Everything checks itself on construction; two properties that contradict each other are
refused with the two words that clash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from muntin.errors import ArgumentError, ContradictionError
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.kinds import (
    Between,
    Crossing,
    Delta,
    FrameKind,
    OwnKind,
    Starting,
    Trend,
    shown,
    truth,
)
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.specs.frames.schemes import Schedule, Scheme
from muntin.specs.lengths import Length, Number, positive_length
from muntin.specs.windows import Context, column_name, digits_for

Bounds = Literal["conservative", "liberal"]
Readings = Literal["point", "until_next", "interval"]
#: How rows that tie become one: one of them, or a value of each column.
TIE_VALUES = ("mean", "max", "min", "sum")
#: Policies for missing rows that have a name; anything else is a condition.
MISSING = ("break", "satisfy", "carry")


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
    ) -> None:
        if not isinstance(kind, FrameKind):
            raise ArgumentError(
                "kind", kind, "it is made by mt.threshold, mt.boundary, mt.delta and the like"
            )
        put = object.__setattr__
        put(self, "kind", kind)
        put(self, "on", column_name("on", on))
        put(self, "min_duration", _length("min_duration", min_duration))
        put(self, "max_duration", _length("max_duration", max_duration))
        put(self, "min_count", _count("min_count", min_count))
        put(self, "max_count", _count("max_count", max_count))
        put(self, "cut", truth("cut", cut))
        put(self, "scheme", _scheme(scheme, kind))
        put(self, "longest", truth("longest", longest))
        put(self, "fragments", _length("fragments", fragments))
        put(self, "missing", _missing(missing))
        put(self, "bounds", _one_of("bounds", bounds, ("conservative", "liberal")))
        put(self, "ties", _ties(ties))
        put(self, "tie_order", _names("tie_order", tie_order))
        put(self, "readings", _one_of("readings", readings, ("point", "until_next", "interval")))
        put(self, "until", None if until is None else column_name("until", until))
        put(self, "schedule", schedule)
        self._check()

    @property
    def overlapping(self) -> bool:
        """Whether a row may lie in several frames, so that rows must be kept one by one."""
        return self.scheme.overlapping or self.continues

    @property
    def continues(self) -> bool:
        """Whether a frame goes on where another starts inside it [Frames, appendix A]."""
        kind = self.kind
        return isinstance(kind, Starting) and kind.start is not None and kind.restart == "continue"

    @property
    def _overlap(self) -> str:
        """Why frames overlap, in the user's words."""
        if isinstance(self.kind, Region):
            return "prefer='all'"
        return "restart='continue'" if self.continues else self.scheme.name

    @property
    def combines_ties(self) -> bool:
        """Whether rows that tie become one row with values of its own."""
        return self.ties not in ("fail", "first", "last")

    @property
    def predicted(self) -> bool:
        """Whether a condition on the rows around it decides about a missing row."""
        return self.missing not in MISSING

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Every length along ``on``."""
        own = (self.min_duration, self.max_duration, self.fragments, self.scheme.overlap)
        slots = () if self.schedule is None else (self.schedule.every,)
        return tuple(x for x in (*own, *slots, *self.kind.lengths) if x is not None)

    @property
    def context(self) -> Context:
        """FCA: which frames a row belongs to depends on the rows behind it."""
        return Context.FCA

    def axis(self, domain: Domain, *, scale: int, zone: str, also: Length | None = None) -> Axis:
        """The axis for a column of this domain, fine enough for every length in play."""
        return Axis(domain, digits_for(domain, scale, *self.lengths, also), zone)

    def __str__(self) -> str:
        told = [f"FRAME {self.kind.label}", f"WATTR {self.on}"]
        told += [
            f"{name}={getattr(self, name)}"
            for name in ("min_duration", "max_duration", "min_count", "max_count", "fragments")
            if getattr(self, name) is not None
        ]
        usual = {"bounds": "conservative", "readings": "point", "ties": "fail", "missing": "break"}
        told += [
            f"{name}={shown(getattr(self, name))}"
            for name, plain in usual.items()
            if getattr(self, name) != plain
        ]
        told += [word for word in ("cut", "longest") if getattr(self, word)]
        if self.scheme.name not in ("disjoint", "partition"):
            told.append(f"scheme={self.scheme}")
        if self.tie_order:
            told.append(f"tie_order={','.join(self.tie_order)}")
        if self.until is not None:
            told.append(f"until={self.until}")
        if self.schedule is not None:
            told.append(f"schedule {self.schedule}")
        return " ".join(told)

    def _check(self) -> None:
        self._check_limits()
        self._check_cut()
        self._check_fragments()
        self._check_reading()
        self._check_ties()
        self._check_kind()

    def _check_limits(self) -> None:
        for least, most in (("min_duration", "max_duration"), ("min_count", "max_count")):
            low, high = getattr(self, least), getattr(self, most)
            if low is None or high is None:
                continue
            if type(low) is not type(high):
                _clash(least, most, f"{low} and {high} are lengths of different kinds")
            if _beyond(low, high):
                _clash(least, most, f"{low} is more than {high}")

    def _check_cut(self) -> None:
        if not self.cut:
            return
        if self.max_duration is None and self.max_count is None:
            raise ArgumentError(
                "cut", True, "a frame is cut at max_duration or max_count; give one"
            )
        if self.kind.span == "minimal":
            _clash(
                "cut",
                self.kind.word,
                "its frames are minimal, and one that is cut does not meet its condition",
            )
        if self.overlapping:
            _clash("cut", self._overlap, "frames that overlap are not cut")
        if self.readings == "until_next" and self.max_duration is not None:
            _clash("cut", "until_next", "how long a row holds is known only with the next one")
        if isinstance(self.kind, Between | Cluster | Region):
            _clash("cut", self.kind.word, f"{self.kind.word} says itself where a frame ends")
        if self.bounds == "liberal":
            _clash("cut", "liberal", "where a frame is cut, the row beside it satisfies as well")

    def _check_fragments(self) -> None:
        if self.fragments is None:
            return
        if self.kind.span == "minimal":
            _clash(
                "fragments",
                self.kind.word,
                "its frames are minimal, and certain only when they are over",
            )
        if self.longest:
            _clash("fragments", "longest", "which frame is the longest is known only at the end")
        if not self.cut and (self.max_duration is not None or self.max_count is not None):
            word = "max_count" if self.max_duration is None else "max_duration"
            _clash("fragments", word, "an open frame may yet become too long; add cut=True")
        if self.overlapping:
            _clash("fragments", self._overlap, "frames that overlap are reported whole")
        kind = self.kind
        if isinstance(kind, Starting) and kind.start is not None and kind.restart == "drop":
            _clash("fragments", "restart='drop'", "an open frame may yet be dropped")
        if isinstance(self.kind, Cluster | Region):
            _clash("fragments", self.kind.word, "such a frame is certain only when it is over")

    def _check_reading(self) -> None:
        if self.readings == "interval" and self.until is None:
            raise ArgumentError("readings", "interval", "it needs until=, the column that ends it")
        if self.readings != "interval" and self.until is not None:
            raise ArgumentError("until", self.until, "it goes with readings='interval'")
        if self.readings == "interval" and self.schedule is not None:
            _clash(
                "interval", "schedule", "a row says itself how long it holds, or a schedule does"
            )
        if self.readings != "point" and self.bounds == "liberal":
            _clash(self.readings, "liberal", "a row that holds for a while leaves nothing to widen")
        if self.overlapping and self.bounds == "liberal":
            _clash("liberal", self._overlap, "frames that overlap have no rows between them")
        if isinstance(self.kind, Region | Cluster) and self.readings != "point":
            _clash(self.kind.word, self.readings, "it takes rows as points")
        if isinstance(self.kind, Region | Cluster) and self.bounds == "liberal":
            _clash(self.kind.word, "liberal", "its frames are bounded by their own rows")

    def _check_ties(self) -> None:
        chosen = self.ties in ("first", "last")
        if chosen and not self.tie_order:
            raise ArgumentError(
                "ties", self.ties, "say with tie_order= which columns order rows that tie"
            )
        if self.tie_order and not chosen:
            order = list(self.tie_order)
            raise ArgumentError("tie_order", order, "it goes with ties='first' or ties='last'")
        if self.combines_ties and isinstance(self.kind, Region):
            _clash("region", "ties", "its rows lie at two places; use 'first' or 'last'")
        if self.combines_ties and self.readings == "interval":
            _clash("ties", "interval", "rows that hold until different ends do not become one")

    def _check_kind(self) -> None:
        kind = self.kind
        if isinstance(kind, Density | Cluster) and self.missing != "break":
            _clash("density", f"missing={shown(self.missing)}", "a missing row adds nothing to it")
        if isinstance(kind, Density | Cluster) and self.schedule is not None:
            _clash("density", "schedule", "a missing row adds nothing to it")
        if isinstance(kind, Region) and self.schedule is not None:
            _clash("region", "schedule", "its columns are the values of `on` themselves")
        if isinstance(kind, Region) and self.missing not in ("break", "satisfy"):
            _clash("region", f"missing={shown(self.missing)}", "use 'break' or 'satisfy'")
        if isinstance(kind, Cluster) and self.max_duration is None and self.max_count is None:
            raise ArgumentError(
                "max_duration",
                None,
                "a density of p and rate needs it, or max_count: how long or large a frame may be",
            )
        if isinstance(kind, Trend) and self.max_count == 1:
            _clash("trend", "max_count", "a trend has at least two rows")
        if isinstance(kind, Cluster) and self.max_count == 1:
            _clash("density", "max_count", "a cluster has at least two rows")
        moves = isinstance(kind, Delta) and kind.span == "minimal" and not kind.closes
        if moves and self.max_count == 1:
            _clash("span='minimal'", "max_count", "a value moves from one row to another")
        if isinstance(kind, Crossing) and str(kind.aggregate) == "count(*)":
            self._check_counted(kind)
        if isinstance(kind, OwnKind) and self.predicted:
            _clash(kind.name, f"missing={shown(self.missing)}", "use 'break', 'satisfy' or 'carry'")

    def _check_counted(self, kind: Crossing) -> None:
        """A frame that ends by how many rows it has, against how many it may have."""
        word = f"{kind.aggregate} {kind.sign} {kind.limit}"
        least, most = kind.rows_counted
        # Missing rows that a frame bridges are none that the aggregate counts.
        fewest = self.min_count if self.missing == "break" else None
        if most is not None and fewest is not None and fewest > most:
            _clash(word, "min_count", f"such a frame has no more than {most} rows")
        if self.max_count is not None and self.max_count < least and not kind.closes:
            _clash(word, "max_count", f"such a frame has at least {least} rows")


def _clash(word: str, other: str, why: str) -> None:
    raise ContradictionError(word, other, why)


def _beyond(low: Length | int, high: Length | int) -> bool:
    if isinstance(low, int) and isinstance(high, int):
        return low > high
    if isinstance(low, Number) and isinstance(high, Number):
        return low.value > high.value
    return getattr(low, "micros", 0) > getattr(high, "micros", 0)


def _length(argument: str, given: object) -> Length | None:
    return None if given is None else positive_length(argument, given)


def _count(argument: str, given: object) -> int | None:
    if given is not None and (type(given) is not int or given < 1):
        raise ArgumentError(argument, given, "it counts rows: a whole number above zero")
    return given


def _scheme(given: object, kind: FrameKind) -> Scheme:
    if given is None:
        return Scheme(kind.schemes[0])
    if given == "adjacent":
        raise ArgumentError("scheme", given, "mt.adjacent('10 seconds') says how far they overlap")
    made = given if isinstance(given, Scheme) else Scheme(str(given))
    if made.name not in kind.schemes:
        started = isinstance(kind, Starting) and kind.start is not None
        word = f"{kind.word}(start=...)" if started else kind.word
        _clash(word, f"scheme={made.name}", f"its frames are {' or '.join(kind.schemes)}")
    return made


def _missing(given: object) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ArgumentError(
            "missing",
            given,
            "it is 'break', 'satisfy', 'carry' or SQL text such as 'prev.x > 1 AND next.x > 1'",
        )
    return given


def _one_of(argument: str, given: object, known: Sequence[str]) -> str:
    if given not in known:
        raise ArgumentError(argument, given, f"it is one of {', '.join(map(repr, known))}")
    return str(given)


def _ties(given: object) -> object:
    if isinstance(given, Mapping):
        for column, how in given.items():
            if how not in TIE_VALUES:
                raise ArgumentError("ties", {column: how}, f"it is one of {', '.join(TIE_VALUES)}")
        return tuple(sorted((column_name("ties", c), str(how)) for c, how in given.items()))
    if given in ("fail", "first", "last", *TIE_VALUES):
        return given
    if isinstance(given, tuple):  # as a framing keeps it
        return given
    known = ", ".join(("fail", "first", "last", *TIE_VALUES))
    raise ArgumentError("ties", given, f"it is one of {known}, or {{column: one of the last four}}")


def _names(argument: str, given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence):
        raise ArgumentError(argument, given, "it must be a column name or several")
    return tuple(column_name(argument, str(name)) for name in names)
