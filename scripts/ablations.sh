#!/usr/bin/env bash
# Redraws the paper's figure 15, which part of the cost model is worth what: trains every extractor, and the default one with
# squared errors instead of the ranking loss, on the same records, and draws a table.
#
#   scripts/ablations.sh -o FOLDER [OPTION...] --matrices PATH DATASET...
#
# DATASET is a file of waco-collect, or several of one op joined by "+"; each gets its own rows. Models and reports are kept in
# FOLDER: killed at any moment, the same command continues.
#
#   -o FOLDER        where models and reports are kept
#   --matrices PATH  where the datasets' matrices are, as for waco-train
#   --networks "N.." extractors, each with or without ":l2" (default: "pyramid human dense_conv minkowski waconet pyramid:l2")
#   --epochs N       for all of them (default: what waco-train takes for each)
#   --set NAME=X     of the recipe, as for waco-train; may be given more than once
#   --page FILE      redraw the table between the markers "ablations: begin" and "ablations: end" of FILE
#   --tables-only    train nothing
#
# Needs jq. waco-train is taken from $WACO_BIN, else from build-release/bin, build/bin or PATH. Exit codes: 0 done, 1 a
# training failed, 2 usage, 3 a page without markers, 5 no program.
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went

root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/built-program.sh
. "$root/scripts/built-program.sh"
# shellcheck source=scripts/evaluation/page.sh
. "$root/scripts/evaluation/page.sh"
fail() {
  echo "ablations: $1" >&2
  exit "${2-2}"
}

folder="" matrices="" networks="pyramid human dense_conv minkowski waconet pyramid:l2" epochs="" page="" tables_only=0 recipe=() datasets=()
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help) sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0" && exit 0 ;;
  -o | --matrices | --networks | --epochs | --set | --page)
    [ $# -ge 2 ] || fail "$1 needs a value"
    case $1 in
    -o) folder=$2 ;;
    --matrices) matrices=$2 ;;
    --networks) networks=$2 ;;
    --epochs) epochs=$2 ;;
    --set) recipe+=(--set "$2") ;;
    --page) page=$2 ;;
    esac
    shift 2
    ;;
  --tables-only) tables_only=1 && shift ;;
  -*) fail "unknown option $1 (--help tells more)" ;;
  *) datasets+=("$1") && shift ;;
  esac
done
[ -n "$folder" ] || fail "-o FOLDER is required"
[ ${#datasets[@]} -gt 0 ] || fail "name datasets"
command -v jq >/dev/null || fail "jq is needed" 1
train=$(program_path waco-train)
[ -x "$train" ] || [ $tables_only -eq 1 ] || fail "there is no program $train; build it, or set WACO_BIN to its folder" 5
[ -z "$page" ] || check_page "$page" ablations
mkdir -p "$folder"

# A name for datasets $1: spmm256+spmm32.
name_of() {
  local file files names=()
  IFS=+ read -ra files <<<"$1"
  for file in "${files[@]}"; do
    file=${file##*/} && names+=("${file%%.jsonl*}")
  done
  (IFS=+ && echo "${names[*]}")
}

# Trains network $2 on datasets $1, unless its report is there.
train_network() {
  local files name place extractor=${2%%:*} loss=rank options=(${recipe[@]+"${recipe[@]}"}) start asked seconds code=0
  name=$(name_of "$1")
  place=$folder/$name/${2/:/-}
  [[ $2 != *:l2 ]] || loss=l2
  [ -z "$epochs" ] || options+=(--epochs "$epochs")
  IFS=+ read -ra files <<<"$1"
  asked="${options[*]-} $(cat "${files[@]}" | sha256sum | cut -c -16)"
  if [ -s "$place.json" ]; then
    [ "$(jq -r '.asked // empty' "$place.json")" = "$asked" ] && return 0
    fail "$place.json is of other datasets or options; name another folder"
  fi
  [ -z "$matrices" ] || options+=(--matrices "$matrices")
  [ ! -e "$place/checkpoint/checkpoint.json" ] || options+=(--resume)
  mkdir -p "$folder/$name"
  echo "ablations: $name: $2" >&2
  start=$(date +%s)
  "$train" "${files[@]}" --extractor "$extractor" --loss "$loss" "${options[@]}" --json -q -o "$place" >"$place.report" || code=$?
  # Of all runs that it takes, should this one be interrupted.
  seconds=$(($(cat "$place.seconds" 2>/dev/null || echo 0) + $(date +%s) - start))
  echo "$seconds" >"$place.seconds"
  [ $code -eq 0 ] || return 1
  jq -e .complete "$place.report" >/dev/null || return 1
  jq -c --arg name "$name" --arg network "$2" --arg asked "$asked" --argjson seconds "$seconds" \
    '{name: $name, network: $network, asked: $asked, seconds: $seconds, epochs: (.epochs | length), metrics: (.metrics | del(.worst_pairs))}' \
    "$place.report" >"$place.part"
  mv "$place.part" "$place.json"
  rm "$place.seconds"
}

if [ $tables_only -eq 0 ]; then
  for dataset in "${datasets[@]}"; do
    for network in $networks; do
      train_network "$dataset" "$network" || fail "$(name_of "$dataset"): $network was not trained to its end" 1
    done
  done
fi

reports=()
for dataset in "${datasets[@]}"; do
  for network in $networks; do
    report=$folder/$(name_of "$dataset")/${network/:/-}.json
    [ ! -s "$report" ] || reports+=("$report")
  done
done
[ ${#reports[@]} -gt 0 ] || fail "there is no report of these datasets in $folder" 1
cat "${reports[@]}" | jq -s -r -f "$root/scripts/evaluation/ablations.jq" >"$folder/ablations.md"
if [ -n "$page" ]; then
  redraw_page "$page" ablations "$folder/ablations.md"
else
  cat "$folder/ablations.md"
fi
