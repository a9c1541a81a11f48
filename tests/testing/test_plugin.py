"""The fixtures of the pytest plugin, as a user's test takes them."""

from __future__ import annotations

from pathlib import Path

import muntin as mt
from muntin.testing import assert_same_rows
from muntin.testing.plugin import MakeReplay, muntin_replay, muntin_spark

__all__ = ["muntin_replay", "muntin_spark"]
FOLDERS: list[Path] = []


def test_a_replay_of_a_fixture(spark: object, muntin_replay: MakeReplay) -> None:
    rows = muntin_replay([[{"n": 1}, {"n": 2}], [{"n": 7}]], "n INT")
    assert rows.driver == "step"
    FOLDERS.append(rows.folder)
    played = rows.play(rows.stream("n", disorder=mt.ordered()).tumbling(5).plan("count(*) AS c"))
    bounds = [{"window_start": low, "window_end": low + 5, "c": c} for low, c in ((0, 2), (5, 1))]
    assert_same_rows(played.results, bounds)


def test_its_files_are_gone_after_the_test() -> None:
    assert FOLDERS
    assert not any(folder.exists() for folder in FOLDERS)
