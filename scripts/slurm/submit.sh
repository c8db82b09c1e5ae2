#!/usr/bin/env bash
# Submits a collection, or the tuning of a list of matrices, as an array job of Slurm.
#
#   scripts/slurm/submit.sh [--shards N] FOLDER [--at-once N] [SBATCH OPTION...] -- waco-collect OPTION...
#   scripts/slurm/submit.sh [--shards N] FOLDER [--at-once N] [SBATCH OPTION...] -- waco-tune --list FILE OPTION...
#
#   scripts/slurm/submit.sh --shards 8 /scratch/spmm --time=8:00:00 -- waco-collect /scratch/matrices --op spmm
#   scripts/slurm/submit.sh --shards 8 /scratch/tuned --partition=short -- waco-tune --list test.txt --op spmm --rhs 32
#
# FOLDER, which all nodes must see, keeps everything: the arguments, the list of inputs, one file a shard, and the
# logs. It must not be used with other arguments. The same command again submits what is neither done nor in the queue. A task
# that meets its time limit, or whose node fails, is requeued and goes on where it was; merge.sh joins the results. A line
# warns where no option of sbatch chooses the kind of node, as a shard goes on on the kind that it began on only.
#
# The programs are taken from WACO_BIN, else from the clone or prefix that this script is of, else from PATH. Exit codes: 0
# submitted, or all is done or queued already, 1 no Slurm here, one that does not answer, or another submit.sh at the folder, 2 usage, or other options or inputs
# than before, 3 unreadable or empty inputs, 5 no program; else that of sbatch.
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went

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
chooses_nodes=${SBATCH_CONSTRAINT-}${SBATCH_PARTITION-}
at_once=""
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    -a* | --array | --array=* | -o* | --output | --output=*) fail "$1 is set by the job; --at-once limits the tasks that run" ;;
    --at-once)
      at_once=${2-}
      [[ $at_once =~ ^[1-9][0-9]{0,4}$ ]] || fail "--at-once takes a number from 1 to 99999, not '$at_once'"
      shift
      ;;
    *)
      case $1 in -C* | --con* | -p* | --part* | -w* | --nodel*) chooses_nodes=1 ;; esac
      slurm_options+=("$1")
      ;;
  esac
  shift
done
[ $# -ge 2 ] || usage
program=$2
shift 2
case $program in
  waco-collect | waco-tune) ;;
  *) fail "'$program' is neither waco-collect nor waco-tune" ;;
esac

path=$(program_path "$program")
[ -x "$path" ] || fail "there is no program $path; build it, or set WACO_BIN to its folder" 5
command -v sbatch >/dev/null || fail "sbatch is not there: this is no machine of a Slurm cluster" 1

# A shard is known by its places in the list of inputs: lists are copied and folders searched here, once, so that a file that
# comes later moves nothing from a shard to another.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
arguments=()
previous=""
while [ $# -gt 0 ]; do
  [[ $1 != *$'\n'* ]] || fail "an argument holds a line end"
  is_value=0
  case $previous in
    --quiet | --verbose | --check | --no-compile | --clustered | --jsonl | --*=*) ;;
    --*) is_value=1 ;;
  esac
  case $program/$1 in
    */--list | */--list=*)
      if [ "$1" = --list ]; then shift; fi
      list=${1-}
      list=${list#--list=}
      if [ "$list" = - ]; then list=/dev/stdin; fi
      [ -e "$list" ] && LC_ALL=C sed '1s/^\xef\xbb\xbf//;$a\' <"$list" >>"$work/inputs" || fail "--list takes a file, one input a line" 3
      ;;
    waco-collect/-o* | waco-tune/-o* | */--output | */--output=* | */--shard | */--shard=*)
      fail "$1 is set by the job"
      ;;
    waco-tune/--json | waco-tune/--emit | waco-tune/--emit=*)
      fail "$1 takes one matrix; the job keeps a document of each"
      ;;
    waco-tune/--calibrate | waco-tune/--prepare | waco-tune/--prepare=*)
      fail "$1 tunes no list; give it a job of its own"
      ;;
    waco-collect/--time-limit | waco-collect/--time-limit=*)
      fail "a shard that $1 stops would count as done; limit the tasks with --time before --"
      ;;
    *)
      if [ $is_value -eq 0 ] && [ -d "$1" ]; then printf '%s\n' "$1" >>"$work/inputs"; else arguments+=("$1"); fi
      ;;
  esac
  previous=${1-}
  shift || usage
done

# The files of a folder, as the programs find them: of SuiteSparse's the matrix alone, neither NAME/NAME_b.mtx nor an archive
# that was extracted. Folders that can't be read are passed over. Names are bytes, in whatever encoding: LC_ALL=C, and grep is
# told that they are text.
kinds=(.mtx .mtx.gz .tar.gz .tgz)
if [[ " ${arguments[*]-}" =~ \ --(op|schedule)[=\ ]mttkrp ]]; then kinds=(.tns .tns.gz); fi
names=(-false)
for kind in "${kinds[@]}"; do names+=(-o -name "*$kind"); done
files_of() {
  local broken
  broken=$(find -H "$1" -path $'*\n*' \( "${names[@]}" \) -xtype f -print -quit 2>/dev/null || true)
  [ -z "$broken" ] || fail "the name of a file in $1 holds a line end"
  { find -H "$1" \( "${names[@]}" \) -xtype f || true; } | LC_ALL=C sort | LC_ALL=C awk -F/ '
    { file[NR] = $0; is_there[$0] = 1 }
    END {
      for (n = 1; n <= NR; ++n) {
        parts = split(file[n], part)
        name = part[parts]; folder = part[parts - 1]
        place = substr(file[n], 1, length(file[n]) - length(name))
        matrix = ""
        if (sub(/\.(tar\.gz|tgz)$/, "", name)) matrix = place name "/" name ".mtx"
        else if (index(name, folder "_") == 1) matrix = place folder ".mtx"
        if (!(matrix in is_there) && !(matrix ".gz" in is_there)) print file[n]
      }
    }' | LC_ALL=C grep -a . || fail "$1 holds no ${kinds[0]} file" 3
}
if [ -e "$work/inputs" ]; then
  while read -r input; do
    input=${input%$'\r'}
    if [ -d "$input" ]; then files_of "$input"; else printf '%s\n' "$input"; fi
  done < <(LC_ALL=C grep -a -v '^[[:space:]]*\(#.*\)\{0,1\}$' "$work/inputs") >"$work/list"
  [ -s "$work/list" ] || fail "the lists are empty" 3
elif [ "$program" = waco-tune ]; then
  fail "waco-tune needs --list FILE, one matrix a line" 3
fi

mkdir -p "$folder/logs" "$folder/done"
folder=$(cd "$folder" && pwd)

# Two submissions at a time would both find a shard in no queue. Where the file system has no locks this goes on without.
exec 9>"$folder/lock"
flock -n 9 || [ $? -ne 1 ] || fail "another submit.sh is at $folder" 1

if [ -e "$work/list" ]; then arguments+=(--list "$folder/list"); fi
printf '%s\n' "$program" "$shards" ${arguments[@]+"${arguments[@]}"} >"$work/arguments"
for file in arguments list; do
  [ -e "$work/$file" ] || continue
  if [ ! -e "$folder/$file" ]; then
    cp "$work/$file" "$folder/$file.part" && mv "$folder/$file.part" "$folder/$file"
  elif ! cmp -s "$work/$file" "$folder/$file"; then
    [ $file = list ] || fail "$folder was used with another program, other shards or other options"
    fail "the inputs are not those of $folder any more; go on with these by --list $folder/list instead of folders and --list"
  fi
done

# Shards of earlier submissions that Slurm still has, waiting or running: two tasks of one shard would write to one file.
# A line of jobs is a job, or JOB;CLUSTER where there are several.
queued=" "
if [ -s "$folder/jobs" ]; then
  mapfile -t clusters < <(sed 's/^[^;]*;*//' "$folder/jobs" | sort -u)
  for cluster in "${clusters[@]}"; do
    queued+=$(squeue -a -h -r ${cluster:+-M "$cluster"} -u "$(id -un)" -o '%F %K' |
      awk -F '[; ]' -v cluster="$cluster" \
        'NR == FNR { if ($2 == cluster) ours[$1]; next } $1 in ours { printf "%s ", $2 }' "$folder/jobs" -) ||
      fail "squeue can't tell which shards are in the queue already" 1
  done
fi
missing="" num_queued=0
for ((shard = 0; shard < shards; ++shard)); do
  if [ -e "$folder/done/$shard" ]; then continue; fi
  if [[ $queued == *" $shard "* ]]; then num_queued=$((num_queued + 1)); else missing+=,$shard; fi
done
if [ $num_queued -gt 0 ]; then echo "submit: $num_queued of $shards shards are in the queue already" >&2; fi
if [ -z "$missing" ]; then
  [ $num_queued -gt 0 ] || echo "submit: all $shards shards are done; merge.sh $folder joins them" >&2
  exit 0
fi
[ -n "$chooses_nodes" ] ||
  echo "submit: neither --constraint nor --partition: where nodes are of several kinds, a shard that starts again on another kind is refused there" >&2
# Slurm keeps a copy of the script: it is told where the folder and the program are.
job=$(sbatch --parsable --array="${missing#,}${at_once:+%$at_once}" --output="$folder/logs/%a.log" ${slurm_options[@]+"${slurm_options[@]}"} \
  "$scripts/task.sbatch" "$folder" "$path")
if [ -n "$job" ]; then
  echo "$job" >>"$folder/jobs"
  echo "Submitted batch job ${job%%;*}"
fi
