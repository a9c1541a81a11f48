#!/usr/bin/env bash
# Makes a virtual environment: ensure-venv.sh PYTHON FOLDER. Leaves a working one as it is.
set -euo pipefail

readonly PYTHON=$1 VENV=$2

fail() {
    echo "$1" >&2
    exit 1
}

"$VENV/bin/python" -m pip --version >/dev/null 2>&1 && exit 0

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "Muntin needs Python 3.11 or newer: install it, or name it with make PYTHON=python3.11."

# Debian ships the venv module without ensurepip, which it needs, so both are asked for.
can_make() {
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null
}

readonly ADVICE="Python's venv module is missing: install it (on Debian: apt-get install python3-venv)."

if ! can_make; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        fail "$ADVICE"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 || true
    apt-get install -y -qq --no-install-recommends python3-venv >&2 || fail "$ADVICE"
    can_make || fail "$ADVICE"
fi

"$PYTHON" -m venv "$VENV"
