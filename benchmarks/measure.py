"""What every benchmark needs: a session, a stopwatch, and a report for the documentation."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import ParamSpec

import altair as alt
from pyspark.sql import DataFrame, SparkSession

Given = ParamSpec("Given")
#: Every time is the median of this many runs, taken in turns with what it is compared to.
RUNS = 3
SPARK, MUNTIN = "Spark", "Muntin"
#: The same two colours in every picture; they differ for people who do not see all colours.
COLOURS = alt.Scale(domain=[SPARK, MUNTIN], range=["#d95f02", "#1f6fb4"])
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Any smaller number makes Spark add up the bytes of a batch anew for every row it sends to
    # Python, which costs more than to send it.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
_PAGE = """# Benchmarks

`make bench` measures these figures anew and writes them here. Take the ratios, not the seconds:
both sides of a ratio are measured in one run, in turns. Spark's own queries and Muntin's run in
the same session with the same settings.
"""


@contextmanager
def session() -> Iterator[SparkSession]:
    """Spark on all cores of this machine, one session for both sides."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.Builder().master("local[*]").appName("muntin-benchmarks")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def machine(spark: SparkSession | None = None) -> str:
    """Where and when figures were measured, in one sentence."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    where = (
        f"Measured on {date.today():%d %B %Y}: {os.cpu_count()} cores ({_processor()}), "
        f"{memory:.0f} GB, "
    )
    if spark is None:
        return f"{where}Python {platform.python_version()}, without Spark."
    java = spark.sql(
        "SELECT java_method('java.lang.System', 'getProperty', 'java.version')"
    ).first()
    settings = (
        "driver memory 8 GB, 2 shuffle partitions, 100,000 rows an Arrow batch and no limit of "
        "its bytes, RocksDB for state"
    )
    return (
        f"{where}Spark {spark.version} on `local[*]`, Java {java[0] if java else '?'}, "
        f"Python {platform.python_version()}; for both sides {settings}."
    )


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def turns(
    contestants: Mapping[str, Callable[[], object]],
    runs: int = RUNS,
    pause: float = 0,
    clock: Callable[[], float] = time.perf_counter,
    ready: Callable[[], object] = lambda: None,
) -> Iterator[tuple[str, float]]:
    """Names and seconds; contestants take turns, so that all share the weather.

    A pause between them lets the JVM collect one's garbage outside the other's time, and what one
    has left for the disk is written before the other begins. Where all work is done by this
    process, its processor time as ``clock`` leaves out what others do. What makes the session
    ``ready`` runs before every turn, outside its time.
    """
    for _ in range(runs):
        for name, contestant in contestants.items():
            os.sync()
            time.sleep(pause)
            ready()
            began = clock()
            contestant()
            yield name, clock() - began


def printed(timed: Iterable[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """Yield the same, and print each as it happens."""
    for name, seconds in timed:
        say(f"{name}: {seconds:.2f} s")
        yield name, seconds


def medians(timed: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The median seconds of each contestant."""
    taken: dict[str, list[float]] = {}
    for name, seconds in timed:
        taken.setdefault(name, []).append(seconds)
    return {name: median(seconds) for name, seconds in taken.items()}


def say(text: str) -> None:
    """Show how far a benchmark has come, without disturbing its table."""
    print(f"  {text}", file=sys.stderr, flush=True)


def drain(rows: DataFrame) -> None:
    """Compute every row and column, and write them nowhere."""
    rows.write.format("noop").mode("overwrite").save()


def draining(
    query: Callable[Given, DataFrame], *args: Given.args, **kwargs: Given.kwargs
) -> Callable[[], None]:
    """A contestant: the query is planned and drained anew at every call."""
    return lambda: drain(query(*args, **kwargs))


def must_agree(ours: DataFrame, theirs: DataFrame, columns: Sequence[str]) -> None:
    """A race between different answers would mean nothing."""
    sums = [f"sum({column})" for column in columns]
    mine, other = (rows.selectExpr("count(*)", *sums).first() for rows in (ours, theirs))
    assert mine is not None
    assert other is not None
    if not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(mine, other, strict=True)):
        raise AssertionError(f"count and sums differ: Muntin {tuple(mine)}, Spark {tuple(other)}")


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the row."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def markdown(self) -> str:
        """Padded, so that it can also be read on a terminal."""
        lines = [self.columns, *self.rows]
        widths = [max(3, *(len(line[c]) for line in lines)) for c in range(len(self.columns))]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        text = [_line(line, widths) for line in (self.columns, rule, *self.rows)]
        return "\n".join([f"{self.caption}\n"] * bool(self.caption) + text)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cells[0].ljust(widths[0])]
    padded += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return f"| {' | '.join(padded)} |"


@dataclass(frozen=True)
class Target:
    """A promise and what was measured."""

    claim: str
    measured: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool:
        above = self.at_least is None or self.measured >= self.at_least
        return above and (self.at_most is None or self.measured <= self.at_most)

    @property
    def promise(self) -> str:
        floor = [] if self.at_least is None else [f"at least {self.at_least:g}"]
        ceiling = [] if self.at_most is None else [f"at most {self.at_most:g}"]
        return ", ".join(floor + ceiling)


@dataclass(frozen=True)
class Report:
    """The results of a benchmark; ``about`` describes what was measured and how."""

    name: str
    title: str
    about: str
    tables: Sequence[Table]
    targets: Sequence[Target]
    chart: alt.TopLevelMixin

    def markdown(self) -> str:
        parts = [self.about, *(table.markdown() for table in self.tables)]
        if self.targets:
            rows = [
                [t.claim, t.promise, f"{t.measured:.2f}", "yes" if t.met else "**no**"]
                for t in self.targets
            ]
            parts.append(Table(["ratio", "promised", "measured", "met"], rows).markdown())
        return "\n\n".join(parts)


def publish(report: Report, where: str, folder: Path) -> Path:
    """Put a report between its markers on the page, and its picture beside it."""
    picture = folder / "img" / f"bench-{report.name}.png"
    draw(report.chart, picture)
    page = folder / "benchmarks.md"
    text = page.read_text() if page.exists() else _PAGE
    shown = f"![{report.title}](img/{picture.name})"
    body = "\n\n".join([report.markdown(), shown, where])
    page.write_text(with_section(text, report.name, report.title, body))
    return page


def with_section(page: str, name: str, title: str, body: str) -> str:
    """The page with one section's generated part replaced, all else as it was."""
    start, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    if start not in page:
        page = f"{page.rstrip()}\n\n## {title}\n\n{start}\n{end}\n"
    before, _, rest = page.partition(start)
    _, marker, after = rest.partition(end)
    if not marker:
        raise ValueError(f"the page has {start} but no {end} after it; add it by hand")
    return f"{before}{start}\n\n{body}\n\n{end}{after}"


def draw(chart: alt.TopLevelMixin, picture: Path) -> None:
    """Save a chart in the look that all pictures share."""
    picture.parent.mkdir(parents=True, exist_ok=True)
    chart.configure(padding={"left": 8, "top": 10, "right": 16, "bottom": 8}).configure_axis(
        labelFontSize=12, titleFontSize=12, titleFontWeight="normal"
    ).configure_legend(
        labelFontSize=12, titleFontSize=12, titleFontWeight="normal"
    ).configure_title(fontSize=16, subtitleFontSize=12, anchor="start", offset=12).save(
        picture, scale_factor=2
    )
