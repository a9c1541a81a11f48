"""Own aggregates and sketches: reference = step function, for any split and any disorder."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.own_aggregate import OwnAggregate
from muntin.aggregates.sketches import ApproxCountDistinct, ApproxQuantile, ApproxTopK
from muntin.reference.windows import Reference
from muntin.testing import assert_same_rows
from tests.aggregates.examples import Gathered, Longest, Squares
from tests.properties.arriving import SLOT_TYPES, SLOTS
from tests.properties.harness import Case, cases, operator, run_steps
from tests.thorough import examples

#: A sketch of few values is exact, so it must equal the reference.
CALLS: list[tuple[OwnAggregate, str, Callable[[list[Any]], Any]]] = [
    (Squares(), "i", lambda v: _signed(sum(n * n for n in v))),
    (Longest(1), "s", lambda v: max((min(1, len(s)) for s in v), default=None)),
    (Gathered(), "d", sorted),
    (ApproxCountDistinct(0.02), "s", lambda v: len(set(v))),
    (ApproxQuantile(0.5, 0.01), "v", lambda v: _ranked(v, 0.5)),
    (ApproxTopK(2, 0.01), "b", lambda v: _frequent(v)),
]


def _signed(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _ranked(values: list[float], share: float) -> float | None:
    """Return the least value with at least this share of values at or below it."""
    sorted_ = sorted(values)
    reached = [v for n, v in enumerate(sorted_, 1) if n >= share * len(values)]
    return reached[0] if reached else None


def _frequent(values: list[bool]) -> list[dict[str, Any]]:
    counts = sorted(Counter(values).items(), key=lambda counted: (-counted[1], counted[0]))
    return [{"item": item, "count": n, "low": n, "high": n} for item, n in counts]


def evaluator(slot: str, expected: Callable[[list[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    return lambda rows: expected([row[slot] for row in rows if row[slot] is not None])


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its lists as text, because rows are compared as members of a set."""
    return {name: repr(v) if isinstance(v, list) else v for name, v in row.items()}


def calls() -> tuple[AggregateCall, ...]:
    # Built-in calls are added so that every slot has a type.
    return tuple(
        AggregateCall(
            "own", own.name, (SLOTS.index(slot),), (_type(slot),), ansi=True, options=(own,)
        )
        for own, slot, _ in CALLS
    ) + tuple(
        AggregateCall("max", slot, (SLOTS.index(slot),), (_type(slot),), ansi=True)
        for slot in SLOTS
    )


def _type(slot: str) -> pa.DataType:
    return SLOT_TYPES[SLOTS.index(slot)]


@examples(400)
@given(cases())
def test_steps_equal_the_reference(case: Case) -> None:
    ran = run_steps(case, dataclasses.replace(operator(case), calls=calls()))
    wanted = {f"r{n}": evaluator(slot, f) for n, (_, slot, f) in enumerate(CALLS)}
    reference = Reference(case.edges, case.axis, "on", ("k",), wanted, case.late, case.unfinished)
    outcome = reference.run(case.punctuated())
    extra = {f"r{len(CALLS) + n}" for n in range(len(SLOTS))}
    results = [
        {n.replace("k0", "k"): v for n, v in row.items() if n not in extra} for row in ran.results
    ]
    assert_same_rows([comparable(row) for row in results], [comparable(r) for r in outcome.results])
    assert ran.used == outcome.used
