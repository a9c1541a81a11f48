"""Runs commands of ``muntin`` one after the other on one Spark, because starting Spark takes long.

Each line of standard input is a command as JSON. Each line of standard output is the exit code of a
command and what it printed. The arguments of this program are the options for starting Spark.
"""

from __future__ import annotations

import json
import sys

import click
from click.testing import CliRunner

from muntin.cli.main import main
from muntin.cli.options import SparkOptions, spark_options
from muntin.cli.progress import CommandProgress
from muntin.cli.spark_session import session


@click.command()
@spark_options
def calls(spark_options: SparkOptions) -> None:
    with session(spark_options, CommandProgress(quiet=True), ["kafka"]):
        for line in sys.stdin:
            done = CliRunner().invoke(main, json.loads(line))
            print(json.dumps([done.exit_code, done.stdout, done.stderr]), flush=True)


if __name__ == "__main__":
    calls()
