"""PySpark's daemon with Muntin in its memory, so that workers are forked with it.

A worker collects garbage after every task; what is there before the first is left out of that.
"""

from __future__ import annotations

import gc

from pyspark.daemon import manager

if __name__ == "__main__":
    import muntin
    from muntin.spark.exchange import messages, stream_driver  # noqa: F401

    for name in muntin.__all__:
        getattr(muntin, name)  # which imports what it lives in
    gc.collect()
    gc.freeze()
    manager()
