"""The strategies draw what operators must get right, often enough for a run to say something."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.reference.windows import Reference
from tests.properties.arriving import Arrivals
from tests.properties.fillings import fill_cases
from tests.properties.framings import frame_cases
from tests.properties.harness import Case, cases
from tests.properties.joinings import asof_cases, join_cases
from tests.properties.resamplings import resample_cases
from tests.properties.sequences import sequence_cases
from tests.thorough import examples

ROOT = Path(__file__).resolve().parents[2]
Inputs = st.SearchStrategy[Sequence[Arrivals]]
#: The inputs of each strategy's examples.
STRATEGIES: dict[str, Inputs] = {
    "windows": cases().map(lambda case: [case]),
    "rows": sequence_cases().map(lambda case: [case]),
    "frames": frame_cases().map(lambda case: [case]),
    "fill": fill_cases().map(lambda case: case.inputs),
    "join": join_cases().map(lambda case: case.sides),
    "asof": asof_cases().map(lambda case: case.sides),
    "resample": resample_cases().map(lambda case: case.sides),
}
#: In how many of a hundred examples each event happens at least.
FLOORS = {
    "below the punctuation, generous": 10,
    "below the punctuation, consistent": 4,
    "at the punctuation": 8,
    "tied rows": 20,
    "null on": 8,
    "missing value": 50,
    "empty micro-batch": 20,
    "key with one row": 2,
    "row far ahead": 3,
    "control row of a key": 5,
}


#: Hypothesis tries the constants of all modules that are imported. What it draws in a process of
#: its own does not depend on the tests that ran before.
PROGRAM = """
import json, sys
from hypothesis import settings
settings.register_profile(sys.argv[2], settings(), derandomize=True, database=None, deadline=None)
settings.load_profile(sys.argv[2])
from tests.properties.census import census
from tests.properties.test_census import STRATEGIES
print(json.dumps(census(STRATEGIES[sys.argv[1]], 3200)))
"""


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_event_happens(name: str) -> None:
    arguments = [name, settings.get_current_profile_name()]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    happened = json.loads(run.stdout)
    shares = {event: 100 * happened.get(event, 0) / happened["examples"] for event in FLOORS}
    rare = {event: share for event, share in shares.items() if share < FLOORS[event]}
    assert not rare


def test_windows_refuse_late_rows() -> None:
    refusing: Counter[str] = Counter()

    @examples(2000)
    @given(cases())
    def look(case: Case) -> None:
        reference = Reference(case.edges, case.axis, "on", ("k",), {}, case.late, case.unfinished)
        refused = {reason for _, reason in reference.run(case.punctuated()).refused}
        refusing.update(["examples", *([case.late] if "late" in refused else [])])

    look()
    for policy in ("generous", "consistent"):
        assert 100 * refusing[policy] / refusing["examples"] >= 4, policy
