#!/usr/bin/env bash
# Fails when a C++ file is not formatted as .clang-format says; skipped, and said so, without clang-format.
set -euo pipefail
cd "$(dirname "$0")/.."

formatter=$(command -v clang-format || command -v clang-format-14 || true)
if [ -z "$formatter" ]; then
  echo "check-style: clang-format is not installed, skipped" >&2
  exit 0
fi
find apps lib kernels-templates tests \( -name '*.cpp' -o -name '*.hpp' \) -print0 |
  xargs -0 -r "$formatter" --dry-run --Werror
echo "check-style: every file is formatted" >&2
