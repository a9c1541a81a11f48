"""A broker of Kafka on this machine: its own controller, on loopback, in a temporary folder."""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers.jars import fetch
from tests.servers.processes import free_port, listens, started, stop, wait_for

_PACKAGE = "org.apache.kafka:kafka_2.13:4.3.1"
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
num.partitions=2
auto.create.topics.enable=true
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""
_MEMORY = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """A running broker; its address. Skips where it cannot be had."""
    jars = folder / "jars"
    why = fetch(_PACKAGE, jars)
    if why is not None:
        pytest.skip(why)
    java = ["java", *_MEMORY, "-cp", f"{jars}/*"]
    port = free_port()
    properties = folder / "server.properties"
    text = _PROPERTIES.format(port=port, controller=free_port(), logs=folder / "logs")
    properties.write_text(text)
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    words = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)]
    subprocess.run([*java, *words], check=True, capture_output=True, timeout=60)
    process = started([*java, "kafka.Kafka", str(properties)], folder / "broker.log")
    try:
        if not wait_for(lambda: listens(port), process, 60):
            log = (folder / "broker.log").read_text()[-2000:]
            pytest.fail(f"the broker did not start: {log}")
        yield f"127.0.0.1:{port}"
    finally:
        stop(process)
