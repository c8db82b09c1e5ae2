#!/usr/bin/env bash
# Submits a collection, or the tuning of a list of matrices, as an array job of Slurm.
#
#   scripts/slurm/submit.sh [--shards N] FOLDER [SBATCH OPTION...] -- waco-collect OPTION...
#   scripts/slurm/submit.sh [--shards N] FOLDER [SBATCH OPTION...] -- waco-tune --list FILE OPTION...
#
#   scripts/slurm/submit.sh --shards 8 /scratch/spmm --time=8:00:00 -- waco-collect /scratch/matrices --op spmm
#   scripts/slurm/submit.sh --shards 8 /scratch/tuned --partition=short -- waco-tune --list test.txt --op spmm --rhs 32
#
# FOLDER, which all nodes must see, keeps everything: the arguments, one file a shard, and the
# logs. It must not be used with other arguments. The same command again submits what is not done. A task that meets its
# time limit, or whose node fails, is requeued and goes on where it was; merge.sh joins the results.
#
# The programs are taken from WACO_BIN, else from PATH, else from build-release/bin, else from build/bin.
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/built-program.sh
. "$scripts/../built-program.sh"

usage() {
  sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
fail() {
  echo "submit: $1" >&2
  exit "${2-2}"
}

shards=1
if [ "${1-}" = --shards ]; then
  shards=${2-}
  shift 2 || usage
fi
[[ $shards =~ ^[1-9][0-9]{0,4}$ ]] || fail "--shards takes a number from 1 to 99999, not '$shards'"
if [ $# -lt 3 ] || [[ $1 == -* ]]; then usage; fi
folder=$1
shift
slurm_options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  slurm_options+=("$1")
  shift
done
[ $# -ge 2 ] || usage
program=$2
shift 2
case $program in
  waco-collect | waco-tune) ;;
  *) fail "'$program' is neither waco-collect nor waco-tune" ;;
esac

path=${WACO_BIN:+$WACO_BIN/$program}
path=${path:-$(command -v "$program" || built_program "$program")}
[ -x "$path" ] || fail "there is no program $path; build it, or set WACO_BIN to its folder" 5
command -v sbatch >/dev/null || fail "sbatch is not there: this is no machine of a Slurm cluster" 1

# For tuning, the list is copied, so that it can't change while tasks are at it.
arguments=()
list=""
while [ $# -gt 0 ]; do
  case $program/$1 in
    waco-tune/--list)
      list=${2-}
      shift
      ;;
    */-o | */--output | */--output=* | */--shard | */--shard=* | waco-tune/--json | waco-tune/--emit)
      fail "$1 is set by the job"
      ;;
    waco-collect/--time-limit | waco-collect/--time-limit=*)
      fail "a shard that $1 stops would count as done; limit the tasks with --time before --"
      ;;
    *) arguments+=("$1") ;;
  esac
  [[ $1 != *$'\n'* ]] || fail "an argument holds a line end"
  shift || usage
done
if [ "$program" = waco-tune ] && [ ! -r "$list" ]; then fail "waco-tune needs --list FILE, one matrix a line" 3; fi

mkdir -p "$folder/logs" "$folder/done"
folder=$(cd "$folder" && pwd)
[ -z "$list" ] || arguments+=(--list "$folder/list")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' "$program" "$shards" "${arguments[@]}" >"$work/arguments"
[ -z "$list" ] || grep -v '^[[:space:]]*\(#.*\)\{0,1\}$' "$list" >"$work/list" || fail "$list lists nothing" 3
for file in arguments list; do
  [ -e "$work/$file" ] || continue
  if [ -e "$folder/$file" ]; then
    cmp -s "$work/$file" "$folder/$file" || fail "$folder was used with another program, other shards or other options"
  else
    cp "$work/$file" "$folder/$file"
  fi
done

missing=""
for ((shard = 0; shard < shards; ++shard)); do
  [ -e "$folder/done/$shard" ] || missing+=,$shard
done
if [ -z "$missing" ]; then
  echo "submit: all $shards shards are done; merge.sh $folder joins them" >&2
  exit 0
fi
# Slurm keeps a copy of the script: it is told where the folder and the program are.
sbatch --array="${missing#,}" --output="$folder/logs/%a.log" "${slurm_options[@]}" "$scripts/task.sbatch" "$folder" "$path"
