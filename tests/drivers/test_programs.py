"""Programs that hang are killed with all their processes; nothing here starts Spark."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.drivers.programs import answer, finish, start, wait_for

HANGS = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("waiting", file=sys.stderr, flush=True)
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(child.pid))
os.replace(sys.argv[1] + ".part", sys.argv[1])
time.sleep(600)
"""


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # only init waits for an orphan of a killed program


@pytest.mark.parametrize("how", ["finish", "wait_for"])
def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path, how: str) -> None:
    program, started = tmp_path / "hangs.py", tmp_path / "child"
    program.write_text(HANGS)
    process = start(program, str(started))
    wait_for(started, process)
    child = int(started.read_text())
    if how == "finish":
        with pytest.raises(AssertionError, match=r"not done in 0.2 s: waiting"):
            finish(process, seconds=0.2)
    else:
        with pytest.raises(AssertionError, match="never did not appear"):
            wait_for(tmp_path / "never", process, seconds=0.2)
        process.communicate()
    assert process.returncode == -9
    limit = time.monotonic() + 10
    while _alive(child):
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_a_program_answers_or_complains(tmp_path: Path) -> None:
    program = tmp_path / "answers.py"
    program.write_text("import sys\nprint('working')\nprint([1])\nsys.exit(sys.argv[1])\n")
    with pytest.raises(AssertionError, match="too cold"):
        finish(start(program, "too cold"))
    program.write_text("print('working')\nprint([1])\n")
    assert answer(start(program)) == [1]
