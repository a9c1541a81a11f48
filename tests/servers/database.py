"""A PostgreSQL on this machine: loopback only, in a temporary folder, never as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers.processes import free_port

_USER, _PASSWORD = "muntin", "not a secret"


@dataclass(frozen=True)
class Database:
    """Where it is, and how to ask it."""

    port: int
    psql: str
    url: str = ""
    user: str = _USER
    password: str = _PASSWORD

    def ask(self, statement: str) -> list[str]:
        """The lines that psql answers."""
        place = ["-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, "-d", "postgres"]
        words = [self.psql, *place, "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement]
        env = {**os.environ, "PGPASSWORD": self.password}
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


def _programs() -> Path | None:
    """The folder with PostgreSQL's programs: on the path, or where Debian puts them."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@contextmanager
def database() -> Iterator[Database]:
    """A running database. Skips where PostgreSQL is not installed."""
    programs, psql = _programs(), shutil.which("psql")
    if programs is None or psql is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="muntin-postgres-"))
    try:
        yield from _running(folder, programs, psql)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _running(folder: Path, programs: Path, psql: str) -> Iterator[Database]:
    as_other = _other_user()
    secret = folder / "password"
    secret.write_text(_PASSWORD)
    if as_other:
        subprocess.run(["chown", "-R", "postgres", str(folder)], check=True)
    data, port = folder / "data", free_port()

    def run(program: str, *words: str) -> None:
        full = [*as_other, str(programs / program), *words]
        done = subprocess.run(full, capture_output=True, text=True, timeout=120, cwd="/")
        assert done.returncode == 0, done.stdout + done.stderr

    run("initdb", "-D", str(data), "-U", _USER, "-A", "scram-sha-256", f"--pwfile={secret}")
    settings = (
        f"-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories={folder} -c fsync=off"
    )
    run(
        "pg_ctl",
        "-D",
        str(data),
        "-l",
        str(folder / "log"),
        "-o",
        settings,
        "-w",
        "-t",
        "60",
        "start",
    )
    try:
        yield Database(port, psql, f"postgresql://127.0.0.1:{port}/postgres")
    finally:
        run("pg_ctl", "-D", str(data), "-m", "fast", "-w", "-t", "60", "stop")


def _other_user() -> Sequence[str]:
    """PostgreSQL refuses to run as root; Debian's package made a user for it."""
    if os.getuid() != 0:
        return ()
    ids = [f"--reuid={_id('-u')}", f"--regid={_id('-g')}", "--clear-groups"]
    return ("setpriv", *ids)


def _id(which: str) -> str:
    done = subprocess.run(["id", which, "postgres"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip("there is no user postgres, and PostgreSQL does not run as root")
    return done.stdout.strip()
