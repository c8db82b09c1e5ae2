#!/usr/bin/env bash
# Fails when a C++ file is not formatted as .clang-format says. Needs clang-format 14, as other versions format otherwise;
# without it nothing is checked, which is said.
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went
cd "$(dirname "$0")/.."

formatter="" others=""
for name in clang-format-14 clang-format; do
  command -v "$name" >/dev/null || continue
  version=$("$name" --version)
  if [[ $version == *"version 14."* ]]; then
    formatter=$name
    break
  fi
  others+="; $name is ${version#*clang-format }"
done
if [ -z "$formatter" ]; then
  echo "check-style: clang-format 14 is not installed, skipped$others" >&2
  exit 0
fi
find apps lib kernels-templates tests \( -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' \) -print0 |
  xargs -0 -r "$formatter" --dry-run --Werror
echo "check-style: every file is formatted" >&2
