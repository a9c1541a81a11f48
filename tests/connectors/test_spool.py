"""Lines from a pipe become files, without Spark."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from muntin.errors import SpoolError
from muntin.spark.connectors.sources import spool
from muntin.spark.connectors.sources.spool import Spool


def lines(folder: Path) -> list[str]:
    visible = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return [line for path in visible for line in path.read_text().splitlines()]


def until(condition: object, seconds: float = 10) -> None:
    assert callable(condition)
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


def test_whole_lines_come_into_sight_while_the_input_is_open(tmp_path: Path) -> None:
    out, into = os.pipe()
    spooled = Spool(tmp_path, lambda size: os.read(out, size))
    spooled.start()
    os.write(into, b"a\nb\nhal")
    until(lambda: lines(tmp_path) == ["a", "b"])
    assert not spooled.is_over()
    os.write(into, b"f\n")
    until(lambda: lines(tmp_path) == ["a", "b", "half"])
    os.close(into)
    until(spooled.is_over)
    os.close(out)


def test_a_last_line_without_an_end(tmp_path: Path) -> None:
    chunks = iter([b"a\nb", b"c"])
    Spool(tmp_path, lambda _: next(chunks, b"")).run()
    assert lines(tmp_path) == ["a", "bc"]


def test_nothing_comes(tmp_path: Path) -> None:
    spooled = Spool(tmp_path / "new", lambda _: b"")
    spooled.run()
    assert spooled.is_over()
    assert lines(tmp_path / "new") == []


def test_an_input_that_breaks_has_ended(tmp_path: Path) -> None:
    chunks = iter([b"a\n"])

    def read(size: int) -> bytes:
        for chunk in chunks:
            return chunk
        raise OSError("the other side is gone")

    spooled = Spool(tmp_path, read)
    spooled.run()
    assert spooled.is_over()
    assert lines(tmp_path) == ["a"]


def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_BYTES", 100)
    chunks = iter([f"{n:09d}\n".encode() for n in range(50)])
    Spool(tmp_path, lambda _: next(chunks, b"")).run()
    assert [int(line) for line in lines(tmp_path)] == list(range(50))
    assert len([*tmp_path.iterdir()]) == 5


def test_no_file_is_ever_half_written(tmp_path: Path) -> None:
    """Whoever looks sees only files that end with a line's end."""
    stop, seen = threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            for path in tmp_path.glob("[!.]*"):
                seen.append(path.read_bytes().endswith(b"\n"))

    watcher = threading.Thread(target=look)
    watcher.start()
    chunks = iter([b"x" * 70 + b"\n" for _ in range(2000)])
    Spool(tmp_path, lambda _: next(chunks, b"")).run()
    stop.set()
    watcher.join()
    assert all(seen)


def test_a_write_that_fails_for_a_moment_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MOST_BYTES", 8)
    folder, away = tmp_path / "spool", tmp_path / "away"
    out, into = os.pipe()
    spooled = Spool(folder, lambda size: os.read(out, size))
    spooled.start()
    os.write(into, b"a\nb\n")
    until(lambda: lines(folder) == ["a", "b"])
    folder.rename(away)  # every write fails now
    os.write(into, b"c\nd\ne\nf\ng\n")
    time.sleep(3 * spool.PAUSE)
    assert not spooled.is_over()
    away.rename(folder)
    os.write(into, b"h\n")
    os.close(into)
    until(spooled.is_over)
    os.close(out)
    assert lines(folder) == list("abcdefgh")


def test_lines_that_cannot_be_kept_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the first error was taken for the end of the input, and nothing was said."""
    monkeypatch.setattr(spool, "PATIENCE", 0.5)
    folder = tmp_path / "spool"
    out, into = os.pipe()
    spooled = Spool(folder, lambda size: os.read(out, size))
    spooled.start()
    folder.rmdir()
    os.write(into, b"a\nb\nc\nhalf")

    def is_known() -> bool:
        try:
            return spooled.is_over()
        except SpoolError:
            return True

    until(is_known)
    with pytest.raises(SpoolError, match="4 lines read from spool could not be kept on disk: No"):
        spooled.is_over()
    os.close(into)
    os.close(out)


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_LINE", 2**18)
    chunks = iter([b"a\n", *[b"x" * 2**16] * 8])
    spooled = Spool(tmp_path, lambda _: next(chunks, b""))
    with pytest.raises(SpoolError, match=r"1 line read from .* it has over 262,144 bytes"):
        spooled.run()
    assert next(chunks, None) is not None  # it is refused before all of it is in memory
