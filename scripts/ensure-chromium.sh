#!/usr/bin/env bash
# Prints the path of a Chromium, in which the page is tested; installs Debian's where it may.
set -euo pipefail

readonly ADVICE="The tests of the page need Chromium: install it (on Debian: apt-get install chromium) or set CHROMIUM to it."

found() {
    local name
    for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
        [ -n "$name" ] && command -v "$name" && return
    done
    return 1
}

fail() {
    echo "$1" >&2
    exit 1
}

if [ -n "${CHROMIUM:-}" ] && ! command -v "$CHROMIUM" >/dev/null; then
    fail "CHROMIUM ($CHROMIUM) is no program: point it to a Chromium, or unset it."
fi

found && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    fail "$ADVICE"
fi

export DEBIAN_FRONTEND=noninteractive
# A stale or partly unreachable index may still offer what we need.
apt-get update -qq >&2 || true
echo "Installing chromium" >&2
# Letters of its own: without a font the page has none.
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >&2 || fail "$ADVICE"
hash -r
found || fail "$ADVICE"
