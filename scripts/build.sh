#!/usr/bin/env bash
# Configures and builds a preset (default: release); further arguments are the targets to build. Quiet unless it
# fails; JOBS sets the number of compilers that run at once.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
jobs=${JOBS:-$(nproc)}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

run() {
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "build: failed: $*" >&2
    exit 1
  fi
}
echo "build: configuring preset $preset" >&2
run cmake --preset "$preset"
echo "build: compiling with $jobs jobs" >&2
run cmake --build "build-$preset" --parallel "$jobs" ${@:+--target "$@"}
