"""Draws the pictures of docs/concepts/budgets.md and preference.md: what is looked at first.

``python scripts/draw_budgets.py``. What is chosen is what the ranks of the gate say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from drawing import BLUE, GREEN, GREY, PLAIN, Canvas, scale, write

from muntin.expressions.row_expression import compile_row_expression
from muntin.operators.shared.overload.preferred_rows import (
    PreferredInput,
    PreferredRows,
    PreferredValues,
    preferred_keys,
)
from muntin.operators.shared.overload.priorities import ranks
from muntin.operators.shared.overload.waiting_rows import travelling
from muntin.operators.summaries.zones import SummaryZones
from muntin.specs.axis import Axis, Domain
from muntin.specs.overload import Policy
from muntin.specs.preference import PreferenceOrder
from muntin.specs.summaries import StreamSummary

AXIS = Axis(Domain.INTEGER)
#: Rows by their place, with a value, and how many units there are.
ROWS = ((0, 5), (1, 48), (2, 22), (3, 35), (4, 58), (5, 12), (6, 41), (7, 30))
UNITS = 3
POLICIES = (
    Policy("oldest"),
    Policy("newest"),
    Policy("random", seed=1),
    Policy("value", "speed", [(0, 1), (20, 1), (60, 0)]),
)
#: What the stores of Figure 1 sell, and how many rows of the first there is time for.
STORES = ((5, 9, 5, 3, 9, 5), (5, 9, 3, 5))
#: One of the draws for turns that begin anywhere.
SEED = 4
WORDS: tuple[tuple[PreferenceOrder, int], ...] = (("desc", 3), ("weighted", 3), ("asc", 1))


def arrived(places: Sequence[int], speeds: Sequence[int], policy: Policy) -> pa.Table:
    on = pa.chunked_array([pa.array(places, pa.int64())])
    rows = pa.table({"on": on, "speed": pa.array(speeds, pa.int64())})
    return travelling(rows, on, AXIS, policy, rows, {})


def chosen(policy: Policy) -> list[int]:
    """Return the places of the rows that a policy looks at."""
    places, speeds = zip(*ROWS, strict=True)
    (rank,) = ranks(policy, [arrived(places, speeds, policy)])
    return np.flatnonzero(rank < UNITS).tolist()


def budgets() -> Canvas:
    place = scale(230, 70)
    canvas = Canvas(
        "What policies look at first",
        "Eight rows with speeds, and units for three of them: oldest takes the first three, "
        "newest the last three, random three by a draw, and value those that are worth most.",
        860,
        318,
    )
    canvas.head("engine.budget(units=3, policy=...)")
    for at, speed in ROWS:
        canvas.text(place(at), 66, str(speed), anchor="middle", mono=True)
    canvas.text(24, 66, "rows, with their speeds", fill=GREY)
    for number, policy in enumerate(POLICIES):
        y = 104 + number * 50
        canvas.text(24, y + 5, policy.name, bold=True)
        canvas.line((place(0), y), (place(len(ROWS) - 1), y), GREY, dashed=True)
        for at, _ in ROWS:
            fill = GREEN if at in chosen(policy) else PLAIN
            canvas.dot(place(at), y, fill[0], stroke=fill[1])
    canvas.text(24, 300, "green rows are looked at now; the others wait, or are shed", fill=GREY)
    return canvas


def preferred(order: PreferenceOrder) -> list[int]:
    """Return the places of the first store's rows in the order in which they are looked at."""
    spec = StreamSummary("Store", "item", 100, method="exact")
    own = PreferredInput(spec, spec.ticks(AXIS))
    estimate = compile_row_expression(
        "estimate_0", {"estimate_0": pa.float64()}, zone="UTC", errors="null"
    )
    values = tuple(PreferredValues(estimate, (of,)) for of in (0, 1))
    prefer = PreferredRows(order, 1.0, (own, own), values, (1, 0))
    tables, summaries = [], []
    for items in STORES:
        on = pa.chunked_array([pa.array(range(len(items)), pa.int64())])
        rows = pa.table({"on": on, "item": pa.array(items, pa.int64())})
        policy = Policy("preference", seed=SEED)
        table = travelling(rows, on, AXIS, policy, rows, own.beside(rows))
        zones = SummaryZones(spec, own.lengths)
        zones.summarize(np.arange(len(items)), table["_counted"].to_numpy().view(np.uint64))
        tables.append(table)
        summaries.append(zones)
    keys = preferred_keys(order, prefer.promises(summaries, [0], tables[:1]))
    return np.lexsort(keys).tolist()


def preference() -> Canvas:
    place = scale(230, 80)
    canvas = Canvas(
        "Which rows are promising",
        "The first store sells 5, 9, 5, 3, 9, 5 and the second 5, 9, 3, 5. Descending order looks "
        "at the three fives, weighted order at two fives and a nine, ascending order at the three.",
        860,
        330,
    )
    canvas.head("WITH PREFERENCE ... SUMMARY.Estimate.Count(item)")
    for number, (name, items) in enumerate(zip(("Store 1", "Store 2"), STORES, strict=True)):
        y = 74 + number * 44
        canvas.text(24, y + 5, name, bold=True)
        for at, item in enumerate(items):
            canvas.box(place(at) - 18, y - 16, 36, 30, BLUE)
            canvas.text(place(at), y + 5, str(item), anchor="middle", mono=True)
    for number, (word, most) in enumerate(WORDS):
        y = 180 + number * 50
        first = preferred(word)[:most]
        results = sum(STORES[1].count(STORES[0][at]) for at in first)
        canvas.text(24, y + 5, f"{word}: {results} result{'s' * (results != 1)}", bold=True)
        for at, item in enumerate(STORES[0]):
            canvas.box(place(at) - 18, y - 16, 36, 30, GREEN if at in first else PLAIN)
            canvas.text(place(at), y + 5, str(item), anchor="middle", mono=True)
    return canvas


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    return {"budgets": budgets().svg(), "preference": preference().svg()}


if __name__ == "__main__":
    write(pictures())
