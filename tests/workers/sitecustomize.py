"""Read by every Python process of the tests' Spark as it starts.

Spark puts PySpark, as a zip of sources, before the one that is installed: every process would
compile it anew, and every task would read the zip's directory again.
"""

from __future__ import annotations

import sys

for _path in [path for path in sys.path if path.endswith(("/pyspark.zip", "-src.zip"))]:
    sys.path.remove(_path)
    sys.path_importer_cache.pop(_path, None)
