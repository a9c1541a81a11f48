"""PySpark's daemon with Muntin imported, so that workers on this machine are forked with it.

Spark puts a zip of PySpark's sources before the installed PySpark, and every process would compile
it again. What the first rows would wait for is imported once, before the first worker.
"""

from __future__ import annotations

import gc
import sys


def _use_installed() -> None:
    """Let the installed PySpark be imported, which is compiled and of the same version."""
    for path in [path for path in sys.path if path.endswith(("/pyspark.zip", "-src.zip"))]:
        sys.path.remove(path)
        sys.path_importer_cache.pop(path, None)


if __name__ == "__main__":
    _use_installed()
    from pyspark.daemon import manager

    import muntin.operators.windows.operator
    import muntin.spark.exchange.batch_driver
    import muntin.spark.exchange.stream_driver  # noqa: F401

    # A worker collects garbage after every task, but not what is there by now.
    gc.collect()
    gc.freeze()
    manager()
