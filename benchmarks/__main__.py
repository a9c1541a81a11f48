"""``make bench``: measure the claims and write what was found into the documentation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks import (
    batch_overlap,
    by_tuple,
    correlated,
    figure3,
    fill,
    fragments,
    frame_kernels,
    frame_keys,
    frame_loops,
    frame_overlap,
    frame_reduction,
    frames,
    state,
    stream,
)
from benchmarks.measure import Report, machine, publish, session
from benchmarks.section8 import blocks, bounded, execution

ROOT = Path(__file__).resolve().parents[1]
#: What is measured against Spark or with it.
BENCHMARKS: Mapping[str, Callable[[SparkSession, bool], Report]] = {
    "batch_overlap": batch_overlap.run,
    "by_tuple": by_tuple.run,
    "correlated": correlated.run,
    "figure3": figure3.run,
    "fill": fill.run,
    "frames": frames.run,
    "frame_loops": frame_loops.run,
    "frame_keys": frame_keys.run,
    "stream": stream.run,
    "state": state.run,
}
#: What steps the operators without Spark.
WITHOUT_SPARK: Mapping[str, Callable[[bool], Report]] = {
    "section8-execution": execution.run,
    "section8-bounded": bounded.run,
    "section8-blocks": blocks.run,
    "fragments": fragments.run,
    "frame_kernels": frame_kernels.run,
    "frame_overlap": frame_overlap.run,
    "frame_reduction": frame_reduction.run,
}
NAMES = (*WITHOUT_SPARK, *BENCHMARKS)


def main() -> int:
    """Zero when every target was met, or when the sizes were too small to say so."""
    options = parse()
    missed = 0
    for where, report in measured(options.names or NAMES, options.quick):
        print(f"\n{report.markdown()}")
        # Figures of small sizes are for looking at, not for the documentation.
        folder = ROOT / "build" / "bench" if options.quick else ROOT / "docs"
        print(f"\nWritten to {publish(report, where, folder)}", flush=True)
        missed += sum(not target.met for target in report.targets)
    if options.quick:
        print("\nQuick: the sizes are too small to judge the targets.")
        return 0
    return 1 if missed else 0


def measured(names: Sequence[str], quick: bool) -> Iterator[tuple[str, Report]]:
    """Reports and where they were measured; Spark starts only for those that need it."""
    for name in names:
        if name == "frame_reduction" and not frame_reduction.DATA.is_dir():
            print(f"\n{name}: left out, its series are not here")
        elif name in WITHOUT_SPARK:
            print(f"\n{name}", flush=True)
            yield machine(), WITHOUT_SPARK[name](quick)
    if not any(name in BENCHMARKS for name in names):
        return
    with session() as spark:
        where = machine(spark)
        print(where)
        for name in names:
            if name in BENCHMARKS:
                print(f"\n{name}", flush=True)
                yield where, BENCHMARKS[name](spark, quick)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    # argparse holds a default against `choices`, so the names are checked by hand.
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(NAMES)} (all)")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes; leaves the documentation alone"
    )
    options = parser.parse_args()
    found = [matching(given) for given in options.names]
    if unknown := [given for given, names in zip(options.names, found, strict=True) if not names]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    options.names = list(dict.fromkeys(name for names in found for name in names))
    return options


def matching(given: str) -> list[str]:
    """A benchmark by its name, or all of one kind: ``section8`` means ``section8-...``."""
    return [name for name in NAMES if name == given or name.startswith(f"{given}-")]


if __name__ == "__main__":
    sys.exit(main())
