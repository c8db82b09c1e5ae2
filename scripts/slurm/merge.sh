#!/usr/bin/env bash
# Joins what the tasks of submit.sh made, and summarises it.
#
#   scripts/slurm/merge.sh FOLDER [--partial] [--allow-different-machines] [-q] [-v]
#
# Of a collection: FOLDER/data.jsonl.gz, one dataset, and what `waco-collect info` tells of it; all options but --partial are
# those of `waco-collect merge`. Of a list that was tuned: FOLDER/results.jsonl, a document a matrix, FOLDER/failed, a line
# for each matrix that was tried and has none, and a table of speedups over fixed_csr (needs jq; a plan that was only ranked, or not looked
# for since CSR pays, is not timed). Shards that are not done are named, with exit code 6, and nothing is written, unless
# --partial takes what there is. Shards that are done but for some inputs are named with their logs; what is there is joined,
# and the exit code is 6.
#
# Exit codes: 0 done, 1 no jq, 2 usage, 3 no folder of submit.sh, or nothing to join, 5 no waco-collect, 6 shards are not done (and
# not --partial), or some inputs failed; of a collection also those of `waco-collect merge`.
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went

scripts=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/built-program.sh
. "$scripts/../built-program.sh"
fail() {
  echo "merge: $1" >&2
  exit "${2-2}"
}

partial=0
folder=""
options=()
for argument; do
  case $argument in
  --partial) partial=1 ;;
  --allow-different-machines | -q | --quiet | -v | --verbose) options+=("$argument") ;;
  -*) fail "unknown option $argument" ;;
  *)
    [ -z "$folder" ] || fail "one folder, not $argument as well"
    folder=$argument
    ;;
  esac
done
if [ -z "$folder" ]; then
  sed -n '2,4s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
[ -r "$folder/arguments" ] || fail "$folder is no folder of submit.sh" 3
{ read -r program && read -r shards; } <"$folder/arguments"
if [ "$program" = waco-tune ] && [ ${#options[@]} -gt 0 ]; then fail "${options[0]} is for collections"; fi

missing=""
some_failed=0
for ((shard = 0; shard < shards; ++shard)); do
  if [ ! -e "$folder/done/$shard" ]; then
    missing+=" $shard"
  elif [ "$(cat "$folder/done/$shard")" = 6 ]; then
    echo "merge: some inputs of shard $shard could not be used; $folder/logs/$shard.log names them" >&2
    some_failed=6
  fi
done
if [ -n "$missing" ]; then
  echo "merge: not done:$missing (of $shards); their logs are in $folder/logs" >&2
  [ $partial -eq 1 ] || exit 6
fi

# Whether a dataset has its first line: a task that is killed before it has written that leaves an empty file.
has_header() { [ -e "$1" ] && [ "$(head -n 1 "$1" | wc -l)" -eq 1 ]; }

if [ "$program" = waco-collect ]; then
  path=$(program_path "$program")
  [ -x "$path" ] || fail "there is no program $path; build it, or set WACO_BIN to its folder" 5
  datasets=()
  for ((shard = 0; shard < shards; ++shard)); do
    file=$folder/data.$shard-of-$shards.jsonl
    if [ "$shards" -eq 1 ]; then file=$folder/data.jsonl; fi
    if has_header "$file"; then
      datasets+=("$file")
    elif [ -e "$folder/done/$shard" ]; then
      message="$file is missing or empty, and shard $shard is done; remove $folder/done/$shard and submit again"
      [ $partial -eq 1 ] || fail "$message" 3
      echo "merge: $message" >&2
    fi
  done
  [ ${#datasets[@]} -gt 0 ] || fail "there is no dataset in $folder" 3
  "$path" merge "${datasets[@]}" -o "$folder/data.jsonl.gz" ${options[@]+"${options[@]}"}
  "$path" info "$folder/data.jsonl.gz"
  exit $some_failed
fi

command -v jq >/dev/null || fail "jq is needed to join the results" 1
shopt -s nullglob
tuned=("$folder"/tuned*.jsonl)
[ ${#tuned[@]} -gt 0 ] || fail "there is no result in $folder" 3
# All lines; a last one that is no JSON (the run was killed in it) is left out, any other is an error.
whole_lines() {
  local file
  for file in "${tuned[@]}"; do
    if tail -n 1 "$file" | jq . >/dev/null 2>&1; then LC_ALL=C awk 1 "$file"; else
      echo "merge: $file: its last line is torn, and left out" >&2
      LC_ALL=C sed '$d' "$file"
    fi
  done
}
whole_lines | jq -s -c 'reduce .[] as $line ({}; .[$line.input] = $line) | .[]' >"$folder/last.part"
# A result that a failing machine cut short is not one.
is_result='(.status == "done" and (.machine_failed | not))'
jq -c "select($is_result)" "$folder/last.part" >"$folder/results.jsonl.part"
jq -r "select($is_result | not) |"' "\(.input): " + if .status == "done" then "cut short: \(.stopped_by)" else
  "exit code \(.exit_code): \(.error)" end' "$folder/last.part" >"$folder/failed.part"
rm "$folder/last.part"
mv "$folder/results.jsonl.part" "$folder/results.jsonl"
mv "$folder/failed.part" "$folder/failed"
[ -s "$folder/results.jsonl" ] || fail "there is no result in $folder" 3
# Speedups have a point, which is no decimal sign in every locale.
jq -r '[.matrix.name, .matrix.nnz, .best.speedup, .best.plan] | @tsv' "$folder/results.jsonl" | LC_ALL=C sort -t$'\t' -k3,3g |
  LC_ALL=C awk -F'\t' '
    $3 == "" { printf "%-48s %10d nonzeros  not timed  %s\n", $1, $2, $4; next }
    { printf "%-48s %10d nonzeros  %5.2fx  %s\n", $1, $2, $3, $4; sum += log($3); n++; if ($3 < 1) slower++ }
    END { if (n) printf "geometric mean %.3f over %d matrices, %d slower than fixed_csr\n", exp(sum / n), n, slower }'
if [ -s "$folder/failed" ]; then
  echo "merge: $(wc -l <"$folder/failed") matrices failed:" >&2
  cat "$folder/failed" >&2
  some_failed=6
fi
exit $some_failed
