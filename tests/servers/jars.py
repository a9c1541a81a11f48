"""Jars from Maven Central, fetched by the Ivy that comes with Spark; no Maven is needed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from muntin.spark.packages import jars_folder

#: Fetching a broker takes half a minute the first time; later it comes from Ivy's cache.
_SECONDS = 240


def fetch(package: str, folder: Path) -> str | None:
    """Put a package and what it needs into a folder; why not, if it cannot be had."""
    ivy = next(jars_folder().glob("ivy-*.jar"), None)
    if ivy is None:
        return "this Spark comes without Ivy"
    words = ["java", "-jar", str(ivy), "-dependency", *package.split(":"), "-m2compatible"]
    words += ["-confs", "runtime,master", "-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{package} cannot be fetched: {error}"
    if "UNRESOLVED DEPENDENCIES" in done.stdout + done.stderr or not [*folder.glob("*.jar")]:
        return f"{package} is not to be had from Maven Central"
    return None
