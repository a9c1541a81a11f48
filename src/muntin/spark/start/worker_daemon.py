"""PySpark's daemon with Muntin in its memory, so that workers on this machine are forked with it.

Spark puts PySpark, as a zip of sources, before the one that is installed: every process would
compile it anew. And what the first rows would wait for is imported once, before the first worker.
"""

from __future__ import annotations

import gc
import sys


def _use_installed() -> None:
    """Import the PySpark that is installed, which is compiled; it is the same version."""
    for path in [path for path in sys.path if path.endswith(("/pyspark.zip", "-src.zip"))]:
        sys.path.remove(path)
        sys.path_importer_cache.pop(path, None)


if __name__ == "__main__":
    _use_installed()
    from pyspark.daemon import manager

    import muntin.operators.windows.operator
    import muntin.spark.exchange.batch_driver
    import muntin.spark.exchange.stream_driver  # noqa: F401

    # A worker collects garbage after every task; what is there by now is left out of that.
    gc.collect()
    gc.freeze()
    manager()
