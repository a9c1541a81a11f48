"""How much disorder a stream has, and what happens to rows that come too late.

A punctuation ``x`` says that no more rows below ``x`` will come [Window-ids 5.1]. The disorder of
a stream is the rule that derives punctuation from the rows seen so far. Section 7 of the paper
lists such rules: slack by time and by count, order within each sensor, and punctuation that the
source sends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from muntin.errors import ArgumentError
from muntin.specs.idle import Clock, Follow, Idle, Wait, idle_rule
from muntin.specs.lengths import Length, LengthLike, Number, parse_length

Late = Literal["generous", "consistent"]
#: The largest ``slack(rows=)``: every shard keeps this many values.
MOST_ROWS = 100_000
#: The values that ``mt.stream`` takes as ``disorder``, for error messages.
CHOICES = (
    "mt.ordered(), mt.slack('10 seconds'), mt.slack(rows=100), mt.punctuated('condition'), "
    "mt.per_key('10 seconds'), mt.each('sensor', '10 seconds') or mt.per_partition()"
)


@dataclass(frozen=True)
class Disorder:
    """The rule by which a stream punctuates itself; ``ordered``, ``slack`` and others return one.

    ``late`` decides about a row of which some windows have closed: ``generous`` counts it in those
    that are open, ``consistent`` in none [Window-ids 8]. A row more than ``ahead`` above where the
    stream is gets refused, and moves no punctuation.
    """

    late: Late
    ahead: Length | None = field(default=None, kw_only=True)
    #: The name of the rule; a checkpoint belongs to one rule.
    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.late not in ("generous", "consistent"):
            raise ArgumentError("late", self.late, "it is 'generous' or 'consistent'")

    @property
    def lengths(self) -> tuple[Length, ...]:
        """The rule's own lengths along ``on``, without ``ahead``."""
        return ()

    def __str__(self) -> str:
        return f"{self.order}{'' if self.ahead is None else f', at most {self.ahead} ahead'}"

    @property
    def order(self) -> str:
        """The rule in words, without ``ahead``."""
        raise NotImplementedError

    @property
    def judges_numbers(self) -> bool:
        """True if rows can be judged as ahead by the rows of earlier micro-batches."""
        return False

    @property
    def finest(self) -> Length | None:
        """The length with the most decimals; an axis must be fine enough for it."""
        return max(
            self.lengths if self.ahead is None else (*self.lengths, self.ahead),
            key=lambda length: length.digits if isinstance(length, Number) else 0,
            default=None,
        )

    @property
    def needs_clock(self) -> bool:
        """True if the rule does nothing without a heartbeat."""
        return False

    @property
    def state_kind(self) -> str:
        """The part of the rule that must not change between runs on one checkpoint."""
        return self.kind

    def resolved(self, columns: Sequence[str]) -> Disorder:
        """Return the rule for a DataFrame with these columns."""
        return self


@dataclass(frozen=True)
class Slack(Disorder):
    """Rows come at most ``slack`` below the largest value seen; None means in order."""

    slack: Length | None = None
    kind: ClassVar[str] = "slack"

    @property
    def lengths(self) -> tuple[Length, ...]:
        return () if self.slack is None else (self.slack,)

    @property
    def order(self) -> str:
        return "ordered" if self.slack is None else f"slack {self.slack}"

    @property
    def judges_numbers(self) -> bool:
        return True


@dataclass(frozen=True)
class RowSlack(Disorder):
    """No row comes more than ``rows`` positions out of order."""

    rows: int = 0
    kind: ClassVar[str] = "slack by rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.rows) is not int or not 0 <= self.rows <= MOST_ROWS:
            raise ArgumentError(
                "rows",
                self.rows,
                f"it is a whole number from 0 to {MOST_ROWS:,}, because every shard remembers so "
                "many values; for more disorder use a length, such as mt.slack('10 minutes')",
            )

    @property
    def order(self) -> str:
        return f"slack {self.rows} rows"


# Compared by identity, because two PySpark columns cannot be compared.
#: The condition of punctuation rows where there are none.
OUTSIDE = "false"


@dataclass(frozen=True, eq=False)
class Punctuated(Disorder):
    """Rows for which a condition holds are punctuation, for all keys or for their own."""

    where: object = None
    key: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        text = isinstance(self.where, str) and bool(self.where.strip())
        # This room does not import PySpark, so a column is known by the name of its class.
        if not text and type(self.where).__name__ != "Column":
            example = "kind = 'mark'"
            raise ArgumentError(
                "where", self.where, f'it is SQL text or a PySpark column, such as "{example}"'
            )
        if not isinstance(self.key, bool):
            raise ArgumentError("key", self.key, "it is True (for the row's own key) or False")

    @property
    def state_kind(self) -> str:
        return "punctuated for a key" if self.key else "punctuated for all keys"

    @property
    def order(self) -> str:
        if self.from_outside:
            return f"punctuated from outside, for {'each key' if self.key else 'all keys'}"
        condition = str(self.where).removeprefix("Column<'").removesuffix("'>")
        return f"punctuated where {condition}, {'for its key' if self.key else 'for all keys'}"

    @property
    def from_outside(self) -> bool:
        """True if no row is punctuation, so that only control rows are."""
        return isinstance(self.where, str) and self.where == OUTSIDE


@dataclass(frozen=True)
class _Within(Disorder):
    """Order holds, up to ``slack``, within each key, sensor or partition."""

    slack: Length | None = None
    idle: Idle = field(default_factory=Wait)

    @property
    def lengths(self) -> tuple[Length, ...]:
        own = () if self.slack is None else (self.slack,)
        return (*own, self.idle.length) if isinstance(self.idle, Follow) else own

    @property
    def needs_clock(self) -> bool:
        return isinstance(self.idle, Clock)

    def _order(self) -> str:
        return "ordered" if self.slack is None else f"slack {self.slack}"

    def _idle_kind(self) -> str:
        # The clock decides again who is silent after a restart, so its length is part of the state.
        return str(self.idle) if isinstance(self.idle, Clock) else type(self.idle).__name__.lower()


@dataclass(frozen=True)
class PerKey(_Within):
    """Every key has its own punctuation: its largest value minus the slack."""

    @property
    def state_kind(self) -> str:
        return f"per key, {self._idle_kind()}"

    @property
    def order(self) -> str:
        return f"{self._order()} per key, quiet keys {self.idle}"


@dataclass(frozen=True)
class Each(_Within):
    """Order holds within each value of some columns; the least progress of all values counts."""

    columns: tuple[str, ...] = ()
    expect: tuple[tuple[object, ...], ...] = ()

    @property
    def state_kind(self) -> str:
        return f"each {', '.join(self.columns)}, {self._idle_kind()}"

    @property
    def order(self) -> str:
        names = ", ".join(self.columns)
        awaited = f", {len(self.expect)} expected" if self.expect else ""
        return f"{self._order()} within each {names}{awaited}, quiet ones {self.idle}"


@dataclass(frozen=True)
class PerPartition(_Within):
    """:class:`Each` over Kafka's columns ``topic`` (if the DataFrame has it) and ``partition``."""

    def resolved(self, columns: Sequence[str]) -> Disorder:
        names = ("topic", "partition") if "topic" in columns else ("partition",)
        return Each(self.late, self.slack, self.idle, names, ahead=self.ahead)

    @property
    def order(self) -> str:
        return f"{self._order()} within each partition, quiet ones {self.idle}"


def ordered(*, ahead: LengthLike | None = None, late: Late = "generous") -> Disorder:
    """Declare that the stream comes in order of ``on``, across micro-batches.

    A row below the largest value of an earlier micro-batch is late; inside one micro-batch the
    order does not matter. ``ahead`` is as in :func:`slack`.

    >>> print(ordered())
    ordered
    """
    return Slack(late, ahead=_ahead(ahead))


def slack(
    length: LengthLike | None = None,
    *,
    rows: int | None = None,
    ahead: LengthLike | None = None,
    late: Late = "generous",
) -> Disorder:
    """Declare that rows come at most ``length``, or ``rows`` rows, after the others.

    By length: a row's ``on`` is at most ``length`` below the largest ``on`` of the stream so far.
    Windows close that much later. A row whose clock runs ahead moves the punctuation with it, and
    rows that come after it are late, unless ``ahead`` is given.

    By rows, as Aurora's BSort [Window-ids 7.2]: at most ``rows`` rows with a larger ``on`` come
    before a row. The punctuation is the (rows + 1)-th largest value seen, so one wrong clock does
    not move it far.

    With ``ahead``, a row far ahead of the others is refused (``ahead``) and moves nothing. On
    timestamps and dates that is a row more than ``ahead`` above the time at which its micro-batch
    began. On numbers it is a row more than ``ahead`` above the largest ``on`` that was accepted in
    earlier micro-batches; rows of the first one are not judged. In a batch no row is ahead.

    >>> print(slack("10 seconds"))
    slack 10 seconds
    >>> print(slack("10 seconds", ahead="1 hour"))
    slack 10 seconds, at most 1 hour ahead
    >>> print(slack(rows=100))
    slack 100 rows
    """
    if rows is not None:
        if length is not None:
            raise ArgumentError("rows", rows, "slack is a length or a number of rows, not both")
        return RowSlack(late, rows, ahead=_ahead(ahead))
    return Slack(late, _slack(length), ahead=_ahead(ahead))


def punctuated(
    where: object = OUTSIDE,
    *,
    key: bool = False,
    ahead: LengthLike | None = None,
    late: Late = "generous",
) -> Disorder:
    """Declare that rows for which a condition holds are punctuation and not data.

    Args:
        where: SQL text or a PySpark column. The ``on`` of such a row promises that no more rows
            below it will come. The row itself enters no window. Without it no row is punctuation,
            and it comes from outside alone, by ``mt.punctuate``.
        key: Whether it holds only for the row's own key, and not for the whole stream.
        ahead: As in :func:`slack`, on timestamps and dates; punctuation rows are judged too.
        late: What happens to late rows: ``generous`` or ``consistent``.

    >>> print(punctuated("kind = 'mark'", key=True))
    punctuated where kind = 'mark', for its key
    """
    return Punctuated(late, where, key, ahead=_ahead(ahead))


def per_key(
    slack: LengthLike | None = None,
    *,
    idle: Idle = Wait(),  # noqa: B008  (frozen)
    ahead: LengthLike | None = None,
    late: Late = "generous",
) -> Disorder:
    """Declare that every key is in order, give or take ``slack``, whatever the others do.

    The rows of a key alone close its windows. ``idle`` decides what happens to a key that goes
    quiet: ``mt.wait()``, ``mt.follow("5 minutes")`` or ``mt.clock("30 seconds")``. ``ahead`` is as
    in :func:`slack`, on timestamps and dates.

    >>> print(per_key("10 seconds", idle=Wait()))
    slack 10 seconds per key, quiet keys wait
    """
    return PerKey(late, _slack_or_none(slack), idle_rule(idle), ahead=_ahead(ahead))


def each(
    columns: str | Sequence[str],
    slack: LengthLike | None = None,
    *,
    idle: Idle = Wait(),  # noqa: B008  (frozen)
    expect: Sequence[object] = (),
    ahead: LengthLike | None = None,
    late: Late = "generous",
) -> Disorder:
    """Declare that rows are in order within each value of some columns, such as a sensor.

    The columns need not be keys. Each value seen has its largest ``on`` minus the slack; the stream
    is complete up to the least of these. A value that has not been seen yet holds nothing back, so
    its first rows may be late. ``expect`` lists values that must be seen before anything closes
    (tuples if there are several columns). ``idle`` and ``ahead`` are as in :func:`per_key`;
    ``idle`` also applies to expected values.

    >>> print(each("sensor", "10 seconds", expect=["north", "south"]))
    slack 10 seconds within each sensor, 2 expected, quiet ones wait
    """
    names = _names(columns)
    values = _expected(expect, len(names))
    length, most = _slack_or_none(slack), _ahead(ahead)
    return Each(late, length, idle_rule(idle), names, values, ahead=most)


def per_partition(
    slack: LengthLike | None = None,
    *,
    column: str | Sequence[str] | None = None,
    idle: Idle = Wait(),  # noqa: B008  (frozen)
    ahead: LengthLike | None = None,
    late: Late = "generous",
) -> Disorder:
    """Declare that each partition of the source is in order: :func:`each` for Kafka.

    Spark's Kafka source has the columns ``topic`` and ``partition``; keep them in the DataFrame.
    ``column`` names others. A partition that gets no rows holds the stream back unless ``idle``
    says otherwise. ``ahead`` is as in :func:`per_key`.

    >>> print(per_partition())
    ordered within each partition, quiet ones wait
    """
    if column is not None:
        return each(column, slack, idle=idle, ahead=ahead, late=late)
    return PerPartition(late, _slack_or_none(slack), idle_rule(idle), ahead=_ahead(ahead))


def disorder_or_none(given: object) -> Disorder | None:
    """Return the ``disorder`` argument of ``mt.stream``; raise if it is not a rule."""
    if given is None or isinstance(given, Disorder):
        return given
    raise ArgumentError("disorder", given, f"it is {CHOICES}, or None for batch")


def _slack(length: object) -> Length:
    parsed = parse_length("slack", length)
    if parsed.negative:
        raise ArgumentError("slack", length, "it must not be negative, such as '10 seconds'")
    return parsed


def _ahead(length: object) -> Length | None:
    if length is None:
        return None
    parsed = parse_length("ahead", length)
    if parsed.negative:
        raise ArgumentError("ahead", length, "it must not be negative, such as '1 hour'")
    return parsed


def _slack_or_none(length: object) -> Length | None:
    return None if length is None else _slack(length)


def _names(columns: object) -> tuple[str, ...]:
    names = tuple(columns) if isinstance(columns, list | tuple) else (columns,)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ArgumentError("each", columns, "it is the name of a column, or several")
    return names


def _expected(expect: object, width: int) -> tuple[tuple[object, ...], ...]:
    if not isinstance(expect, list | tuple):
        raise ArgumentError("expect", expect, "it is a list of values")
    values = [value if isinstance(value, tuple) else (value,) for value in expect]
    if any(len(value) != width for value in values):
        raise ArgumentError("expect", expect, f"each has {width} values, one for every column")
    try:
        return tuple(dict.fromkeys(values))
    except TypeError:
        raise ArgumentError("expect", expect, "each is a value of a column") from None
