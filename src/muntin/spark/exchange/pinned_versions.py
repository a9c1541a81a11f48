"""Versions of a stream's queries in files, and which version each micro-batch runs.

Workers never ask which version is the newest. Whoever commits micro-batch N creates the pin of
N + 1 once, with the number and the digest of a version, and a repeated micro-batch finds the pin
that it had. A version is a file that never changes: what was added and removed since its parent,
or everything there is, so that chains stay short.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyspark import TaskContext

from muntin.errors import MuntinError
from muntin.spark.exchange.whole_files import create_whole

#: Every so many versions one has everything there is.
SNAPSHOT_EVERY = 64
#: How long a task waits for the pin of its micro-batch.
WAIT_SECONDS = 30.0
#: How many versions a worker keeps: those of the last micro-batches of some streams.
_KEPT = 8
#: The property that tells a task its micro-batch.
_BATCH = "streaming.sql.batchId"


@dataclass(frozen=True)
class Pin:
    """The version that a micro-batch runs: its number, and the digest of its file."""

    version: int
    digest: str


@dataclass(frozen=True)
class VersionFiles:
    """The versions and pins of a stream, below a folder that all workers can read.

    Every ``epoch`` has pins of its own, because its micro-batches are numbered from 0 again.
    """

    folder: str
    epoch: int = 1

    def write(
        self,
        version: int,
        parent: Pin | None,
        added: Mapping[int, str],
        removed: Sequence[int] = (),
        overload: str | None = None,
    ) -> Pin:
        """Write a version: the programs of members that are new or changed, and who is gone.

        ``overload`` is what members may spend, as JSON: all of it, not only what changed.
        """
        if parent is not None and version % SNAPSHOT_EVERY == 0:
            programs = {**programs_of(self.folder, parent), **added}
            added = {member: text for member, text in programs.items() if member not in removed}
            parent, removed = None, ()
        content: dict[str, object] = {
            "version": version,
            "parent": None if parent is None else [parent.version, parent.digest],
            "added": {str(member): text for member, text in added.items()},
            "removed": list(removed),
        }
        if overload is not None:
            content["overload"] = overload
        text = json.dumps(content, separators=(",", ":")).encode()
        pin = Pin(version, hashlib.sha256(text).hexdigest()[:32])
        create_whole(_version_path(self.folder, pin), text)
        return pin

    def pin(self, batch: int, pin: Pin) -> Pin:
        """Pin a micro-batch to a version; if it is pinned already, that pin stays."""
        text = json.dumps([pin.version, pin.digest]).encode()
        create_whole(self._pin_path(batch), text)
        found = self.pinned(batch)
        assert found is not None  # it was just created, if it was not there
        return found

    def pinned(self, batch: int) -> Pin | None:
        """Return the pin of a micro-batch; None if it has none."""
        try:
            version, digest = json.loads(self._pin_path(batch).read_bytes())
        except FileNotFoundError:
            return None
        return Pin(version, digest)

    def last_pinned(self) -> int | None:
        """Return the last micro-batch that is pinned."""
        return max(self._pins(), default=None)

    def awaited(self, batch: int) -> Pin:
        """Return the pin of a micro-batch, in a task of it; raise if it does not come."""
        until = time.monotonic() + WAIT_SECONDS
        while (pin := self.pinned(batch)) is None:
            if time.monotonic() > until:
                raise MuntinError(
                    f"micro-batch {batch} has no pinned version in {self.folder}; workers must be "
                    "able to read the engine's home, as they read the checkpoint"
                )
            time.sleep(0.01)
        return pin

    def forget_before(self, batch: int) -> None:
        """Remove the pins of old micro-batches, and versions that nobody needs any more."""
        pins = self._pins()
        for number, path in pins.items():
            if number < batch:
                path.unlink(missing_ok=True)
        # Versions only rise, so the first micro-batch that is kept needs the oldest of them.
        first_kept = min((number for number in pins if number >= batch), default=None)
        oldest = None if first_kept is None else self.pinned(first_kept)
        needed = 0 if oldest is None else oldest.version
        # The chain of a needed version reaches back to the last one that has everything.
        first = needed // SNAPSHOT_EVERY * SNAPSHOT_EVERY
        for path in (Path(self.folder) / "versions").glob("*.json"):
            if int(path.name.partition("-")[0]) < first:
                path.unlink(missing_ok=True)

    def _pins(self) -> dict[int, Path]:
        """Return the pins that are there, by micro-batch."""
        paths = self._pin_path(0).parent.glob("*")
        return {int(path.name): path for path in paths if path.name.isdigit()}

    def _pin_path(self, batch: int) -> Path:
        return Path(self.folder) / f"pins-{self.epoch}" / str(batch)


def batch_here() -> int:
    """Return the micro-batch that a task belongs to."""
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty(_BATCH)
    if number is None:
        raise MuntinError("this task belongs to no micro-batch, so it has no version of queries")
    return int(number)


@lru_cache(maxsize=_KEPT)
def programs_of(folder: str, pin: Pin) -> Mapping[int, str]:
    """Return the programs of all members of a version."""
    content = _content(folder, pin)
    parent = content["parent"]
    before = {} if parent is None else dict(programs_of(folder, Pin(*parent)))
    for member in content["removed"]:
        before.pop(member, None)
    return {**before, **{int(member): text for member, text in content["added"].items()}}


@lru_cache(maxsize=_KEPT)
def overload_of(folder: str, pin: Pin) -> str | None:
    """Return what the members of a version may spend, as JSON; None if nothing is limited."""
    text: str | None = _content(folder, pin).get("overload")
    return text


def _content(folder: str, pin: Pin) -> dict[str, Any]:
    """Return what the file of a version has."""
    path = _version_path(folder, pin)
    text = path.read_bytes()
    if hashlib.sha256(text).hexdigest()[:32] != pin.digest:
        raise MuntinError(f"{path} was changed after it was written; versions never change")
    content: dict[str, Any] = json.loads(text)
    return content


def _version_path(folder: str, pin: Pin) -> Path:
    return Path(folder) / "versions" / f"{pin.version:08d}-{pin.digest}.json"
