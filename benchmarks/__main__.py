"""``make bench``: measure the claims and write the results into the documentation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.cold import short_questions
from benchmarks.engine import asking, filling, on_spark, predicates, result_log, shared_windows
from benchmarks.engines import in_one_process
from benchmarks.frames import (
    figure10,
    fill,
    fragments,
    kernels,
    keys,
    kinds,
    loops,
    overlap,
    reduction,
)
from benchmarks.growth import memory, slopes
from benchmarks.joins import asof
from benchmarks.measure import Report, machine, publish, session
from benchmarks.overload import promising, step_load
from benchmarks.section8 import blocks, bounded, execution
from benchmarks.streams import floor, latency, long_ranges, state
from benchmarks.windows import arrow_scan, by_tuple, correlated, figure3, from_files
from benchmarks.windows import overlap as batch_overlap

ROOT = Path(__file__).resolve().parents[1]
#: Benchmarks that need Spark.
BENCHMARKS: Mapping[str, Callable[[SparkSession, bool], Report]] = {
    "arrow_scan": arrow_scan.run,
    "asking": asking.run,
    "asof": asof.run,
    "engine": on_spark.run,
    "engines": in_one_process.run,
    "filling": filling.run,
    "batch_overlap": batch_overlap.run,
    "by_tuple": by_tuple.run,
    "correlated": correlated.run,
    "figure3": figure3.run,
    "from_files": from_files.run,
    "fill": fill.run,
    "frames": kinds.run,
    "frame_figure10": figure10.run,
    "frame_loops": loops.run,
    "frame_keys": keys.run,
    "floor": floor.run,
    "stream": latency.run,
    "long_ranges": long_ranges.run,
    "state": state.run,
    "overload": step_load.run,
}
#: Benchmarks that need no session: they step the operators, or start processes of their own.
WITHOUT_SPARK: Mapping[str, Callable[[bool], Report]] = {
    "section8-execution": execution.run,
    "section8-bounded": bounded.run,
    "section8-blocks": blocks.run,
    "fragments": fragments.run,
    "frame_kernels": kernels.run,
    "frame_overlap": overlap.run,
    "frame_reduction": reduction.run,
    "predicates": predicates.run,
    "promising": promising.run,
    "result_log": result_log.run,
    "shared_windows": shared_windows.run,
    "short_questions": short_questions.run,
}
#: Benchmarks of growth take long, and run only with ``--growth`` or by name.
GROWTH: Mapping[str, Callable[[SparkSession, bool], Report]] = {
    "growth": slopes.run,
    "memory": memory.run,
}
ON_SPARK = {**BENCHMARKS, **GROWTH}
NAMES = (*WITHOUT_SPARK, *ON_SPARK)
#: The data that benchmarks read, which may not be on this machine.
NEEDS = {
    "frame_reduction": reduction.DATA,
    "frame_figure10": figure10.DAY,
    "short_questions": short_questions.DAY,
}


def main() -> int:
    """Return zero if every target was met, or if the sizes were too small to judge them."""
    options = parse()
    missed = 0
    for where, report in measured(options.names, options.quick):
        print(f"\n{report.markdown()}")
        # Results of small sizes do not go into the documentation.
        folder = ROOT / "build" / "bench" if options.quick else ROOT / "docs"
        print(f"\nWritten to {publish(report, where, folder)}", flush=True)
        missed += sum(not target.met for target in report.targets)
    if options.quick:
        print("\nQuick: the sizes are too small to judge the targets.")
        return 0
    return 1 if missed else 0


def measured(names: Sequence[str], quick: bool) -> Iterator[tuple[str, Report]]:
    """Yield reports and where they were measured; Spark starts only if one needs it."""
    for name in NEEDS.keys() & set(names):
        if not NEEDS[name].exists():
            print(f"\n{name}: left out, its data is not here")
    names = [name for name in names if name not in NEEDS or NEEDS[name].exists()]
    for name in names:
        if name in WITHOUT_SPARK:
            print(f"\n{name}", flush=True)
            yield machine(), WITHOUT_SPARK[name](quick)
    if not any(name in ON_SPARK for name in names):
        return
    with session() as spark:
        where = machine(spark)
        print(where)
        for name in names:
            if name in ON_SPARK:
                print(f"\n{name}", flush=True)
                yield where, ON_SPARK[name](spark, quick)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    # argparse checks a default against `choices`, too, so the names are checked here.
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(NAMES)} (all)")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes; leaves the documentation alone"
    )
    parser.add_argument("--growth", action="store_true", help="how time and memory grow")
    options = parser.parse_args()
    chosen = [matching(name) for name in options.names]
    if unknown := [name for name, names in zip(options.names, chosen, strict=True) if not names]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    usual = [] if options.growth else [*WITHOUT_SPARK, *BENCHMARKS]
    names = [name for names in chosen for name in names] or usual
    options.names = list(dict.fromkeys([*names, *(GROWTH if options.growth else ())]))
    return options


def matching(wanted: str) -> list[str]:
    """Return a benchmark by its name, or all of one kind: ``section8`` means ``section8-...``."""
    return [name for name in NAMES if name == wanted or name.startswith(f"{wanted}-")]


if __name__ == "__main__":
    sys.exit(main())
