"""The wheel: what is in it, and that it works in an environment of its own, without this folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docs.scripts import ROOT

PROGRAM = Path(__file__).with_name("program_wheel.py")
#: The Python that everything is tested with, and newer ones.
PYTHONS = ("3.11", "3.12", "3.13")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    run([sys.executable, *words, str(ROOT)], folder)
    (built,) = folder.glob("*.whl")
    return built


def run(words: list[str], folder: Path, **environment: str) -> str:
    keep = {"PATH", "HOME", "JAVA_HOME", "LANG", "TMPDIR", "PIP_INDEX_URL", "PIP_CONFIG_FILE"}
    own = {name: value for name, value in os.environ.items() if name in keep}
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=own | {"TZ": "UTC"} | environment,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def interpreter(version: str) -> Path | None:
    """Find a Python on the path, or among those of pyenv."""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" == version:
        return Path(sys.executable)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    known = sorted(root.glob(f"{version}.*/bin/python")) if root.exists() else []
    named = shutil.which(f"python{version}")
    return known[-1] if known else (Path(named) if named else None)


def test_what_is_in_the_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"muntin/__init__.py", "muntin/__init__.pyi", "muntin/py.typed"} <= {*names}
    assert {name.split("/")[0] for name in names} == {"muntin", f"{wheel.name[:12]}.dist-info"}
    assert not [name for name in names if name.endswith((".nbc", ".nbi", ".pyc"))]
    assert any(name.endswith("entry_points.txt") for name in names)


def test_the_classifiers_name_what_runs() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    named = [v for v in PYTHONS if f'"Programming Language :: Python :: {v}"' in text]
    assert named == list(PYTHONS)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_is_enough(wheel: Path, tmp_path: Path, version: str) -> None:
    """Versions of Python that this machine does not have are not tried; 3.11 always is."""
    python = interpreter(version)
    if python is None:
        assert version != "3.11"
        return
    run([str(python), "-m", "venv", "own"], tmp_path)
    own = tmp_path / "own" / "bin"
    pip = [str(own / "python"), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
    run([*pip, "setuptools", "wheel"], tmp_path)
    run([*pip, "--no-build-isolation", str(wheel)], tmp_path)
    shutil.copy(PROGRAM, tmp_path / "program.py")
    workers = {"PYSPARK_PYTHON": str(own / "python")}
    printed = run([str(own / "python"), "program.py"], tmp_path, **workers).splitlines()
    assert printed[-2].startswith(version)
    assert printed[-1] == "True True True 8"
    assert "muntin" in run([str(own / "muntin"), "--version"], tmp_path)
    asked = [str(own / "muntin"), "check", "--syntax", "query.sql"]
    (tmp_path / "query.sql").write_text("SELECT 1;")
    run(asked, tmp_path)
