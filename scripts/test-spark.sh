#!/usr/bin/env bash
# Runs the core of the tests on another version of Spark, in a virtual environment of its own:
# test-spark.sh PYTHON SERIES [ARGUMENTS OF PYTEST].
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly PYTHON=$1 SERIES=$2
shift 2

# The newest of each series when it was last looked at, so that a build resolves the same later.
case "$SERIES" in
    4.1) VERSION=4.1.4 ;;
    4.2) VERSION=4.2.1 ;;
    *)
        echo "SPARK is 4.1 or 4.2; make test runs on the version of constraints.txt" >&2
        exit 2
        ;;
esac
readonly VERSION VENV=.venv-spark-$SERIES
readonly STAMP=$VENV/.installed-$VERSION BIN=$VENV/bin
# What every user of Muntin meets: windows, frames, fills and joins on each driver, PySpark's columns
# and aggregates, SQL, an engine.
readonly CORE=(
    tests/drivers/test_drivers.py
    tests/users/test_stream_columns.py
    tests/frames/test_frames.py
    tests/aggregates/test_pyspark_aggregates.py
    tests/session/test_select.py
    tests/engine/test_engine.py::test_queries_come_change_and_go_while_the_stream_runs
)

if [ ! -e "$STAMP" ] || [ pyproject.toml -nt "$STAMP" ] || [ constraints.txt -nt "$STAMP" ]; then
    bash scripts/ensure-venv.sh "$PYTHON" "$VENV"
    grep -v -E '^(pyspark|py4j)==' constraints.txt >"$VENV/constraints.txt"
    pip() { "$BIN/python" -m pip --disable-pip-version-check install -q -c "$VENV/constraints.txt" "$@"; }
    # Old packages of PySpark need wheel beside setuptools to be built.
    pip hatchling editables setuptools wheel
    pip --no-build-isolation "pyspark==$VERSION" -e '.[connect,plot]' \
        pytest pytest-timeout pytest-xdist hypothesis duckdb ipython
    touch "$STAMP"
fi
exec "$BIN/pytest" -n 2 --dist loadfile -p no:cacheprovider "$@" "${CORE[@]}"
