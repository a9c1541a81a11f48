"""A notebook user loads the magic, looks at things, makes a mistake and draws a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.profiledir import ProfileDir
from pyspark.sql import SparkSession

from tests.journeys.steps import Journey

SETUP = """
import muntin as mt
from muntin.simulate.freeway import Freeway
spark = mt.local_session(zone="UTC")
readings = spark.createDataFrame(Freeway(hours=1).readings())
traffic = mt.stream(readings, on="ts", by="station")
"""
QUESTION = """%%muntin --rows 2 --name slow
SELECT station, window_end, avg(speed) AS mph
FROM readings [RANGE 5 MINUTES SLIDE 1 MINUTE WATTR ts]
GROUP BY station ORDER BY mph, station, window_end
"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[InteractiveShell]:
    profile = ProfileDir.create_profile_dir(str(tmp_path / "profile"))
    made = InteractiveShell(profile_dir=profile)
    yield made
    made.history_manager.end_session()
    made.restore_sys_module_state()


def test_from_an_empty_notebook_to_a_picture(
    spark: SparkSession, shell: InteractiveShell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    journey = Journey("notebook user")

    def cell(text: str) -> str:
        capsys.readouterr()
        shell.run_cell(text)
        return capsys.readouterr().out

    with journey.step("a session, data and a stream, and nothing is printed"):
        assert cell("%load_ext muntin" + SETUP) == ""

    with journey.step("a stream shows itself in a line", at_most=5):
        shown = cell("traffic")
        assert "batch along ts (timestamp), by station" in shown
        assert len(shown.strip().splitlines()) == 1

    with journey.step("windows show a sentence, and a table in HTML", at_most=10):
        assert "RANGE 5 minutes SLIDE 1 minute" in cell(
            "w = traffic.window('5 minutes', '1 minute')\nw"
        )
        html = shell.user_ns["w"]._repr_html_()
        assert "<table>" in html
        assert "micros=" not in html

    with journey.step("a question in SQL is answered once"):
        answer = cell(QUESTION)
        assert answer.count("window_end") == 1
        assert "only showing top 2 rows" in answer
        assert shell.user_ns["slow"].columns == ["station", "window_end", "mph"]

    with journey.step("a mistake is a line, a caret and a sentence", at_most=5):
        lines = [line for line in cell("traffic.tumbling('1 minit')").splitlines() if line.strip()]
        assert len(lines) == 4
        assert set(lines[2].strip()) == {"^"}
        assert lines[3].startswith("ArgumentError: length='1 minit'")

    with journey.step("a mistake in SQL shows its place", at_most=10):
        wrong = QUESTION.replace("avg(speed)", "avg(sped)")
        assert "did you mean speed" in cell(wrong).replace("'", "")

    with journey.step("help is there", at_most=5):
        shell.run_line_magic("pinfo", "%%muntin")
        assert "--rows 20" in capsys.readouterr().out

    with journey.step("a picture"):
        path = tmp_path / "speeds.svg"
        assert "Error" not in cell(f"w.plot('avg(speed) AS mph', path={str(path)!r});")
        assert "<svg" in path.read_text()
    assert len(journey.seconds) == 8
