"""Will it fit? What arrives, times what it costs, against what the machine can do [AU-36, AV-40].

Everything is made of what was measured: how long micro-batches take by their rows, and what each
query costs of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from muntin.engine.overload.batch_times import TimeLine
from muntin.errors import ArgumentError, EngineError

#: What comes of it: everything fits; only without the headroom; or not at all.
Verdict = Literal["fits", "fits without headroom", "does not fit"]
#: The share of the capacity that is used in the long run, if nothing else is asked for [AU-35].
HEADROOM = 0.8
#: More than any machine does; JSON has no infinity.
_MOST = 1e15
_RATE = re.compile(r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*(?:/\s*(s|second|min|minute|h|hour))?\s*")
_SECONDS = {None: 1, "s": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600}


@dataclass(frozen=True)
class SizedQuery:
    """A query at a rate.

    Attributes:
        query: Its name.
        rows_out: The rows a second that it takes of those that arrive: rate times selectivity.
        share: The part of the work of the stream that is its own.
        least_share: The share of the rows that it needs; 1 if it tolerates no loss.
    """

    query: str
    rows_out: float
    share: float
    least_share: float


@dataclass(frozen=True)
class Sizing:
    """Whether a stream fits at a rate.

    Attributes:
        stream: The stream.
        rate: The rows a second that are assumed to arrive.
        capacity: The rows a second that can be kept up with.
        headroom: The share of the capacity that is to be used in the long run.
        load: What of the capacity is needed.
        seconds: How long a micro-batch takes at this rate. With a trigger, one with the rows of an
            interval; without, None if micro-batches grow without end.
        interval: Seconds between two micro-batches, if a trigger says so; 0 if there is none.
        verdict: ``fits``, ``fits without headroom`` or ``does not fit``.
        give_up: What would have to be given up, in sentences; nothing if it fits.
        queries: The queries, the most expensive first.
    """

    stream: str
    rate: float
    capacity: float
    headroom: float
    load: float
    seconds: float | None
    interval: float
    verdict: Verdict
    give_up: tuple[str, ...]
    queries: tuple[SizedQuery, ...]

    @property
    def json(self) -> dict[str, object]:
        """The sizing as plain data."""
        return asdict(self)

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Sizing:
        """Return the sizing that :attr:`json` describes."""
        queries = tuple(SizedQuery(**own) for own in data["queries"])
        return cls(**{**data, "queries": queries, "give_up": tuple(data["give_up"])})

    def __str__(self) -> str:
        if self.seconds is None:
            takes = "grow without end"
        else:
            often = f" of {self.interval:.2f} s" if self.interval else ""
            takes = f"take {self.seconds:.2f} s{often}"
        lines = [
            f"{self.stream} at {self.rate:,.0f} rows a second: {self.verdict}",
            f"  capacity: {self.capacity:,.0f} rows a second, of which {self.load:.0%} are needed "
            f"and {self.headroom:.0%} are to be used",
            f"  micro-batches {takes}",
            *(
                f"  {own.query}: {own.share:.0%} of the work, takes {own.rows_out:,.0f} rows a "
                "second"
                for own in self.queries
            ),
            *(f"  {sentence}" for sentence in self.give_up),
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class MeasuredStream:
    """What was measured of a stream: the line of its micro-batches, and what queries cost.

    ``queries`` has for each query its processor seconds, its selectivity and the share of the rows
    that it needs.
    """

    name: str
    line: TimeLine
    interval: float
    queries: Mapping[str, tuple[float, float, float]]
    shared_seconds: float = 0.0


def sized(measured: MeasuredStream, rate: float, headroom: float = HEADROOM) -> Sizing:
    """Return whether a stream fits at a rate.

    >>> line = TimeLine(fixed=0.2, per_row=1e-4)
    >>> print(sized(MeasuredStream("line", line, 1.0, {}), 4000))
    line at 4,000 rows a second: fits
      capacity: 8,000 rows a second, of which 50% are needed and 80% are to be used
      micro-batches take 0.60 s of 1.00 s
    """
    line, interval = measured.line, measured.interval
    capacity = line.capacity
    if interval and line.per_row:
        # Without micro-batches that become longer than the trigger asks for.
        capacity = max(0.0, interval - line.fixed) / (line.per_row * interval)
    capacity = min(capacity, _MOST)
    load = min(rate / max(capacity, 1e-9), _MOST)
    verdict: Verdict = "fits" if load <= headroom else "fits without headroom"
    verdict = verdict if load <= 1 else "does not fit"
    spent = measured.shared_seconds + sum(own for own, _, _ in measured.queries.values())
    queries = sorted(
        (
            SizedQuery(name, rate * selectivity, own / spent if spent else 0.0, least)
            for name, (own, selectivity, least) in measured.queries.items()
        ),
        key=lambda own: (-own.share, own.query),
    )
    return Sizing(
        measured.name,
        *(rate, capacity, headroom, load, line.steady(rate, interval), interval, verdict),
        tuple(_given_up(queries, load, headroom)),
        tuple(queries),
    )


def _given_up(queries: Sequence[SizedQuery], load: float, headroom: float) -> Iterator[str]:
    """Yield what to do so that a stream fits with its headroom."""
    if load <= headroom:
        return
    kept = headroom / load
    needed = max((own.least_share for own in queries), default=1.0)
    if queries and needed <= kept:
        yield f"keep {kept:.0%} of the rows: all queries tolerate it, and it is done when needed"
    else:
        strict = [own.query for own in queries if own.least_share > kept]
        if strict:
            names = ", ".join(sorted(strict))
            yield (
                f"{kept:.0%} of the rows would fit, and these tolerate less loss: {names}; state "
                f"it with qos={{'share': [(1, 1), ({max(0.01, kept - 0.1):.2f}, 0)]}}"
            )
        dropped, saved = [], 0.0
        for own in queries:
            if load * (1 - saved) <= headroom:
                break
            dropped.append(own.query)
            saved += own.share
        if dropped and load * (1 - saved) <= headroom:
            yield f"or drop {', '.join(dropped)}: that saves {saved:.0%} of the work"
    yield f"or add resources: {load / headroom:.1f} times as much"


def read_rate(argument: str, given: object) -> float:
    """Return rows a second; raise if they are none.

    >>> read_rate("rates", "50,000/s"), read_rate("rates", "600/min"), read_rate("rates", 5)
    (50000.0, 10.0, 5.0)
    """
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1e15:
        return float(given)
    found = _RATE.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise ArgumentError(argument, given, "rows a second, such as 50000 or '50000/s'")
    return float(re.sub("[_,]", "", found[1])) / _SECONDS[found[2]]


def check_headroom(given: object) -> float:
    """Return the share of the capacity that is to be used; raise if it is none."""
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 < given <= 1:  # type: ignore[operator]
        raise ArgumentError("headroom", given, "a share of the capacity above 0, up to 1")
    return float(given)  # type: ignore[arg-type]


def not_measured(stream: str, found: int, fewest: int) -> EngineError:
    """Return the error about a stream of which too little was measured."""
    return EngineError(
        f"{stream} has run {found} micro-batches with rows since the engine started, and {fewest} "
        "are needed to know what a row costs; let it run"
    )
