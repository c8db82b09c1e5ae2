#!/usr/bin/env bash
# Installs a build, moves the prefix elsewhere, builds a consumer against it and runs consumer and programs, which the installed
# scripts find and which find their models and their worker.
# run.sh BUILD_FOLDER CMAKE
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went
source_dir=$(cd "$(dirname "$0")" && pwd)
build=$1
cmake=$2

work=$(cd "$(mktemp -d)" && pwd -P)  # as programs tell where they are
# The list of what was installed stays that of the user's own prefix.
manifest=$build/install_manifest.txt
if [ -e "$manifest" ]; then cp -p "$manifest" "$work/manifest"; fi
finish() {
  if [ -e "$work/manifest" ]; then cp -p "$work/manifest" "$manifest"; else rm -f "$manifest"; fi
  rm -rf "$work"
}
trap finish EXIT
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"

package=$(find "$work/moved" -name wacoTargets.cmake -printf '%h\n')
[ -d "$package" ] || { echo "no wacoTargets.cmake was installed, or several: $package" >&2; exit 1; }
if grep -rIl -e "$work/first" -e "$build" "$package" >&2; then
  echo "the package files above hold absolute paths" >&2
  exit 1
fi
# Elsewhere than the installed programs, so that it has to be told where they are.
"$cmake" -S "$source_dir/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Debug \
  ${CXXFLAGS_FOR_CONSUMER:+-DCMAKE_CXX_FLAGS="$CXXFLAGS_FOR_CONSUMER"} >"$work/configure.log"
"$cmake" --build "$work/consumer" >"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
env -u WACO_BIN XDG_CACHE_HOME="$work/cache" "$work/consumer/consumer" >"$work/said" && code=0 || code=$?
[ "$code" -eq 5 ] || { echo "a consumer that finds no worker ended with $code:" && cat "$work/said"; exit 1; } >&2
grep -q "waco-worker is missing, .* by WACO_BIN" "$work/said"
XDG_CACHE_HOME="$work/cache" WACO_BIN="$work/moved/bin" "$work/consumer/consumer"
"$work/moved/bin/waco-tune" --version
"$work/moved/bin/waco-bench" --list-peers
"$work/moved/bin/waco-codegen" --schedule "spmv f32 | A: i:U k:C | loop: i k | par: serial" -o "$work/kernel.cpp" --quiet
test -s "$work/kernel.cpp"
# With its own models and worker, and nothing of the user's.
env -u WACO_BIN XDG_CACHE_HOME="$work/cache" XDG_DATA_HOME="$work/data" "$work/moved/bin/waco-tune" --op spmv --effort quick --json \
  --quiet "$source_dir/../../data/samples/mesh_3dof.mtx.gz" >"$work/plan.json"
jq -e --arg models "$work/moved/" '.best.verified and (.model | startswith($models))' "$work/plan.json" >/dev/null ||
  { jq '{model, cost_model, best}' "$work/plan.json" >&2; exit 1; }

# Completion of what --help lists: complete WORD... prints it, one a line.
complete_words() (
  # shellcheck source=apps/completion.bash
  . "$work/moved/share/bash-completion/completions/$1"
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _waco "$work/moved/bin/$1" "${@: -1}" "${@: -2:1}"
  printf '%s\n' "${COMPREPLY[@]}"
)
expect_words() {
  local wanted=$1 words
  shift
  words=$(complete_words "$@" | xargs)
  [ "$words" = "$wanted" ] || { echo "completion of '$*' is '$words', not '$wanted'" >&2; exit 1; }
}
expect_words "none quick normal full" waco-tune my.mtx --effort ""
expect_words "spmv spmm" waco-bench --op sp
expect_words "--emit" waco-tune --em
expect_words "merge" waco-collect mer
expect_words "--help --html" waco-bench report --h
expect_words "" waco-tune -o ""  # the shell names files

scripts=$work/moved/share/waco/scripts
test -x "$scripts/slurm/submit.sh" -a -x "$scripts/slurm/task.sbatch" -a -x "$scripts/suitesparse/download.sh"
# shellcheck source=scripts/built-program.sh
. "$scripts/built-program.sh"
test "$(WACO_BIN='' program_path waco-collect)" -ef "$work/moved/bin/waco-collect"
mkdir "$work/bin" "$work/job"
printf '#!/bin/sh\necho "$@" >"%s"\n' "$work/submitted" >"$work/bin/sbatch"
chmod +x "$work/bin/sbatch"
env -u WACO_BIN PATH="$work/bin:$PATH" "$scripts/slurm/submit.sh" "$work/job" -- waco-collect --synthetic 2 --op spmv
grep -q " $work/moved/bin/waco-collect\$" "$work/submitted"
