"""What queries may spend in a micro-batch, and on what: budgets, policies and decisions.

A decision is data. It is logged as a command and pinned to micro-batches with a version of a
stream's queries, so that a repeated micro-batch decides the same. Nobody reads a clock in a task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, get_args

from muntin.errors import ArgumentError

#: On what a query spends its budget, if it cannot look at everything.
PolicyName = Literal["random", "oldest", "newest", "windows", "value", "preference"]
#: How many rows of a query may wait in its state, if nothing else is asked for.
WAITING = 100_000


@dataclass(frozen=True)
class Policy:
    """On what a query spends its budget.

    Args:
        name: ``"random"`` takes a random sample of the rows, ``"oldest"`` those that came first,
            ``"newest"`` those that came last, ``"windows"`` all rows of some windows, ``"value"``
            the rows of greatest value, and ``"preference"`` what the query prefers.
        column: The column whose value counts, for ``"value"``.
        graph: The value of rows by their value in the column: points ``(x, value)`` that are joined
            by straight lines.
        seed: Another seed draws another sample.

    >>> Policy("value", "speed", ((0, 1), (40, 1), (60, 0))).value_at(50)
    0.5
    """

    name: PolicyName
    column: str | None = None
    graph: tuple[tuple[float, float], ...] = ()
    seed: int = 0

    def __init__(
        self,
        name: object = "oldest",
        column: str | None = None,
        graph: Sequence[tuple[float, float]] = (),
        seed: int = 0,
    ) -> None:
        if name not in get_args(PolicyName):
            names = ", ".join(repr(known) for known in get_args(PolicyName))
            raise ArgumentError("policy", name, f"one of {names}")
        if name == "value" and (column is None or not graph):
            expected = "a column and a graph, such as Policy('value', 'speed', [(0, 1), (60, 0)])"
            raise ArgumentError("policy", name, expected)
        if name != "value" and (column is not None or graph):
            raise ArgumentError("policy", name, "only 'value' has a column and a graph")
        points = tuple((float(x), float(y)) for x, y in graph)
        if any(later[0] <= earlier[0] for earlier, later in pairwise(points)):
            raise ArgumentError("graph", list(graph), "points whose first numbers rise")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "graph", points)
        object.__setattr__(self, "seed", seed)

    def value_at(self, x: float) -> float:
        """Return the value of rows with a value of the column, by the graph."""
        if x <= self.graph[0][0]:
            return self.graph[0][1]
        for (x0, y0), (x1, y1) in pairwise(self.graph):
            if x <= x1:
                return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        return self.graph[-1][1]

    def __str__(self) -> str:
        if self.name != "value":
            return self.name
        points = ", ".join(f"{x:g}: {y:g}" for x, y in self.graph)
        return f"value of {self.column} ({points})"


@dataclass(frozen=True)
class QueryBudget:
    """What one query may spend in a micro-batch, over all shards, and on what.

    A unit is one row read, one pair probed or one row kept. The smaller of ``units`` and ``share``
    counts.

    Args:
        units: Units of work; None for no limit.
        share: The part of the work that the exact answer would take; None for no limit.
        policy: On what the budget is spent.
        waiting: How many rows may wait until there is room; more of them are shed.
    """

    units: int | None = None
    share: float | None = None
    policy: Policy = field(default_factory=Policy)
    waiting: int = WAITING

    def __post_init__(self) -> None:
        check_limits(self.units, self.share)
        given: object = self.waiting
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise ArgumentError("waiting", self.waiting, "a whole number of rows, 0 for none")

    @property
    def is_limit(self) -> bool:
        """Whether there is a limit at all."""
        return self.units is not None or self.share is not None

    def within(self, units: int | None, share: float | None) -> QueryBudget:
        """Return the smaller of this budget and another."""
        fewer = [limit for limit in (self.units, units) if limit is not None]
        less = [limit for limit in (self.share, share) if limit is not None]
        return replace(self, units=min(fewer, default=None), share=min(less, default=None))

    def units_here(self, shards: int, exact: int) -> int:
        """Return the units of one of several shards in which the exact work would be ``exact``.

        >>> QueryBudget(units=10).units_here(4, 100), QueryBudget(share=0.5).units_here(4, 100)
        (2, 50)
        """
        limits = [] if self.units is None else [self.units // shards]
        limits += [] if self.share is None else [int(self.share * exact)]
        return min(limits, default=exact)

    def __str__(self) -> str:
        limits = [] if self.units is None else [f"{self.units:,} units"]
        limits += [] if self.share is None else [f"{self.share:.0%} of the exact work"]
        return f"{' and '.join(limits) or 'no limit'}, {self.policy}"


@dataclass(frozen=True)
class OverloadDecision:
    """What all queries of a stream may spend in each micro-batch from now on.

    The decision replaces the one before it as a whole.

    Args:
        units: Units of work for all queries together; each has an equal part of them.
        share: The part of the exact work for each query; None for no limit.
        policy: The policy of queries that are not among ``queries``; None lets them lose nothing.
        waiting: How many rows of each of these may wait.
        queries: The budgets of queries by their ids. Such a query has the smaller of this and its
            part. One without a limit still has its part of ``units``.
        kept: The native rate: the share of rows that are kept before Python reads them.
        seconds: The seconds that ``units`` are made of, if they were asked for as seconds.
        rates: Ticks, in order, and the native rate of rows from each of them on, up to now.
    """

    units: int | None = None
    share: float | None = None
    policy: Policy | None = None
    waiting: int = WAITING
    queries: Mapping[str, QueryBudget] = field(default_factory=dict)
    kept: float = 1.0
    seconds: float | None = None
    rates: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        check_limits(self.units, self.share)
        if not 0 < self.kept <= 1:
            raise ArgumentError("kept", self.kept, "a share of the rows above 0, up to 1")

    def pinned(self, members: Mapping[int, str], least_kept: float = 0.0) -> PinnedOverload:
        """Return the decision for the members of a version, given the query of each.

        ``least_kept`` is the share of the rows that the most demanding of them needs.
        """
        units = None if self.units is None else self.units // max(1, len(members))
        budgets: dict[int, QueryBudget] = {}
        for member, query in sorted(members.items()):
            own = self.queries.get(query)
            if own is None and self.policy is not None:
                own = QueryBudget(policy=self.policy, waiting=self.waiting)
            budget = None if own is None else own.within(units, self.share)
            if budget is not None and budget.is_limit:
                budgets[member] = budget
        return PinnedOverload(budgets, max(self.kept, least_kept), self.rates)


@dataclass(frozen=True)
class PinnedOverload:
    """A decision as a micro-batch runs it: budgets of members, the native rate, and those before.

    Members without a budget lose nothing.
    """

    budgets: Mapping[int, QueryBudget] = field(default_factory=dict)
    kept: float = 1.0
    rates: tuple[tuple[int, float], ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether nothing is limited."""
        return not self.budgets and self.kept == 1 and not self.rates


def check_limits(units: object, share: object) -> None:
    """Raise if units or a share of the work are none."""
    if units is not None and (isinstance(units, bool) or not isinstance(units, int) or units < 0):
        raise ArgumentError("units", units, "a whole number of units of work")
    number = isinstance(share, int | float) and not isinstance(share, bool)
    if share is not None and not (number and 0 <= share <= 1):  # type: ignore[operator]
        raise ArgumentError("share", share, "a part of the exact work, from 0 to 1")
