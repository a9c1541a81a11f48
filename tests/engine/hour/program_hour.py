"""An engine that takes in the files of a script and its commands, and goes on after it was killed.

Arguments: a folder, the script as JSON, and the master of Spark. Into the folder it writes ``step``
after each step, ``memory`` with a line for each step (process, step, kilobytes), ``refused`` with
the commands that were refused, and ``left``, when every query is dropped, with the state.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import muntin as mt
from muntin.errors import MuntinError
from tests.engine.hour.script import Asked, Script
from tests.engine.pool import COLUMNS
from tests.sessions import configured, warm

#: After so many steps the program waits until all is committed, so that no step waits long.
TOGETHER = 4
#: The query that has all rows.
ALL = "SELECT * FROM s"


def desk(spark: SparkSession, root: Path) -> mt.Engine:
    """Return the engine with its stream."""
    engine = mt.Engine(spark, root / "home")
    (root / "rows").mkdir(exist_ok=True)
    rows = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    engine.stream(
        *("s", rows.parquet(str(root / "rows")), "ts", "station"),
        mt.slack("4 seconds"),
        keep="2 hours",
    )
    return engine


def give(engine: mt.Engine, asked: Asked) -> None:
    """Give a command to an engine."""
    match asked.kind:
        case "now":
            engine.register(asked.name, asked.text)
        case "history":
            engine.register(asked.name, asked.text, start="history")
        case "value":
            engine.register(asked.name, asked.text, start=str(asked.at))
        case "until":
            engine.register(asked.name, asked.text, until=asked.at)
        case "preview":
            engine.preview(asked.text, ttl="15 seconds")
        case "change" | "stage":
            getattr(engine[asked.name], asked.kind)(asked.text)
        case _:
            getattr(engine[asked.name], asked.kind)()


def state_rows(engine: mt.Engine) -> int:
    """Return how many rows of state the stream has."""
    query = engine.stream_of("s").query
    assert query is not None and query.lastProgress is not None
    return sum(operator.numRowsTotal for operator in query.lastProgress.stateOperators)


def run(spark: SparkSession, root: Path, script: Script) -> None:
    """Run what is left of a script, to its end."""
    step_file = root / "step"
    begun = int(step_file.read_text()) if step_file.exists() else 0
    with desk(spark, root) as engine:
        if "all" not in engine:
            engine.register("all", ALL)
        engine.start()
        for step in range(begun, script.steps):
            script.write(root / "rows", step)
            for asked in script.commands[step]:
                try:
                    give(engine, asked)
                except MuntinError as refused:
                    with (root / "refused").open("a") as file:
                        file.write(f"{asked.kind} {asked.name}: {refused}\n")
            hidden = root / ".step"
            hidden.write_text(str(step + 1))
            hidden.replace(step_file)
            if step % TOGETHER == TOGETHER - 1:
                engine.process_available()
            with (root / "memory").open("a") as file:
                file.write(f"{os.getpid()} {step} {kilobytes()}\n")
        engine.process_available()
        engine.end("s")
        engine.process_available()
        for record in engine.queries():
            engine[record.id].drop()
        engine.process_available()
        engine.stream_of("s").awake()
        engine.process_available()
        (root / "left").write_text(json.dumps(state_rows(engine)))


def kilobytes() -> int:
    """Return the memory of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


if __name__ == "__main__":
    session = warm(configured(SparkSession.builder.master(sys.argv[3]))).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    run(session, Path(sys.argv[1]), Script(**json.loads(sys.argv[2])))
