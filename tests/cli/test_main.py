"""Help, exit codes and completion of ``muntin``; none of it waits for Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from muntin.cli.errors import Exit, exit_for
from muntin.cli.main import COMMANDS, main
from muntin.errors import (
    ArgumentError,
    CheckpointError,
    ExpressionError,
    MuntinError,
    RequirementError,
)


def test_help_lists_every_command_and_exit_code() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for name, (_, says) in COMMANDS.items():
        assert name in result.output
        assert says.split(",")[0] in result.output
    for code in Exit:
        assert f"{code.value} " in result.output


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Usage: main")


def test_an_unknown_command() -> None:
    result = CliRunner().invoke(main, ["rnu"])
    assert result.exit_code == Exit.USAGE
    assert "No such command 'rnu'" in result.output


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ArgumentError("x", 1, "y"), Exit.TEXT),
        (ExpressionError("x", "y"), Exit.TEXT),
        (RequirementError("no Java"), Exit.MACHINE),
        (CheckpointError("another"), Exit.CHECKPOINT),
        (MuntinError("it ran and failed"), Exit.FAILED),
    ],
)
def test_exit_codes(error: Exception, code: Exit) -> None:
    assert exit_for(error) == code


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_MUNTIN_COMPLETE" in result.output


def test_help_does_not_wait_for_spark() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from muntin.cli.main import main; "
        "CliRunner().invoke(main, ['--help']); CliRunner().invoke(main, ['run', '--help']); "
        "print(sorted({'pyspark', 'pyarrow', 'numba', 'sqlglot'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
