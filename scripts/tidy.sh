#!/usr/bin/env bash
# Runs the short clang-tidy list over the library and the programs, given a configured build folder (default: build-dev)
# whose files are compiled one by one. Not part of the tests: it takes minutes.
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went
cd "$(dirname "$0")/.."

build=${1:-build-dev}
tidy=$(command -v clang-tidy-14 || command -v clang-tidy || true)
if [ -z "$tidy" ]; then
  echo "tidy: clang-tidy is not installed (apt-get install clang-tidy)" >&2
  exit 1
fi
[ -f "$build/compile_commands.json" ] || { echo "tidy: $build is not configured" >&2; exit 1; }
if grep -q "/Unity/unity_" "$build/compile_commands.json"; then
  echo "tidy: $build compiles several files at a time: take build-dev" >&2
  exit 1
fi
find lib apps -name '*.cpp' -print0 | xargs -0 -n 1 -P "$(nproc)" "$tidy" -p "$build" --quiet
