#!/usr/bin/env bash
# Runs scripts/slurm/ on a real Slurm: a controller and two nodes on this machine, in a temporary folder that is removed.
#
#   tests/cluster/run.sh BUILD_FOLDER
#
# A collection is an array of four shards. One is requeued while it runs, the program of another is killed and its task
# requeued, a third gets the signal that Slurm sends before the time is over. The joined dataset must be that of one process:
# the same records per matrix and stratum, none twice, the same points in the strata that do not depend on timings. Then a
# list of matrices is tuned, one task of it interrupted. Needs root, jq and the Debian packages slurm-wlm and munge; takes a
# minute or two. Two tasks run at once on cores that others may use: the times are worth nothing.
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went

source_dir=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/cluster/slurm.sh
. "$source_dir/tests/cluster/slurm.sh"
WACO_BIN=$(cd "$1/bin" && pwd)
export WACO_BIN

work=$(mktemp -d)
finish() {
  local code=$?
  [ $code -eq 0 ] || tail -n 20 "$work"/*/logs/*.log "$work"/slurm/log/slurmctld.log >&2 2>/dev/null || true
  scancel --full --user=root 2>/dev/null || true
  stop_slurm "$work/slurm"
  rm -rf "$work"
}
trap finish EXIT
export XDG_CACHE_HOME=$work/cache

fail() {
  echo "cluster: $*" >&2
  exit 1
}
say() { echo "cluster: $*" >&2; }

# Waits until a command succeeds, at most so many seconds.
wait_for() {
  local seconds=$1 what=$2 i
  shift 2
  for ((i = 0; i < 5 * seconds; ++i)); do
    if "$@"; then return 0; fi
    sleep 0.2
  done
  squeue >&2
  fail "$what did not happen in $seconds s"
}
lines() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }
has_lines() { [ "$(lines "$1")" -ge "$2" ]; }
no_jobs() { [ -z "$(squeue -h -o %i)" ]; }
state_is() { scontrol show job "$1" 2>/dev/null | grep -q "JobState=$2"; }
restarted() { grep -q "restart [1-9]" "$1" 2>/dev/null; }
# A requeued task waits for a while; this test only until the second is over in which the node was told that it ended.
start_now() { sleep 2 && scontrol update JobId="$1" StartTime=now 2>/dev/null || true; }

mkdir "$work/slurm"
start_slurm "$work/slurm" 2
say "$(sinfo --version): $(sinfo -h -o '%D nodes, %T')"

options=(--synthetic 8 --op spmv --per-matrix 40 --seed 7 --threads 1 --quiet)
submit() {
  "$source_dir/scripts/slurm/submit.sh" --shards 4 "$@" | awk '{ print $NF }'
}

# ---- A collection, disturbed in three ways.
data=$work/shared
job=$(submit "$data" -- waco-collect "${options[@]}")
say "array $job: four shards on two nodes"
[ -z "$(submit "$data" -- waco-collect "${options[@]}" 2>"$work/again")" ] || fail "shards in the queue were submitted again"
grep -q "4 of 4 shards are in the queue already" "$work/again" || fail "the queue was not asked: $(cat "$work/again")"

wait_for 120 "the first records of shard 0" has_lines "$data/data.0-of-4.jsonl" 12
scontrol requeue "${job}_0"
before=$(lines "$data/data.0-of-4.jsonl")
say "shard 0 requeued by Slurm, with $((before - 1)) records"
wait_for 60 "the end of shard 0's first run" state_is "${job}_0" PENDING
start_now "${job}_0"

wait_for 120 "the first records of shard 1" has_lines "$data/data.1-of-4.jsonl" 12
program=$(pgrep -f "waco-collect .* --shard 1/4 " | head -n 1)
kill -9 "$program"
say "shard 1: program $program killed, with $(($(lines "$data/data.1-of-4.jsonl") - 1)) records"
wait_for 60 "the failure of shard 1" state_is "${job}_1" FAILED
[ ! -e "$data/done/1" ] || fail "a killed shard counts as done"
scontrol requeue "${job}_1"
start_now "${job}_1"

wait_for 240 "the first records of shard 2" has_lines "$data/data.2-of-4.jsonl" 12
scancel --batch --signal=USR1 "${job}_2"
say "shard 2 warned of its time limit, with $(($(lines "$data/data.2-of-4.jsonl") - 1)) records"
wait_for 90 "the requeueing of shard 2" state_is "${job}_2" PENDING
start_now "${job}_2"

if "$source_dir/scripts/slurm/merge.sh" "$data" 2>/dev/null; then fail "merged while shards were missing"; fi
wait_for 420 "the end of the array" no_jobs
for shard in 0 1 2; do restarted "$data/logs/$shard.log" || fail "shard $shard was not started again"; done
grep -q "queued again" "$data/logs/2.log" || fail "shard 2 did not queue itself again"
"$source_dir/scripts/slurm/merge.sh" "$data" >"$work/info.txt"
[ -z "$(submit "$data" -- waco-collect "${options[@]}" 2>/dev/null)" ] || fail "a finished folder was submitted"
if submit "$data" -- waco-collect "${options[@]}" --per-matrix 3 2>/dev/null | grep -q .; then fail "other options were taken"; fi

# ---- The same by one process.
"$WACO_BIN/waco-collect" "${options[@]}" -o "$work/single.jsonl"
records() { # records FILE: name, hash, stratum, plan, a record a line
  gzip -dcf "$1" | tail -n +2 | jq -r '[.matrix, .matrix_hash, .split, .stratum, .plan] | @tsv'
}
records "$data/data.jsonl.gz" | LC_ALL=C sort >"$work/array.tsv"
records "$work/single.jsonl" | LC_ALL=C sort >"$work/single.tsv"
[ "$(wc -l <"$work/single.tsv")" -ge 300 ] || fail "one process made only $(wc -l <"$work/single.tsv") records"
[ -z "$(uniq -d "$work/array.tsv")" ] || fail "records are there twice"
for side in array single; do
  cut -f1-4 "$work/$side.tsv" | sort | uniq -c >"$work/$side.counts"
  awk -F'\t' '$4 != "neighbours"' "$work/$side.tsv" >"$work/$side.keys"
done
diff "$work/single.counts" "$work/array.counts" >&2 || fail "records per matrix and stratum differ"
diff "$work/single.keys" "$work/array.keys" >&2 || fail "points differ in strata that do not depend on timings"
say "collected: $(wc -l <"$work/array.tsv") records, per matrix and stratum as by one process;" \
  "$(wc -l <"$work/array.keys") points the same in strata that do not depend on timings"

# ---- A list, tuned.
tuned=$work/tuned
ls "$source_dir"/data/samples/*.mtx.gz >"$work/list.txt"
for n in 1 2 3 4; do cp "$source_dir/data/samples/mesh_3dof.mtx.gz" "$work/mesh_$n.mtx.gz" && echo "$work/mesh_$n.mtx.gz"; done >>"$work/list.txt"
echo "$work/nothing.mtx" >>"$work/list.txt"
tune_options=(--op spmv --threads 1 --top 6)
job=$(submit "$tuned" -- waco-tune --list "$work/list.txt" "${tune_options[@]}")
# Shard 1 has the second input and the sixth.
wait_for 120 "the first result of shard 1" has_lines "$tuned/tuned.1-of-4.jsonl" 1
scontrol requeue "${job}_1"
[ ! -e "$tuned/done/1" ] || fail "shard 1 was done too early to be interrupted"
wait_for 60 "the end of shard 1's first run" state_is "${job}_1" PENDING
start_now "${job}_1"
wait_for 300 "the end of the tuning" no_jobs
restarted "$tuned/logs/1.log" || fail "the interrupted tuning was not started again"
code=0
"$source_dir/scripts/slurm/merge.sh" "$tuned" >"$work/tuned.txt" 2>"$work/tuned.log" || code=$?
[ $code -eq 6 ] || fail "merge.sh ended with code $code where one matrix is missing"
grep -q "nothing.mtx" "$work/tuned.log" || fail "the missing matrix is not named"
[ "$(wc -l <"$tuned/results.jsonl")" -eq 6 ] || fail "$(wc -l <"$tuned/results.jsonl") results instead of 6"
jq -e -s 'all(.[]; .best.verified)' "$tuned/results.jsonl" >/dev/null || fail "a result is not verified"
say "tuned: $(tail -n 1 "$work/tuned.txt")"
cat "$work/info.txt" >&2
say "all as it should be"
