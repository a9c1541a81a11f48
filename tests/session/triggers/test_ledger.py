from __future__ import annotations

import json
from pathlib import Path

from muntin.session.triggers.trigger import Ledger


def test_what_is_done_is_remembered_by_another_process(tmp_path: Path) -> None:
    first = Ledger(tmp_path / "alert")
    assert first.done(4) == 0
    first.note(4)
    first.note(4)
    again = Ledger(tmp_path / "alert")
    assert (again.done(4), again.done(5)) == (2, 0)


def test_old_micro_batches_are_forgotten(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for number in range(30):
        ledger.note(number)
        ledger.forget_before(number)
    assert ledger.done(29) == 1
    assert len([*tmp_path.iterdir()]) == 20


def test_failures_are_kept_with_their_reason(tmp_path: Path) -> None:
    Ledger(tmp_path).note_failed('{"n": 3}', "answered 500")
    (line,) = (tmp_path / "failed.jsonl").read_text().splitlines()
    assert json.loads(line) == {"reason": "answered 500", "row": {"n": 3}}


def test_what_failed_outlives_what_was_done(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.note(4)
    ledger.note_failed("{}", "answered 500")
    ledger.clear()
    assert ledger.done(4) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["failed.jsonl"]
