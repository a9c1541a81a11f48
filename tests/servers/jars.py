"""Jars from Maven Central, fetched by the Ivy that comes with Spark; no Maven is needed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from muntin.spark.connectors.packages import jars_folder

#: Fetching a broker takes half a minute the first time; later it comes from Ivy's cache.
_SECONDS = 240


def fetch(package: str, folder: Path, *, alone: bool = False) -> str | None:
    """Put a package, and what it needs unless ``alone``, into a folder; why not, if it cannot."""
    ivy = next(jars_folder().glob("ivy-*.jar"), None)
    if ivy is None:
        return "this Spark comes without Ivy"
    words = ["java", "-jar", str(ivy), "-dependency", *package.split(":"), "-m2compatible"]
    words += ["-confs", "runtime,master", "-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
    words += ["-notransitive"] if alone else []
    before = len([*folder.glob("*.jar")])
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{package} cannot be fetched: {error}"
    output = done.stdout + done.stderr
    if "UNRESOLVED DEPENDENCIES" in output or len([*folder.glob("*.jar")]) == before:
        return f"{package} is not to be had from Maven Central"
    return None
