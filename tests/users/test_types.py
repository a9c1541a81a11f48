"""What an editor knows: the README's programs type-check, and mistakes are found before a run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.scripts import ROOT

#: What the README takes as given.
GIVEN = """
from typing import cast
from pyspark.sql import DataFrame
arriving = cast(DataFrame, None)
"""
#: Each line is a mistake.
MISTAKES = """
import muntin as mt
from pyspark.sql import DataFrame

def wrong(df: DataFrame) -> None:
    mt.stream(df, on=3)
    stream = mt.stream(df, on="ts", disorder="10 seconds")
    stream.tumbling(None)
    stream.window("5 minutes", slide=["1 minute"])
    stream.rows("10")
    stream.session(gap=object())
    stream.frames("speed < 30")
    stream.tumbling("1 minute").agg(3)
    stream.tumbling("1 minute").agg("max(speed)", emit="sometimes")
    stream.frames(mt.threshold("v < 3")).fill(df, before=object())
    mt.slack(object())
"""


def readme() -> str:
    text = (ROOT / "README.md").read_text()
    return GIVEN + "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M))


def mypy(program: Path, folder: Path) -> str:
    words = [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context"]
    words += [
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
        "--config-file",
        str(ROOT / "pyproject.toml"),
    ]
    return ran([*words, str(program)], folder)


def ran(words: list[str], folder: Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def lines_of(errors: str) -> set[int]:
    return {int(line) for line in re.findall(r"^.*?\.py:(\d+).*error", errors, re.M)}


def mistakes() -> set[int]:
    """The numbers of the lines inside the function."""
    return {
        number for number, line in enumerate(MISTAKES.splitlines(), 1) if line.startswith("    ")
    }


def test_the_readme_and_mistakes_by_mypy(tmp_path: Path) -> None:
    program, wrong = tmp_path / "readme.py", tmp_path / "wrong.py"
    program.write_text(readme())
    wrong.write_text(MISTAKES)
    assert mypy(program, tmp_path) == ""
    assert lines_of(mypy(wrong, tmp_path)) == mistakes()


@pytest.mark.slow
def test_the_readme_and_mistakes_by_pyright(tmp_path: Path) -> None:
    """Pyright's package gets its program from npm when it first runs."""
    program, wrong = tmp_path / "readme.py", tmp_path / "wrong.py"
    program.write_text(readme())
    wrong.write_text(MISTAKES)
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    assert pyright is not None
    words = [pyright, "--pythonpath", sys.executable]
    assert lines_of(ran([*words, str(program)], tmp_path)) == set()
    assert lines_of(ran([*words, str(wrong)], tmp_path)) == mistakes()


def test_the_package_says_that_it_has_types() -> None:
    assert (ROOT / "src" / "muntin" / "py.typed").exists()
