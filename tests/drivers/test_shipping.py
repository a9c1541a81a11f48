"""Muntin reaches workers that do not have it: a local cluster, and Spark Connect."""

from __future__ import annotations

import bz2
import io
import os
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

import muntin
from muntin.spark.exchange.shipping import AT_HOME, KeptArguments, loader, package
from tests.drivers.programs import PATIENCE, answer, python_without_muntin, start

PROGRAM = Path(__file__).with_name("program_cluster.py")


@pytest.mark.timeout(PATIENCE + 60)
@pytest.mark.parametrize("kind", ["local-cluster", "connect"])
def test_batch_and_streams_run_without_installing(kind: str, tmp_path: Path) -> None:
    python = python_without_muntin(tmp_path / "venv")
    report: Any = answer(start(PROGRAM, kind, str(tmp_path), PYSPARK_PYTHON=python))
    assert report["had"] is False
    assert len(report["batch"]) > 100
    assert report["sql"] == report["batch"]
    # Random doubles do not repeat, so count(DISTINCT v) is count(*).
    assert report["pyspark"] == [[*row, row[-2]] for row in report["batch"]]
    # Equal to the last bit, for any order of arrival and any tasks.
    assert report["stream"] == report["batch"]
    assert report["counts"]["rows_in"] == report["counts"]["rows_used"] == 600


def test_workers_get_what_they_import_and_nothing_else(tmp_path: Path) -> None:
    """Modules that send functions find everything they import in the shipped package."""
    with zipfile.ZipFile(io.BytesIO(bz2.decompress(package()[1]))) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    assert "muntin/__init__.py" in names
    rooms = tuple(f"muntin/{room}" for room in AT_HOME)
    assert not [name for name in names if name.startswith(rooms)]
    program = (
        "import importlib, sys, muntin;"
        f"[importlib.import_module(name) for name in {sorted(sending_modules())!r}];"
        "print(*{m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'muntin'})"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(Path(file).is_relative_to(tmp_path) for file in done.stdout.split())


def sending_modules() -> set[str]:
    """Return the modules that send their own functions to workers."""
    root = Path(muntin.__file__).parent
    sends = re.compile(r"\b(shipped|shipped_processor)\(__name__")
    paths = [path for path in root.rglob("*.py") if sends.search(path.read_text())]
    assert len(paths) >= 5
    modules = {
        ".".join(("muntin", *path.relative_to(root).with_suffix("").parts)) for path in paths
    }
    return {*modules, "muntin.spark.plan.results"}  # it splits micro-batches on a Connect server


def test_the_package_is_small_enough_to_travel_in_a_function() -> None:
    """PySpark sends functions above 1 MiB in a way that workers which start streams lack."""
    assert len(package()[1]) < 400_000


def test_a_worker_keeps_arguments_of_the_last_queries() -> None:
    packed = [pickle.dumps((number, ["kept"])) for number in range(40)]
    first = KeptArguments.of(packed[0])
    assert first.use() == (0, ["kept"])
    assert KeptArguments.of(bytes(bytearray(packed[0]))).use() is first.values
    for one in packed:
        KeptArguments.of(one)
    assert KeptArguments.of(packed[0]) is not first
    KeptArguments.of.__func__.cache_clear()  # type: ignore[attr-defined]


def test_what_a_worker_keeps_is_not_looked_at_again_for_garbage() -> None:
    """PySpark collects garbage after each task, which takes long where many modules are."""
    program = (
        "import gc, pickle; from muntin.spark.exchange.shipping import KeptArguments;"
        "packed = pickle.dumps(([1],)); kept = [KeptArguments.of(packed).use() for _ in range(3)];"
        "print(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 1000)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


LOADS = """
import importlib.util, pickle, sys
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        pickle.load(file)()
print(importlib.util.find_spec("muntin").origin)
"""


def test_a_worker_unpacks_what_is_missing(tmp_path: Path) -> None:
    """Workers that start together share a folder, and restore files that a cleaner deleted."""
    python = python_without_muntin(tmp_path / "venv")
    function = tmp_path / "load.pickle"
    function.write_bytes(cloudpickle.dumps(loader()))  # type: ignore[no-untyped-call]
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def workers(count: int) -> set[Path]:
        # Each loads twice, because a worker serves many calls.
        command = [python, "-c", LOADS, str(function), str(function)]
        environment = {"TMPDIR": str(temporary), "PATH": ""}
        running = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            for _ in range(count)
        ]
        return {Path(process.communicate(timeout=60)[0].strip()).parent for process in running}

    (loaded,) = workers(3)
    (folder,) = temporary.iterdir()
    assert loaded == folder / "muntin"
    assert package()[0] in folder.name

    def files() -> set[str]:
        sources = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
        return {path.relative_to(folder).as_posix() for path in sources if path.is_file()}

    whole = files()
    assert {"muntin/__init__.py", "muntin/spark/exchange/shipping.py"} < whole
    assert all(name.endswith((".py", ".typed")) for name in whole)  # no temporary files are left
    shutil.rmtree(folder / "muntin" / "spark")
    (folder / "muntin" / "specs" / "axis.py").write_text("")
    assert workers(2) == {folder / "muntin"}
    assert files() == whole
    assert (folder / "muntin" / "specs" / "axis.py").stat().st_size > 0
    for path in folder.iterdir():
        shutil.rmtree(path)
    assert workers(1) == {folder / "muntin"}
    assert files() == whole
    assert list(temporary.iterdir()) == [folder]
