#!/usr/bin/env bash
# Configures and builds a preset (default: release), in build-PRESET; or "programs", in build: all but waco-train and the tests,
# which needs fewer libraries, without -Werror and several files at a time, unless that folder is configured otherwise already. Further arguments are the
# targets to build. Quiet unless it fails; JOBS sets the number of compilers that run at once.
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
if [ "$preset" = programs ]; then
  folder=build
  options=(-S . -B build)
  # A folder whose configuring failed holds a cache, but nothing to build with.
  [ -e build/Makefile ] || [ -e build/build.ninja ] || options+=(-DWACO_TESTS=OFF -DWACO_TRAIN=OFF -DCMAKE_UNITY_BUILD=ON)
else
  folder=build-$preset
  options=(--preset "$preset")
fi
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
echo "build: configuring $folder" >&2
run cmake "${options[@]}"
echo "build: compiling with $jobs jobs" >&2
run cmake --build "$folder" --parallel "$jobs" ${@:+--target "$@"}
