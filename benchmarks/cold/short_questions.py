"""Short questions: commands that start from nothing, beside bare PySpark scripts that do the same.

Every figure is the time of a whole process, except the last three, which a process measures inside
itself. Commands and scripts take turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd

from benchmarks.measure import MUNTIN, SPARK, Report, Table, Target, medians, printed, turns

ROOT = Path(__file__).resolve().parents[2]
DAY = ROOT.parent / "shared" / "data" / "freeway" / "loopdata_1day.csv.gz"
RUNS, QUICK_RUNS = 3, 1
MASTER = "local[*]"
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
#: A bare session, with settings that any script on a terminal has.
SESSION = f"""
import sys
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.master("{MASTER}").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
"""
SELECT_1 = "print(spark.sql('SELECT 1 AS one').toJSON().collect()[0])\n"
WINDOW = """
rows = spark.read.csv(sys.argv[1], header=True, inferSchema=True)
windows = rows.groupBy("detectorid", F.window("starttime", "1 hour")).agg(F.count("*").alias("n"))
print("\\n".join(windows.toJSON().collect()))
"""
#: The first query of a session that goes through Python, without and with Muntin.
FIRST = """
import time
import muntin as mt
rows = spark.range(1000).selectExpr("timestamp_seconds(id) AS ts", "id % 5 AS k", "id AS v")
def empty():
    rows.mapInArrow(lambda batches: batches, rows.schema).show(5)
def window():
    mt.stream(rows, on="ts", by="k").window("1 minute", "10 seconds").agg("max(v) AS hi").show(5)
began = time.perf_counter()
{call}()
print("seconds", time.perf_counter() - began)
"""
STREAM = "CREATE STREAM traffic FROM csv('{day}', header => true) ON starttime BY detectorid;"
ASKED = (
    "SELECT detectorid, count(*) AS n FROM traffic [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY detectorid;"
)
SESSION_START, CHECK, SYNTAX = "Spark, session", "muntin check", "muntin check --syntax"
EMPTY, FIRST_WINDOW, SECOND = "empty mapInArrow", "first .agg().show()", "second query"


def run(quick: bool) -> Report:
    with TemporaryDirectory(prefix="muntin-bench-") as folder:
        files = written(Path(folder))
        runs = QUICK_RUNS if quick else RUNS
        # Compiled once: Muntin by Python, and its kernels by Numba.
        process([str(files["first.py"])])
        process(["-m", "muntin.cli", "run", str(files["window.sql"]), "--master", MASTER])
        whole = medians(printed(turns(contestants(files), runs)))
        inside = medians(printed(measured_inside(files, runs)))
    return report(runs, whole, inside)


def written(folder: Path) -> Mapping[str, Path]:
    """Write the scripts and texts, and return them by name."""
    texts = {
        "session.py": SESSION,
        "one.py": SESSION + SELECT_1,
        "window.py": SESSION + WINDOW,
        "empty.py": SESSION + FIRST.format(call="empty"),
        "first.py": SESSION + FIRST.format(call="window"),
        "one.sql": "SELECT 1 AS one;",
        "window.sql": f"{STREAM.format(day=DAY)}\n{ASKED}",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: folder / name for name in texts}


def contestants(files: Mapping[str, Path]) -> Mapping[str, Callable[[], object]]:
    """Return what takes turns: whole processes."""

    def script(name: str, *arguments: str) -> Callable[[], object]:
        return lambda: process([str(files[name]), *arguments])

    def muntin(*words: str) -> Callable[[], object]:
        return lambda: process(["-m", "muntin.cli", *words])

    on_spark = ("--master", MASTER)
    return {
        SESSION_START: script("session.py"),
        f"{SPARK}, SELECT 1": script("one.py"),
        f"{MUNTIN}, SELECT 1": muntin("run", str(files["one.sql"]), *on_spark),
        f"{SPARK}, freeway day": script("window.py", str(DAY)),
        f"{MUNTIN}, freeway day": muntin("run", str(files["window.sql"]), *on_spark),
        CHECK: muntin("check", str(files["window.sql"]), *on_spark),
        SYNTAX: muntin("check", "--syntax", str(files["window.sql"])),
    }


def environment() -> dict[str, str]:
    """Return the environment of all processes, in which Python keeps what it has compiled.

    An installed package comes with that, and so does PySpark here.
    """
    kept = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": sys.executable}


def process(words: Sequence[str]) -> str:
    """Run Python from nothing, and return what it printed."""
    ended = subprocess.run(
        [sys.executable, *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=300,
        check=True,
    )
    return ended.stdout


def measured_inside(files: Mapping[str, Path], runs: int) -> Iterator[tuple[str, float]]:
    """Yield what processes measure of themselves."""
    for _ in range(runs):
        for name, script in ((EMPTY, "empty.py"), (FIRST_WINDOW, "first.py")):
            yield name, float(process([str(files[script])]).rsplit("seconds", 1)[1])
        yield SECOND, second_query()


def second_query() -> float:
    """Return the seconds from the second query in ``muntin sql`` to its answer."""
    with subprocess.Popen(
        [sys.executable, "-m", "muntin.cli", "sql", "--master", MASTER],
        env={**environment(), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        seconds = 0.0
        for text in (f"{STREAM.format(day=DAY)}\n{ASKED}", ASKED.replace(" n ", " second ")):
            name = "second" if "second" in text else " n "
            began = time.perf_counter()
            shell.stdin.write(f"{text}\n")
            shell.stdin.flush()
            while name not in (line := shell.stdout.readline()):
                assert line, "muntin sql ended without an answer"
            seconds = time.perf_counter() - began
        shell.stdin.write("exit\n")
        shell.stdin.close()
        shell.wait(60)
    return seconds


def report(runs: int, whole: Mapping[str, float], inside: Mapping[str, float]) -> Report:
    about = (
        "Whole processes that start from nothing, in seconds: bare PySpark scripts and `muntin` "
        f"take turns; medians of {runs}. The freeway day has 240,258 readings in a compressed CSV "
        "file whose columns are inferred; both sides count the readings of each detector and hour "
        "and print the counts as JSON. The last three lines are measured inside a process: the "
        "first query that goes through Python, a Muntin window as the first query, and the second "
        "query typed into `muntin sql`."
    )
    cells = [[name, f"{seconds:.2f}"] for name, seconds in {**whole, **inside}.items()]
    return Report(
        name="short_questions",
        title="Short questions",
        about=about,
        tables=[Table(["question", "s"], cells)],
        targets=[
            Target(
                f"{question}: muntin run over a bare script",
                whole[f"{MUNTIN}, {question}"] / whole[f"{SPARK}, {question}"],
                at_most=1.3,
            )
            for question in ("SELECT 1", "freeway day")
        ]
        + [
            Target("seconds of a second query in muntin sql", inside[SECOND], at_most=1.5),
            Target("seconds of muntin check --syntax", whole[SYNTAX], at_most=2),
            Target(
                "muntin check less a bare session, s", whole[CHECK] - whole[SESSION_START], None, 2
            ),
            Target(
                "first .agg().show() less an empty mapInArrow, s",
                inside[FIRST_WINDOW] - inside[EMPTY],
                at_most=1,
            ),
        ],
        chart=drawn({**whole, **inside}),
    )


def drawn(taken: Mapping[str, float]) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [{"question": name, "seconds": seconds} for name, seconds in taken.items()]
    )
    chart: alt.TopLevelMixin = (
        alt.Chart(points, width=560, height=240, title="Short questions: seconds from nothing")
        .mark_bar()
        .encode(
            x=alt.X("seconds:Q", title="seconds"),
            y=alt.Y("question:N", title=None, sort=None),
        )
    )
    return chart
