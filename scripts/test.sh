#!/usr/bin/env bash
# Installs what the tests need, builds and runs them all; the last line counts what passed and failed.
# scripts/test.sh [PRESET]: release (default), dev or asan.
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went
cd "$(dirname "$0")/.."

preset=${1:-release}
scripts/install-dependencies.sh
scripts/check-style.sh
scripts/build.sh "$preset"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
# The counts are read, which colours would hide.
CLICOLOR_FORCE=0 ctest --preset "$preset" --no-tests=error | tee "$log" || status=$?
total=$(sed -n 's/.*tests failed out of \([0-9]*\)$/\1/p' "$log" | tail -n 1)
failed=$(sed -n 's/.*, \([0-9]*\) tests failed out of .*/\1/p' "$log" | tail -n 1)
echo "$((${total:-0} - ${failed:-0})) passed, ${failed:-0} failed"
exit "$status"
