"""``muntin plot``, ``bench``, ``state`` and ``demo`` on the Spark session of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from muntin.cli.commands.demo import NAMES, text_of
from muntin.cli.errors import Exit
from muntin.parser.parse import parse
from tests.cli.conftest import Muntin

FREEWAY = """
CREATE STREAM traffic FROM simulate('freeway', hours => 1, stations => 3, seed => 7)
  ON ts BY station DISORDER SLACK '1 minute';
CREATE QUERY slow AS
SELECT station, frame_id, frame_start, frame_end
FROM traffic [FRAME THRESHOLD speed < 67 LASTING 1 MINUTE MISSING CARRY TIES MEAN];
CREATE QUERY many AS
SELECT station, frame_id, frame_start, frame_end
FROM traffic [FRAME AGGREGATE count(*) >= 9 TIES MEAN];
CREATE QUERY minutes AS
SELECT station, window_end, avg(speed) AS speed, count(*) AS n
FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY station;
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "freeway.sql"
    path.write_text(FREEWAY)
    return path


def test_frames_are_drawn(muntin: Muntin, file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "slow.svg"
    result = muntin("plot", file, "--query", "slow", "--output", picture)
    assert result.code == 0, result.err
    assert f"Picture: {picture}" in result.out
    drawn = picture.read_text()
    assert drawn.startswith("<svg")
    assert "speed" in drawn


def test_windows_are_drawn(muntin: Muntin, file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "minutes.html"
    result = muntin("plot", file, "--output", picture, "--title", "Every five minutes")
    assert result.code == 0, result.err
    drawn = picture.read_text()
    assert "Every five minutes" in drawn
    assert "I5-03" in drawn


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--query", "many"], Exit.TEXT, "does not say which column it reads; name what to draw"),
        (["--value", "sped"], Exit.TEXT, "did you mean 'speed'?"),
        (["--query", "fast"], Exit.USAGE, "there is no query fast; there are slow, many, minutes"),
    ],
)
def test_what_cannot_be_drawn(
    muntin: Muntin, file: Path, tmp_path: Path, words: list[str], code: int, says: str
) -> None:
    result = muntin("plot", file, "--output", tmp_path / "x.svg", *words)
    assert result.code == code
    assert says in result.err


def test_a_picture_of_another_kind(muntin: Muntin, file: Path, tmp_path: Path) -> None:
    result = muntin("plot", file, "--output", tmp_path / "x.gif")
    assert result.code == Exit.TEXT
    assert "it must end in .png, .svg, .html" in result.err


def test_bench(muntin: Muntin) -> None:
    result = muntin("bench", "--rows", "2000", "--overlap", "3", "--json")
    assert result.code == 0, result.err
    (row,) = result.rows
    assert row["overlap"] == 3
    assert row["muntin"] > 0
    assert row["spark"] > 0


def test_the_state_of_a_checkpoint(muntin: Muntin, tmp_path: Path) -> None:
    file, checkpoint = tmp_path / "q.sql", tmp_path / "ck"
    file.write_text(
        """
        CREATE STREAM sales FROM simulate('retail', hours => 1, closed => 0, files => 2)
          ON ts BY store DISORDER SLACK '20 seconds';
        CREATE QUERY totals AS
        SELECT store, count(*) AS n FROM sales [RANGE 10 MINUTES SLIDE 10 MINUTES] GROUP BY store
        INTO memory('totals');
        """
    )
    assert muntin("run", file, "--stream", "--once", "--checkpoint", checkpoint).code == 0
    (row,) = muntin("state", checkpoint, "--json").rows
    assert row["query"] == "totals"
    assert row["fingerprint"]["window"].startswith("RANGE 10 minutes SLIDE 10 minutes")
    assert row["oldest_open"] == "2026-03-03 10:50:00+00:00"
    assert row["open"] == 2
    assert row["bytes"] == sum(table["bytes"] for table in row["tables"]) > 0
    shown = muntin("state", checkpoint / "checkpoints" / "totals").out
    assert "oldest that is open: 2026-03-03 10:50:00+00:00" in shown
    assert "table panes:" in shown


def test_the_oldest_frame_of_a_checkpoint(muntin: Muntin, tmp_path: Path) -> None:
    """All freezers are above -100 degrees, so their frames are open since the first reading."""
    file, checkpoint = tmp_path / "q.sql", tmp_path / "ck"
    file.write_text(
        """
        CREATE STREAM readings FROM simulate('freezer', days => 0.1, left_open => 0, files => 1)
          ON ts BY freezer DISORDER SLACK '150 seconds' SCHEDULE '1 minute';
        CREATE QUERY warm AS
        SELECT freezer, frame_start FROM readings [FRAME THRESHOLD temperature > -100 MISSING CARRY]
        INTO memory('warm');
        """
    )
    assert muntin("run", file, "--stream", "--once", "--checkpoint", checkpoint).code == 0
    (row,) = muntin("state", checkpoint, "--json").rows
    assert row["open"] == 3
    assert row["oldest_open"] == "2026-03-03 00:00:00+00:00"


def test_a_folder_that_is_no_checkpoint(muntin: Muntin, tmp_path: Path) -> None:
    result = muntin("state", tmp_path)
    assert result.code == Exit.TEXT
    assert "it is no checkpoint" in result.err


@pytest.mark.parametrize("name", NAMES)
def test_demonstrations_are_whole_files(name: str) -> None:
    assert parse(text_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_demonstrations_run(muntin: Muntin, name: str) -> None:
    result = muntin("demo", name, "--json")
    assert result.code == 0, result.err
    assert len(result.rows) > 3


def test_a_demonstration_can_be_kept(muntin: Muntin, tmp_path: Path) -> None:
    result = muntin("demo", "retail", "--save", tmp_path / "retail.sql")
    assert result.code == 0
    assert (tmp_path / "retail.sql").read_text() == text_of("retail")


@pytest.mark.parametrize("option", [["--save", "desk.sql"], ["--stream"]])
def test_the_desk_is_a_page_and_no_file(muntin: Muntin, option: list[str]) -> None:
    """Its queries read a stream that no statement creates, so the file would not run."""
    result = muntin("demo", "desk", *option)
    assert result.code == Exit.USAGE
    assert "desk is a page" in result.err
