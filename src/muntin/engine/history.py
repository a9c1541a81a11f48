"""The history of a stream: its kept rows, and the queries that are on their way through them.

A thread runs new queries over kept rows while the stream goes on. When a query is close, the
commit of a micro-batch lets it see the last rows, writes its seed and the answers of the past, and
the next micro-batch is the first with the query.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from muntin.engine.history_run import HistoryRun
from muntin.engine.kept_rows import KeptRowFiles
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.query_group import Birth
from muntin.spark.exchange.messages import decode, encode
from muntin.spark.exchange.seeds import write_seed
from muntin.spark.exchange.whole_files import written_whole

#: A query is close if this many kept micro-batches are left, which the commit then runs itself.
_CLOSE = 2
#: How long the thread rests after a step, in seconds, so that the stream goes on.
_REST = 0.01


@dataclass
class History:
    """The kept rows of a stream and the runs over them.

    Args:
        rule: The rule of the stream, as JSON.
        kept: Its kept rows.
        folder: The folder of the stream, where seeds are written.
        awake: Lets the stream run a micro-batch even if no row comes.
    """

    rule: str
    kept: KeptRowFiles
    folder: Path
    awake: Callable[[], None]
    shards: int | None = None
    waiting: dict[int, tuple[QueryProgram, int | None, bool]] = field(default_factory=dict)
    runs: dict[int, HistoryRun] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None
    _stopped: bool = False
    _readers: int = 0
    _busy: int | None = None

    def begin(
        self, number: int, program: QueryProgram, cut: int | None, *, silent: bool = False
    ) -> None:
        """Begin to run a query over the kept rows; ``cut`` is the tick at which they begin.

        A ``silent`` one makes no answers of the past.
        """
        with self._lock:
            self.waiting[number] = (program, cut, silent)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let no kept rows be forgotten while a question reads them."""
        with self._lock:
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1

    def forget(self, below: int) -> None:
        """Forget kept rows below a tick, unless somebody reads them now."""
        with self._lock:
            if not self._readers:
                self.kept.forget(below)

    @property
    def filling(self) -> bool:
        """Whether a query is on its way."""
        return bool(self.waiting or self.runs or self.failed)

    def _start_waiting(self) -> None:
        """Begin runs; the first micro-batch that is committed says how many shards there are."""
        if self.shards is None:
            return
        for number, (program, cut, silent) in self.waiting.items():
            rule = from_json(self.rule)
            self.runs[number] = HistoryRun(rule, program, self.kept, self.shards, cut, silent)
        self.waiting = {}

    def finished(self, micro_batch: int) -> list[tuple[int, QueryProgram]]:
        """Let queries that are close see the last rows; return those that begin next.

        Their seeds and the answers of the past are written.
        """
        with self._lock:
            self._start_waiting()
            close = [
                number
                for number, run in self.runs.items()
                if number != self._busy and run.behind(micro_batch) <= _CLOSE + 1
            ]
            begun = []
            for number in close:
                run = self.runs.pop(number)
                try:
                    run.advance(micro_batch)
                except Exception as error:  # whatever a query raises stops that query only
                    self.failed[number] = f"{type(error).__name__}: {error}"
                    continue
                write_seed(self.folder, str(number), run.seed(), run.birth or Birth(None, None))
                if run.answers:
                    with written_whole(_answers_path(self.folder, number)) as unfinished:
                        unfinished.write_bytes(encode(pa.concat_tables(run.answers)))
                begun.append((number, run.begun))
        return begun

    def take_failed(self) -> dict[int, str]:
        """Return the reasons of queries that raised over history, once."""
        with self._lock:
            failed, self.failed = self.failed, {}
        return failed

    def stop(self) -> None:
        """Stop the thread; what it was doing is done again after the next start."""
        self._stopped = True
        thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while not self._stopped:
            with self._lock:
                self._start_waiting()
                runs = dict(self.runs)
                if not runs and not self.waiting:
                    # Under the lock, so that a query that comes now starts another thread.
                    self._thread = None
                    return
            if not runs:
                self.awake()
                time.sleep(_REST * 10)
            newest = max(self.kept.batches(), default=-1)
            for number, run in runs.items():
                self._advance(number, run, newest)
            time.sleep(_REST)

    def _advance(self, number: int, run: HistoryRun, newest: int) -> None:
        with self._lock:
            if number not in self.runs:
                return
            # A commit does not wait for this step: it leaves the run alone.
            self._busy = number
        try:
            if run.behind(newest) > _CLOSE:
                run.advance(newest, 1)
        except Exception as error:
            with self._lock:
                self.failed[number] = f"{type(error).__name__}: {error}"
                del self.runs[number]
        finally:
            self._busy = None
        if number in self.failed or run.behind(newest) <= _CLOSE:
            self.awake()
            time.sleep(_REST * 10)


def past_answers(folder: Path, number: int) -> pa.Table | None:
    """Return the answers of the past of a query that began with a seed; None without any."""
    path = _answers_path(folder, number)
    return decode(path.read_bytes()) if path.exists() else None


def _answers_path(folder: Path, number: int) -> Path:
    path = folder / "seeds" / f"{number}.answers"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
