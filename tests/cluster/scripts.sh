#!/usr/bin/env bash
# What scripts/slurm/ refuse, freeze and name, with stand-ins for Slurm and for the programs; run.sh has the real ones.
#
#   tests/cluster/scripts.sh SOURCE_FOLDER
set -euo pipefail

slurm=$(cd "$1" && pwd)/scripts/slurm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin
for program in sbatch waco-collect waco-tune; do
  printf '#!/bin/sh\nexit 0\n' >"bin/$program"
  chmod +x "bin/$program"
done
export PATH=$work/bin:$PATH WACO_BIN=$work/bin

# expect CODE TEXT COMMAND...: the command ends with this code, and stderr holds the text.
expect() {
  local wanted=$1 text=$2 code=0
  shift 2
  "$@" >out 2>err || code=$?
  if [ $code -ne "$wanted" ] || ! grep -q -e "$text" err; then
    echo "scripts: code $code, not $wanted, or no '$text': $*" >&2
    cat err >&2
    exit 1
  fi
}

# ---- A run that ends early would count as a shard that is done.
expect 2 "--time-limit" "$slurm/submit.sh" limited -- waco-collect a.mtx --op spmv --time-limit 60
expect 2 "--time-limit" "$slurm/submit.sh" limited -- waco-collect a.mtx --op spmv --time-limit=60
