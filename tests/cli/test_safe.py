"""``--safe`` and ``--root``: refused before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from muntin.cli.main import main

ESCAPE = "SELECT reflect('java.lang.System', 'getenv', 'HOME') AS x"


def called(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, [*map(str, words)])
    return done.exit_code, done.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    path = tmp_path / "q.sql"
    path.write_text(ESCAPE)
    return path


def test_run_check_and_engine_refuse(file: Path, tmp_path: Path) -> None:
    for words in (
        ("run", file, "--safe"),
        ("check", file, "--safe", "--syntax"),
        ("check", file, "--safe"),
        ("engine", "start", tmp_path / "home", "--sql", file, "--safe"),
    ):
        code, output = called(*words)
        assert code == 3, output
        assert "line 1, column 8: reflect is not allowed in safe mode" in output
    assert not (tmp_path / "home").exists()


def test_check_reports_all_that_is_refused(file: Path) -> None:
    file.write_text(f"{ESCAPE};\nCREATE TABLE t FROM csv('/etc/passwd') (x STRING);")
    code, output = called("check", file, "--safe", "--root", file.parent / "data")
    assert code == 3
    assert "reflect is not allowed" in output
    assert "line 2, column 21: path /etc/passwd: it is not below" in output


def test_what_muntin_keeps_is_not_below_the_root(file: Path, tmp_path: Path) -> None:
    file.write_text("SELECT 1 AS x")
    root = ("--safe", "--root", tmp_path)
    code, output = called("run", file, *root, "--checkpoint", tmp_path / "checkpoint")
    assert code != 0
    assert "the folder of --checkpoint" in output


def test_a_root_needs_safe(file: Path, tmp_path: Path) -> None:
    code, output = called("run", file, "--root", tmp_path)
    assert code == 2
    assert "--root needs --safe" in output
