"""Print numbers that describe how the house is arranged: its size, cycles, names and walks.

Run ``python scripts/house_numbers.py``; ``--walks`` adds four walks, which start Spark, and
``--root DIR`` measures another checkout. The numbers are defined so:

*Import cycles* count every import statement, also those inside functions and under
``if TYPE_CHECKING``. Importing ``muntin.a.b`` is an arrow to that module, not to ``muntin.a``.

*A closure* is the function that Spark pickles for every task, without an operator in it.

*A walk* is one query on forty rows in a fresh process, from the first call of Muntin to the
collected rows. Its number is how many files of ``src/muntin`` it visits, in the driver and in the
Python workers together. A file is visited if one of its functions runs; methods that ``dataclass``
generates belong to the file of their class. These do not count: code that runs while a module is
imported, ``muntin/__init__.py`` (the lookup of public names, part of every walk), and functions
that are called from compiled code only. A compiled kernel itself counts when Numba loads it.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

#: The environment variable with the folder to which processes write the files they visit.
VISITS = "MUNTIN_HOUSE_VISITS"
#: A file of the package, in a checkout or where a worker unpacked the package.
_OURS = re.compile(r"/(?:src|muntin-\d+-[0-9a-f]+)/muntin/(.+\.py)$")
#: The module that makes closures and one that workers run: the new layout's, then the old one's.
_SHIPPING = (
    ("muntin.spark.exchange.shipping", "muntin.spark.exchange.batch_driver"),
    ("muntin.spark.ship", "muntin.spark.batch"),
)
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Workers are forked by this script, so that they have its hook.
    "spark.python.daemon.module": Path(__file__).stem,
}
_ROWS = """
    SELECT timestamp_seconds(1767225600 + 20 * id) AS ts, 'k' || (id % 2) AS k,
           CAST(id % 7 AS DOUBLE) AS v
    FROM range(40)
"""

# Sources


@dataclass(frozen=True)
class Module:
    """A source file: its path below ``src``, its module name and its syntax tree."""

    path: Path
    name: str
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package that relative imports of this module start from."""
        return self.name if self.path.stem == "__init__" else self.name.rpartition(".")[0]


def modules(src: Path) -> list[Module]:
    """Read all Python files below ``src``."""
    found = []
    for file in sorted(src.rglob("*.py")):
        path = file.relative_to(src)
        parts = path.with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = file.read_text()
        found.append(Module(path, name, text, ast.parse(text)))
    return found


def largest_folder(sources: Sequence[Module]) -> tuple[str, int]:
    """Return the folder with the most files directly in it, and their number."""
    folders = Counter(module.path.parent.as_posix() for module in sources)
    return folders.most_common(1)[0]


def repeated_classes(sources: Sequence[Module]) -> dict[str, list[str]]:
    """Return the names of classes that are defined more than once, with their places."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in sources:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{module.path}:{node.lineno}")
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


# Import cycles


def imported(module: Module, names: set[str]) -> Iterator[str]:
    """Yield the modules in ``names`` that a module imports, wherever the statement is."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, node)
            for alias in node.names:
                member = f"{origin}.{alias.name}"
                if member in names or origin in names:
                    yield member if member in names else origin


def _origin(module: Module, node: ast.ImportFrom) -> str:
    """Return the absolute name of the module that ``from ... import`` names."""
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, *filter(None, [node.module])])


def cycles(sources: Sequence[Module]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle, the largest first."""
    names = {module.name for module in sources}
    arrows = {module.name: set(imported(module, names)) - {module.name} for module in sources}
    reached = {name: _reachable(name, arrows) for name in names}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in names
        if name in reached[name]
    }
    return sorted(map(list, groups), key=lambda group: (-len(group), group))


def _reachable(start: str, arrows: Mapping[str, set[str]]) -> set[str]:
    """Return every module that one can get to from ``start`` in one step or more."""
    reached: set[str] = set()
    waiting = list(arrows[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(arrows[name])
    return reached


# Visits: this part runs in the driver of a walk and in its workers


class Visits:
    """A profile hook that writes the name of each file of Muntin when it is first visited."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: set[str] = set()
        #: How many module bodies, and how many compilations, each thread is inside of.
        self.thread = threading.local()

    def start(self) -> None:
        """Watch this thread, threads that start later, and forked processes."""
        threading.setprofile(self)
        sys.setprofile(self)

    def stop(self) -> None:
        threading.setprofile(None)
        sys.setprofile(None)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code.co_name == "<module>":
            self._nested("imports", event)
        elif code.co_name == "compile" and code.co_filename.endswith("numba/core/dispatcher.py"):
            # Compiling a kernel compiles what it calls, but loading it from the cache does not:
            # only the outermost one is the same in every run.
            if self._nested("compilations", event) == 1 and event == "call":
                self._visit(frame.f_locals["self"].py_func.__code__.co_filename)
        elif event == "call":
            generated = code.co_filename == "<string>"
            self._visit(frame.f_globals.get("__file__") if generated else code.co_filename)

    def _nested(self, what: str, event: str) -> int:
        """Count a level up or down, and return the level."""
        level: int = getattr(self.thread, what, 0) + (1 if event == "call" else -1)
        setattr(self.thread, what, level)
        return level

    def _visit(self, filename: str | None) -> None:
        name = _file_of_package(filename or "")
        if name is None or name in self.seen or getattr(self.thread, "imports", 0) > 0:
            return
        self.seen.add(name)
        # At once, because workers are ended without a chance to clean up. The process is part of
        # the name, because a forked worker goes on with this object.
        with (self.folder / f"{os.getpid()}.txt").open("a") as file:
            file.write(f"{name}\n")


@cache
def _file_of_package(filename: str) -> str | None:
    """Return the path of a file below ``muntin/``, or None if it does not count."""
    match = _OURS.search(filename)
    return match[1] if match and match[1] != "__init__.py" else None


def run_daemon() -> None:
    """Run PySpark's daemon, which forks workers that have the hook."""
    from pyspark.daemon import manager

    Visits(Path(os.environ[VISITS])).start()
    manager()


# Walks


@dataclass(frozen=True)
class Inputs:
    """What a walk starts from: the same rows as a table and as a stream."""

    spark: Any
    rows: Any
    arriving: Any
    folder: Path


def batch_window(inputs: Inputs) -> list[Any]:
    """Collect the simplest window over a table."""
    import muntin as mt

    highs = mt.stream(inputs.rows, on="ts", by="k").tumbling("1 minute").agg("max(v) AS hi")
    return list(highs.collect())


def stream_window(inputs: Inputs) -> list[Any]:
    """Collect the same window over a stream, which ends when all rows are read."""
    import muntin as mt

    arriving = mt.stream(inputs.arriving, on="ts", by="k", disorder=mt.slack("0 seconds"))
    writer = arriving.tumbling("1 minute").agg("max(v) AS hi").writeStream
    writer = writer.format("memory").queryName("highs").trigger(availableNow=True)
    checkpoint = str(inputs.folder / "checkpoint")
    writer.option("checkpointLocation", checkpoint).start().awaitTermination()
    return list(inputs.spark.table("highs").collect())


def frames_and_fill(inputs: Inputs) -> list[Any]:
    """Collect frames over a table, filled with the rows of a table."""
    import muntin as mt

    frames = mt.stream(inputs.rows, on="ts", by="k").frames(mt.threshold("v > 1"))
    return list(frames.fill(inputs.rows).agg("avg(v) AS mean").collect())


def sql_text(inputs: Inputs) -> list[Any]:
    """Collect frames over a table, asked for as SQL text."""
    import muntin as mt

    text = "SELECT k, frame_end, max(v) AS hi FROM rows [FRAME THRESHOLD v > 1 WATTR ts PATTR k]"
    return list(mt.sql(text, rows=inputs.rows).collect())


WALKS: dict[str, tuple[str, Callable[[Inputs], list[Any]]]] = {
    "batch": ("simplest batch window", batch_window),
    "stream": ("the same as a stream", stream_window),
    "fill": ("frames + fill, batch", frames_and_fill),
    "sql": ("SQL text (frames), batch", sql_text),
}


def walk(name: str) -> None:
    """Go on a walk in this process, and write what it visits to the folder for visits."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    builder = builder.master("local[2]")
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    visits = Visits(Path(os.environ[VISITS]))
    with tempfile.TemporaryDirectory() as folder:
        rows = spark.sql(_ROWS)
        rows.write.parquet(f"{folder}/rows")
        arriving = spark.readStream.schema(rows.schema).parquet(f"{folder}/rows")
        inputs = Inputs(spark, rows, arriving, Path(folder))
        visits.start()
        results = WALKS[name][1](inputs)
        visits.stop()
        spark.stop()
    if not results:
        raise SystemExit(f"the walk {name} has no results, so it did not go all the way")


def closure_bytes() -> int:
    """Return the size of the function that workers get, pickled as Spark pickles it."""
    from pyspark import cloudpickle

    for shipping, worker in _SHIPPING:
        try:
            shipped = importlib.import_module(shipping).shipped
        except ModuleNotFoundError:
            continue
        pickled: bytes = cloudpickle.dumps(shipped(worker, "run_shards"))  # type: ignore[no-untyped-call]
        return len(pickled)
    raise SystemExit("there is no module that ships Muntin under a name this script knows")


# The report


def measured(root: Path, *arguments: str, visits: Path | None = None) -> str:
    """Run this script in a new process that imports the Muntin of ``root``; return its output."""
    paths = [root / "src", Path(__file__).resolve().parent]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYSPARK_PYTHON": sys.executable,
        "TZ": "UTC",
        VISITS: str(visits or ""),
    }
    command = [sys.executable, str(Path(__file__).resolve()), *arguments]
    # In the folder for visits, because Spark leaves files where it is started.
    done = subprocess.run(
        command, cwd=visits, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr[-4000:]}")
    return done.stdout


def visited(root: Path, name: str) -> set[str]:
    """Return the files that a walk visits."""
    with tempfile.TemporaryDirectory() as folder:
        measured(root, "--walk", name, visits=Path(folder))
        lists = Path(folder).glob("*.txt")
        return {line for file in lists for line in file.read_text().split()}


def static_report(root: Path) -> Iterator[tuple[str, object]]:
    """Yield what can be read from the sources, as labels and values."""
    sources = modules(root / "src")
    folder, files = largest_folder(sources)
    yield "files in src", len(sources)
    yield "lines in src", sum(len(module.text.splitlines()) for module in sources)
    yield "files in the largest folder", f"{files} ({folder})"
    found = cycles(sources)
    yield "import cycles", len(found)
    yield "modules in the largest cycle", len(found[0]) if found else 0
    for name in found[0] if found else []:
        yield "", name
    repeated = repeated_classes(sources)
    yield "class names used more than once", len(repeated)
    yield "  of these public", sum(not name.startswith("_") for name in repeated)
    for name, places in repeated.items():
        yield "", f"{name}: {', '.join(places)}"


def report(root: Path, walks: bool) -> None:
    """Print the table."""
    for label, value in static_report(root):
        print(f"{label:34}{value}")
    print(f"{'kB of a closure':34}{int(measured(root, '--closure')) / 1000:.0f}")
    for name, (label, _) in WALKS.items() if walks else ():
        print(f"{'files visited: ' + label:42}{len(visited(root, name))}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=Path, default=here, help="the checkout to measure")
    parser.add_argument("--walks", action="store_true", help="count visited files; starts Spark")
    # What the new processes are asked for.
    parser.add_argument("--walk", choices=WALKS, help=argparse.SUPPRESS)
    parser.add_argument("--closure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.walk:
        walk(options.walk)
    elif options.closure:
        print(closure_bytes())
    else:
        report(options.root.resolve(), options.walks)


if __name__ == "__main__":
    # Spark starts its daemon with the name of the module that its workers run.
    if sys.argv[1:2] and sys.argv[1].startswith("pyspark."):
        run_daemon()
    else:
        main()
