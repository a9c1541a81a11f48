#!/usr/bin/env bash
# Succeeds when Spark will find a Java it can run on; installs one where it may.
set -euo pipefail

readonly NEEDED=17

# The major version of a java executable, or 0. Java 8 and older call themselves "1.x".
major() {
    local found
    found=$("$1" -version 2>&1 | sed -nE '/ version "/{s/.* version "([0-9]+).*/\1/p;q;}') || true
    echo "${found:-0}"
}

fail() {
    echo "$1" >&2
    exit 1
}

on_path() {
    local java
    java=$(command -v java) && [ "$(major "$java")" -ge "$NEEDED" ]
}

# The newest headless JRE on offer, or nothing.
offered() {
    local package candidate
    for package in openjdk-21-jre-headless openjdk-17-jre-headless default-jre-headless; do
        candidate=$(apt-cache policy "$package" 2>/dev/null | sed -nE 's/^ *Candidate: (.*)/\1/p')
        if [ -z "$candidate" ] || [ "$candidate" = "(none)" ]; then
            continue
        fi
        # 17.0.15+6-1 of openjdk-17, and 2:1.17-74 of the default, are both Java 17.
        candidate=$(sed -E 's/^[0-9]+://; s/^1\.//; s/[^0-9].*//' <<<"$candidate")
        if [ "${candidate:-0}" -ge "$NEEDED" ]; then
            echo "$package"
            return
        fi
    done
}

# Spark takes JAVA_HOME before PATH, also when it is wrong, so another Java would not help.
if [ -n "${JAVA_HOME:-}" ]; then
    [ "$(major "$JAVA_HOME/bin/java")" -ge "$NEEDED" ] && exit 0
    fail "JAVA_HOME ($JAVA_HOME) holds no Java $NEEDED or newer: point it to one, or unset it."
fi

on_path && exit 0

readonly ADVICE="Muntin needs Java $NEEDED or newer: install it (on Debian: apt-get install default-jre-headless) or set JAVA_HOME to it."

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    fail "$ADVICE"
fi

export DEBIAN_FRONTEND=noninteractive
# A stale or partly unreachable index may still offer what we need.
apt-get update -qq >&2 || true
package=$(offered)
[ -n "$package" ] || fail "$ADVICE"
echo "Installing $package" >&2
apt-get install -y -qq --no-install-recommends "$package" >&2 || fail "$ADVICE"

hash -r
on_path || fail "$ADVICE"
