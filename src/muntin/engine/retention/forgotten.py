"""Up to which micro-batch the answers of each member are forgotten, so that nobody misses them.

It is noted before anything is removed, in a file that is written whole: unlike the index of a
result log it cannot be made again from the answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from muntin.spark.exchange.whole_files import written_whole


class ForgottenAnswers:
    """The last forgotten micro-batch of each member of a result log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        noted = json.loads(path.read_text()) if path.exists() else {}
        self._last = {int(member): int(last) for member, last in noted.items()}

    def of(self, member: int) -> int:
        """Return the last micro-batch that is forgotten of a member; -1 if none is."""
        return self._last.get(member, -1)

    def note(self, last: Mapping[int, int]) -> None:
        """Note up to which micro-batches the answers of members are forgotten from now on."""
        new = {member: number for member, number in last.items() if number > self.of(member)}
        if not new:
            return
        together = {**self._last, **new}
        with written_whole(self._path) as unfinished:
            unfinished.write_text(json.dumps(together))
        self._last = together
