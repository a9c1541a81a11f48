"""The command that resumes a stream repeats every option of the first one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from muntin.cli.commands import run
from muntin.cli.run_summary import resume_command

GIVEN = [
    *("--checkpoint", "c k", "--trigger", "10 seconds", "--dead-letter", "bad", "--format", "csv"),
    *("--once", "--rows", "5", "--json", "--master", "local[2]", "--conf", "spark.a=b c"),
    *("--package", "g:a:1", "--package", "g:b:2", "--no-packages", "--log", "x.log"),
]


def given(words: list[str], folder: Path, monkeypatch: Any) -> dict[str, Any]:
    """Return the options that a command reads from a list of words."""
    file, kept = folder / "my q.sql", dict[str, Any]()
    file.write_text("SELECT 1")

    def keep(ctx: click.Context, text: str, options: dict[str, Any]) -> None:
        kept.update(options)

    monkeypatch.setattr(run, "run_text", keep)
    result = CliRunner().invoke(run.command, [str(file), "--stream", *words])
    assert result.exit_code == 0, result.output
    return kept


def test_every_option_is_repeated(tmp_path: Path, monkeypatch: Any) -> None:
    """The printed line, split as a shell does, is read into the same options."""
    first = given(GIVEN, tmp_path, monkeypatch)
    program, command, _, stream, *words = shlex.split(resume_command(first))
    assert (program, command, stream) == ("muntin", "run", "--stream")
    assert given(words, tmp_path, monkeypatch) == first
    assert sorted(words) == sorted(GIVEN)


def test_what_was_not_given_is_not_said(tmp_path: Path, monkeypatch: Any) -> None:
    options = given(["--checkpoint", "ck"], tmp_path, monkeypatch)
    assert resume_command(options).endswith(" --stream --checkpoint ck")


def test_secrets_are_not_repeated(tmp_path: Path, monkeypatch: Any) -> None:
    words = ["--checkpoint", "ck", "--conf", "spark.hadoop.fs.s3a.secret.key=abc"]
    line = resume_command(given(words, tmp_path, monkeypatch))
    assert line.endswith("--conf spark.hadoop.fs.s3a.secret.key=...")
