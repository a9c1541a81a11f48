"""What :mod:`tests.engine.desk.test_every_kind` draws, often enough to say something."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from hypothesis import settings

from tests.engine.desk.desk_cases import COMMANDS, DISORDERS, DeskCase, desk_cases
from tests.engine.desk.kinds import KINDS

ROOT = Path(__file__).resolve().parents[3]
#: In how many of a hundred examples each event happens at least.
FLOORS = {
    **{f"command: {command}": 5 for command in COMMANDS},
    **{f"kind: {kind}": 3 for kind in KINDS},
    **{f"disorder: {disorder}": 5 for disorder in DISORDERS},
    "kept rows": 20,
    "late row": 30,
    "row without a place": 10,
    "missing value": 40,
    "NaN": 20,
    "rows that tie": 20,
    "empty micro-batch": 10,
    "repeated micro-batch": 20,
    "restart": 20,
    "rows after the end": 10,
    "several commands at once": 40,
}
#: Hypothesis tries the constants of all modules that are imported, so it draws in a new process.
PROGRAM = """
import json, sys
from hypothesis import settings
settings.register_profile(sys.argv[1], settings(), derandomize=True, database=None, deadline=None)
settings.load_profile(sys.argv[1])
from tests.engine.desk.test_desk_census import census
print(json.dumps(census()))
"""


def census() -> Counter[str]:
    """Return in how many examples each event happens, and ``examples``, how many there are."""
    from hypothesis import HealthCheck, given

    happened: Counter[str] = Counter()

    @settings(max_examples=400, suppress_health_check=list(HealthCheck))
    @given(desk_cases())
    def look(case: DeskCase) -> None:
        happened.update({"examples"} | events(case))

    look()
    return happened


def events(case: DeskCase) -> set[str]:
    """Return what happens in a case."""
    found = {f"disorder: {case.disorder}"} | ({"kept rows"} if case.keep else set())
    if case.end < len(case.moments) - 1:
        found.add("rows after the end")
    reached = None
    for place, moment in enumerate(case.moments):
        for command, kind, *_ in moment.commands:
            found |= {f"command: {command}", f"kind: {kind}"}
        if len(moment.commands) > 1:
            found.add("several commands at once")
        found |= {"repeated": {"repeated micro-batch"}, "restarted": {"restart"}}.get(
            moment.event, set()
        )
        rows = [row for task in moment.tasks for row in task]
        places = [6 * place + offset for offset, *_, lost in rows if not lost]
        found |= {"empty micro-batch"} if not rows else set()
        found |= {"row without a place"} if len(places) < len(rows) else set()
        found |= {"rows that tie"} if len(set(places)) < len(places) else set()
        for _, _, lane, speed, volume, _ in rows:
            found |= {"missing value"} if None in (lane, speed, volume) else set()
            found |= {"NaN"} if speed is not None and speed != speed else set()
        if reached is not None and any(x < reached - 4 for x in places):
            found.add("late row")
        reached = max([*places, *([] if reached is None else [reached])], default=None)
    return found


def test_every_event_happens() -> None:
    profile = settings.get_current_profile_name()
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, profile], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    happened = json.loads(run.stdout)
    shares = {event: 100 * happened.get(event, 0) / happened["examples"] for event in FLOORS}
    assert not {event: share for event, share in shares.items() if share < FLOORS[event]}
