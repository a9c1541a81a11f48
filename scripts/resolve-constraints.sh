#!/usr/bin/env bash
# Resolves pyproject.toml afresh and writes constraints.txt. Run it with the oldest Python that
# Muntin is to install on (Debian 12 has 3.11.2): packages drop old Pythons, patch releases too,
# and a set resolved by a newer one may not install there.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

bash scripts/ensure-venv.sh "$PYTHON" "$folder/venv"
"$folder/venv/bin/python" -m pip --disable-pip-version-check install -q ".[$EXTRAS]"
{
    echo "# The whole set of packages that Muntin is built and tested with, so that a build"
    echo "# resolves the same next year. Made by \`make constraints\`; do not edit."
    # Only name==version lines: Muntin itself is listed by the path it came from.
    "$folder/venv/bin/python" -m pip freeze | grep -E '^[A-Za-z0-9._-]+==[^ ]+$' | grep -v '^muntin=='
} >"$folder/constraints.txt"
cp "$folder/constraints.txt" constraints.txt
