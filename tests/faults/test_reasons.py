"""What a failed query says first: the reason outside of it, if there is one."""

from __future__ import annotations

import pytest

from muntin.spark.queries.stop import reason

#: What Spark says of a failed micro-batch, around the stack of the cause.
STACK = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to \
stage failure: Task 0 in stage 7.0 failed 1 times, most recent failure: {first}
\tat org.apache.spark.sql.execution.datasources.FileFormatWriter$.executeTask(Writer.scala:420)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: {cause}
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 17 more
SQLSTATE: XXKST"""


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        ("java.io.IOException: No space left on device", "the disk is full: No space left on"),
        (
            "org.apache.hadoop.fs.FSError: java.io.IOException: Disk quota exceeded",
            "the disk is full: Disk quota exceeded",
        ),
        ("java.io.IOException: File too large", "a file has reached the largest size allowed: F"),
        (
            "java.io.FileNotFoundException: /out/part-0.parquet (Permission denied)",
            "the permission is missing: /out/part-0.parquet (Permission denied)",
        ),
        (
            "java.net.ConnectException: Connection refused",
            "the network failed: Connection refused",
        ),
        ("java.net.UnknownHostException: kafka.example", "the network failed: kafka.example"),
    ],
)
def test_the_cause_of_a_stack_comes_first(cause: str, expected: str) -> None:
    kind, message = reason(STACK.format(first=f"Lost task 0.0: {cause}", cause=cause))
    assert kind == ""
    assert message.startswith(expected)


def test_a_python_traceback_with_a_full_disk() -> None:
    text = (
        "[STREAM_FAILED] ...\nTraceback (most recent call last):\n  File a.py, line 3\n"
        "OSError: [Errno 28] No space left on device: '/out/x'\n\tat org.apache.spark.X"
    )
    said = "the disk is full: [Errno 28] No space left on device: '/out/x'"
    assert reason(text) == ("OSError", said)


def test_an_error_of_muntin_and_a_value_that_overflows_stay_as_they_are() -> None:
    muntin = "muntin.errors.CheckpointError: another query: Connection refused there"
    assert reason(f"[X] y\n{muntin}\n\tat z") == (
        "CheckpointError",
        "another query: Connection refused there",
    )
    overflow = "[CAST_OVERFLOW] The value 300 of the type INT cannot be cast to TINYINT"
    text = STACK.format(
        first=overflow, cause=f"org.apache.spark.SparkArithmeticException: {overflow}"
    )
    assert reason(text)[1].endswith("cast to TINYINT")
    assert "300" in reason(text)[1]
