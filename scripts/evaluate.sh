#!/usr/bin/env bash
# Draws the tables of a page of docs/measurements (--page), and the first two of them in docs/performance.md (--summary).
#
#   scripts/evaluate.sh -o FOLDER [OPTION...] MATRIX|LIST...
#
# MATRIX is a .mtx or .tns file, gzipped or not; LIST is any other file, with one of these a line. Every way of tuning is
# run on every matrix; then the plans of all ways on a matrix are timed in common rounds with fixed_csr, in several
# processes, and only these times count. Results are kept in FOLDER: killed at any moment, the same command continues.
#
#   -o FOLDER          where results are kept
#   --problems "P..."  of op[:rhs][:type] (default: "spmv spmm:256 sddmm:256 mttkrp:16", of f32); tensors are for mttkrp,
#                      matrices for the others
#   --models FOLDER    holds model folders OP or OP-NAME with their indexes inside (default: data/models), of which waco-tune
#                      chooses; where there is none for an op, or none of about that rhs, the closed-form model does everything
#   --datasets FOLDER  datasets of the models (default: data/datasets): matrices that a model was trained on are left out
#   --with-trained     they are not
#   --ways "W..."      some of: none quick normal full closed format schedule calls-N (default: all, N 1 10 100 10000)
#   --page FILE        redraw the tables between the markers "evaluation: begin" and "evaluation: end" of FILE
#   --summary FILE     the same with the first two tables alone
#   --prepare N        kernels compiled ahead for each problem before the first run (default: 300)
#   --contests N       processes in which the plans of a matrix are packed and timed, whose figures' geometric means are
#                      taken (default: 3): where things lie in the caches, and what neighbours do there, differs
#   --accept-busy      keep results of runs that other work disturbed; by default these are done once more, and
#                      the matrix then stays open
#   --tables-only      measure nothing
#
# Needs jq. waco-tune is taken from $WACO_BIN, else from build-release/bin, build/bin or PATH. Exit codes: 0 done,
# 1 no jq, no first run, or no result to draw, 2 usage, 3 unreadable input, 5 no waco-tune, 6 some matrices failed or were not reached.
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went

root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/built-program.sh
. "$root/scripts/built-program.sh"
# shellcheck source=scripts/evaluation/page.sh
. "$root/scripts/evaluation/page.sh"
fail() {
  echo "evaluate: $1" >&2
  exit "${2-2}"
}
say() { echo "evaluate: $1" >&2; }

folder="" problems="spmv spmm:256 sddmm:256 mttkrp:16" models=$root/data/models datasets=$root/data/datasets
ways="none quick normal full closed format schedule calls-1 calls-10 calls-100 calls-10000"
with_trained=0 accept_busy=0 prepare=300 contests=3 page="" summary="" tables_only=0 inputs=()
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help) sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0" && exit 0 ;;
  -o | --problems | --models | --datasets | --ways | --page | --summary | --prepare | --contests)
    [ $# -ge 2 ] || fail "$1 needs a value"
    case $1 in
    -o) folder=$2 ;;
    --problems) problems=$2 ;;
    --models) models=$2 ;;
    --datasets) datasets=$2 ;;
    --ways) ways=$2 ;;
    --page) page=$2 ;;
    --summary) summary=$2 ;;
    --prepare) prepare=$2 ;;
    --contests) contests=$2 ;;
    esac
    shift 2
    ;;
  --with-trained) with_trained=1 && shift ;;
  --accept-busy) accept_busy=1 && shift ;;
  --tables-only) tables_only=1 && shift ;;
  -*) fail "unknown option $1 (--help tells more)" ;;
  *) inputs+=("$1") && shift ;;
  esac
done
[ -n "$folder" ] || fail "-o FOLDER is required"
[ ${#inputs[@]} -gt 0 ] || [ $tables_only -eq 1 ] || fail "name matrices, or a file that lists them"
for input in ${inputs[@]+"${inputs[@]}"}; do
  [ -f "$input" ] && [ -r "$input" ] || fail "$input can't be read" 3
done
[[ $contests =~ ^[1-9][0-9]{0,2}$ ]] || fail "--contests must be a number from 1 to 999"
command -v jq >/dev/null || fail "jq is needed" 1
tune=$(program_path waco-tune)
[ -x "$tune" ] || [ $tables_only -eq 1 ] || fail "there is no program $tune; build it, or set WACO_BIN to its folder" 5
for way in $ways; do
  [[ $way =~ ^(none|quick|normal|full|closed|format|schedule|calls-[0-9]+)$ ]] || fail "there is no way of tuning '$way'"
done
[ -z "$page" ] || check_page "$page" evaluation
[ -z "$summary" ] || check_page "$summary" evaluation

stopped=0
trap 'stopped=1' INT TERM
num_failed=0 num_open=0

name_of() {
  local name=${1##*/}
  name=${name%.gz} && name=${name%.mtx}
  echo "${name%.tns}"
}
is_tensor() { [[ $1 == *.tns || $1 == *.tns.gz ]]; }
is_matrix() { [[ $1 == *.mtx || $1 == *.mtx.gz ]]; }

# Paths of all inputs, lists opened.
list_inputs() {
  local input
  for input in "${inputs[@]}"; do
    if is_tensor "$input" || is_matrix "$input"; then echo "$input"; else awk 1 "$input" | sed 's/\r$//; /^[[:space:]]*\(#\|$\)/d'; fi
  done
}

# The model folders that waco-tune takes for the current problem, the first one's index with it; nothing when there is
# none that was trained on about that size.
choose_models() {
  compgen -G "$models/$op*/model.json" >/dev/null || return 0
  XDG_CACHE_HOME=$folder/cache "$tune" "$sample" "${problem_options[@]}" --effort none --model "$models" --json 2>>"$folder/log" |
    jq -r '.model // empty, .other_models[]'
}

# Names of the matrices that model $1 was trained on: as its manifest says, or, in one that does not, those of the datasets
# that it names; and of what it began from, where the manifest does not say that too. $2...: folders asked already, as a
# model may have begun from an earlier one in the same folder.
trained_on() {
  local name file first
  jq -r '.dataset.training_originals // [] | .[]' "$1/model.json"
  if jq -e '.dataset | has("training_originals") and .training_originals_partial != true' "$1/model.json" >/dev/null; then return; fi
  if ! jq -e '.dataset | has("training_originals")' "$1/model.json" >/dev/null; then
    jq -r '.dataset.files[].name' "$1/model.json" | while read -r name; do
      file=$datasets/$name
      [ -r "$file" ] || fail "the model $1 was trained on $name, which is not in $datasets (--datasets, --with-trained)" 3
      gzip -dcf "$file" | jq -r 'select(.split == "training").original'
    done | sort -u || return
  fi
  first=$(jq -r '.training.init // empty' "$1/model.json")
  [ -n "$first" ] || return 0
  # As the folder was named when the model was trained, or beside the others.
  [ -r "$first/model.json" ] || first=$models/${first##*/}
  [ -r "$first/model.json" ] || fail "the model $1 began from $first, which is not there to tell what it was trained on (--with-trained)" 3
  for name in "$@"; do if [ "$name" -ef "$first" ]; then return 0; fi; done
  trained_on "$first" "$@"
}

# waco-tune with what all runs of the current problem have in common; $1 is the cache folder.
run_tune() {
  local cache=$1
  shift
  XDG_CACHE_HOME=$cache "$tune" "$@" "${problem_options[@]}" 2>>"$folder/log" >/dev/null
}

options_of_way() {
  case $1 in
  closed) echo "--effort normal --model none" ;;
  format | schedule) echo "--effort normal --space $1" ;;
  calls-*) echo "--calls ${1#calls-}" ;;
  *) echo "--effort $1" ;;
  esac
}

# Cache folder $1, unless it is there, with what any run leaves in one.
make_cache() {
  [ ! -d "$1" ] || return 0
  # Interrupted, it must not go on with a cache that lacks these kernels.
  rm -rf "$1.part" && cp -r "$here/cache/first" "$1.part" && [ $stopped -eq 0 ] && mv "$1.part" "$1"
}

# Takes from cache $1 what a run left that does not count, so that the next one compiles its kernels itself; notes what is
# there otherwise.
begin_in_cache() {
  if [ -e "$1.files" ]; then
    (cd "$1" && find . -type f | sort | comm -23 - "$1.files" | while IFS= read -r file; do rm -f "$file"; done)
  else
    (cd "$1" && find . -type f | sort >"$1.files.part") && mv "$1.files.part" "$1.files"
  fi
}

# Way $1 on matrix $2, unless its result is there. Every way has a cache of its own, so that none has its kernels compiled
# by another.
run_way() {
  local cache=$here/cache/$1 options
  read -ra options <<<"$(options_of_way "$1")"
  make_cache "$cache" || return 1
  if [ "$1" != closed ]; then options+=("${model_options[@]}"); fi
  local attempt results=$here/$1.jsonl
  for attempt in 1 2; do
    begin_in_cache "$cache" || return 1
    # All of the list, even where this runs in an array job.
    run_tune "$cache" --list <(echo "$2") --shard 0/1 "${options[@]}" -o "$results" || return 1
    jq -c --arg input "$2" 'select(.input == $input)' "$results" | tail -n 1 >"$here/last.json"
    if ! was_disturbed "$here/last.json"; then rm -f "$cache.files" && return 0; fi
    jq -c --arg input "$2" 'select(.input != $input)' "$results" >"$results.part" && mv "$results.part" "$results"
    [ $stopped -eq 0 ] || return 1
  done
  say "$problem: $(name_of "$2"): other work kept the machine busy; run it again when that is over" && return 1
}

# Whether other work took processors away during the run of document $1.
was_disturbed() {
  [ $accept_busy -eq 0 ] && jq -e '.disturbed == "other_work"' "$1" >/dev/null 2>&1
}

# What the ways found on matrix $1, as a JSON array.
plans_of() {
  local way
  for way in $own_ways; do
    jq -c --arg input "$1" --arg way "$way" 'select(.input == $input and .status == "done") | {way: $way, plan: .best.plan,
      is_baseline: .best.is_baseline, tune_ns: ((.stages_s.total - .stages_s.read - (.stages_s.load // 0)) * 1e9),
      only_ranked: (.best.verified | not)}' "$here/$way.jsonl" | tail -n 1
  done | jq -c -s .
}

# The plans $3 of matrix $1 in common rounds, of which document $2 tells, unless it does. Kernels go to cache $4.
hold_contest() {
  local contest=$2 plans=$3 cache=$4 schedules=() options=() plan attempt
  if ! was_disturbed "$contest" && jq -e --argjson plans "$plans" '.complete and (($plans | map(select(.is_baseline | not).plan)) -
      [.candidates[] | select(.status == "ok").plan] == [])' "$contest" >/dev/null 2>&1; then return 0; fi
  # Without a plan of its own fixed_csr's stands for all.
  mapfile -t schedules < <(jq -r 'map(select(.is_baseline | not).plan) + (map(.plan)[:1]) | unique[]' <<<"$plans")
  for plan in "${schedules[@]}"; do options+=(--schedule "$plan"); done
  for attempt in 1 2; do
    rm -f "$contest"
    run_tune "$cache" "$1" "${options[@]}" --model none --effort normal -o "$contest" || return 1
    jq -c '.candidates | map({key: .plan, value: .compile_ns}) | from_entries' "$contest" >>"$compiled"
    jq -e .complete "$contest" >/dev/null || return 1
    was_disturbed "$contest" || return 0
  done
  rm "$contest" && return 1
}

# All contests of matrix $1, called $2, and what they say.
compare_plans() {
  local plans number documents=() compiled=$here/contest/$2.compiled cache=$here/cache/contest-$2
  plans=$(plans_of "$1")
  [ "$(jq length <<<"$plans")" -eq "$(wc -w <<<"$own_ways")" ] || return 1
  # Not another matrix's, whose plans are compiled there.
  make_cache "$cache" || return 1
  for ((number = 1; number <= contests; ++number)); do
    documents+=("$here/contest/$2.$number.json")
    hold_contest "$1" "${documents[-1]}" "$plans" "$cache" || return 1
    [ $stopped -eq 0 ] || return 1
  done
  jq -c -s --argjson ways "$plans" --arg model "$model_kind" --slurpfile compiled "$compiled" -f "$root/scripts/evaluation/summary.jq" \
    "${documents[@]}" 2>>"$folder/log" >"$here/summary/$2.json.part" && mv "$here/summary/$2.json.part" "$here/summary/$2.json" &&
    rm -rf "$cache"
}

# Everything for matrix $1.
evaluate() {
  local name way compared="$own_ways, $contests contests"
  name=$(name_of "$1")
  [ ! -e "$here/summary/$name.json" ] || [ "$(cat "$here/contest/$name.ways" 2>/dev/null)" != "$compared" ] || return 0
  rm -f "$here/contest/$name.ways" "$here/summary/$name.json"
  say "$problem: $name"
  for way in $own_ways; do
    run_way "$way" "$1" || return 1
    [ $stopped -eq 0 ] || return 1
  done
  compare_plans "$1" "$name" || return 1
  echo "$compared" >"$here/contest/$name.ways"
}

# What every run finds in its cache: the machine's ceilings, the index with its embeddings, kernels compiled ahead.
warm_up() {
  [ ! -d "$here/cache/first" ] || return 0
  rm -rf "$here/cache/first.part" && mkdir -p "$here/cache/first.part"
  run_tune "$here/cache/first.part" "$sample" --effort none "${model_options[@]}" &&
    { [ "$prepare" -eq 0 ] || run_tune "$here/cache/first.part" --prepare "$prepare" "${model_options[@]}"; } &&
    mv "$here/cache/first.part" "$here/cache/first"
}

# Problem $1, op[:rhs][:type], on all inputs that are for it.
evaluate_problem() {
  problem=$1
  op=${problem%%:*}
  local rhs=1 type=f32 model chosen sample input seen="" name
  case $op in spmm | sddmm) rhs=256 ;; mttkrp) rhs=16 ;; spmv) ;; *) fail "there is no op '$op'" ;; esac
  [[ $problem =~ ^[a-z]+(:([0-9]+))?(:(f32|f64))?$ ]] || fail "'$problem' is not of the form op[:rhs][:type]"
  rhs=${BASH_REMATCH[2]:-$rhs} type=${BASH_REMATCH[4]:-$type}
  # Results of f32 have no type in their names.
  name=$op$rhs
  [ "$type" = f32 ] || name+=-$type
  sample=$root/data/samples/mesh_3dof.mtx.gz
  [ "$op" != mttkrp ] || sample=$root/data/samples/events.tns.gz
  problem_options=(--op "$op" --type "$type")
  [ "$op" = spmv ] || problem_options+=(--rhs "$rhs")
  chosen=$(choose_models) || fail "$problem: no model can be chosen; see $folder/log" 1
  if [ -n "$chosen" ]; then
    model_kind=learned own_ways=$ways
    model_options=(--model "$models")
    here=$folder/$name
    while read -r model; do
      here+=-$(jq -r '.weights_hash[:8]' "$model/model.json")
      [ $with_trained -eq 1 ] || seen+=$(trained_on "$model")$'\n'
    done <<<"$chosen"
  else
    say "$problem: no learned model in $models; the closed-form model ranks everything"
    model_kind=closed-form own_ways=$(sed 's/\bclosed\b *//' <<<"$ways")
    model_options=(--model none)
    here=$folder/$name-closed-form
  fi
  mkdir -p "$here/contest" "$here/cache" "$here/summary"
  echo "${here##*/}" >"$folder/$name.current"
  warm_up || { [ $stopped -eq 1 ] && return 0; fail "$problem: the first run failed; see $folder/log" 1; }
  : >"$here/listed.part"
  while read -r input <&3; do
    if [ "$op" = mttkrp ]; then is_tensor "$input" || continue; else is_matrix "$input" || continue; fi
    if grep -qxF "$(name_of "$input")" <<<"$seen"; then
      say "$problem: $(name_of "$input") left out, the model was trained on it"
      continue
    fi
    name_of "$input" >>"$here/listed.part"
    if [ $stopped -eq 1 ]; then
      num_open=$((num_open + 1))
    elif ! evaluate "$input"; then
      if [ $stopped -eq 1 ]; then num_open=$((num_open + 1)); else
        num_failed=$((num_failed + 1))
        say "$problem: $(name_of "$input") failed; see $folder/log"
      fi
    fi
  done 3< <(list_inputs)
  mv "$here/listed.part" "$here/listed"
}

[ $tables_only -eq 1 ] || [ -n "$(list_inputs)" ] || fail "the lists are empty"
other=$(list_inputs | while read -r input; do is_tensor "$input" || is_matrix "$input" || echo "$input"; done | sed -n 1p)
[ -z "$other" ] || fail "$other is neither .mtx nor .tns, plain or gzipped" 3
same=$(list_inputs | sort -u | while read -r input; do
  if is_tensor "$input"; then echo "tensor $(name_of "$input")"; else echo "matrix $(name_of "$input")"; fi
done | sort | uniq -d | sed -n 1p)
[ -z "$same" ] || fail "results are kept by name, and there are two files of the $same"

# Caches are named by absolute paths only.
mkdir -p "$folder" && folder=$(cd "$folder" && pwd)
if [ $tables_only -eq 0 ]; then
  for problem in $problems; do
    [ $stopped -eq 1 ] || evaluate_problem "$problem"
  done
fi

# Of each problem the results with the model that was used last, of the matrices that were listed then.
find "$folder" -maxdepth 1 -name '*.current' -exec cat {} + | while read -r here; do
  here=$folder/${here##*/}
  if [ -e "$here/listed" ]; then cat "$here/listed"; else find "$here/summary" -name '*.json' -exec basename {} .json \;; fi |
    while read -r name; do
      if [ -e "$here/summary/$name.json" ]; then cat "$here/summary/$name.json"; fi
    done
done >"$folder/summary.jsonl"
if [ -s "$folder/summary.jsonl" ]; then
  draw() { jq -s -r --argjson with_details "$1" -f "$root/scripts/evaluation/tables.jq" "$folder/summary.jsonl"; }
  draw true >"$folder/tables.md"
  draw false >"$folder/summary.md"
  [ -z "$page" ] || redraw_page "$page" evaluation "$folder/tables.md"
  [ -z "$summary" ] || redraw_page "$summary" evaluation "$folder/summary.md"
  [ -n "$page$summary" ] || cat "$folder/tables.md"
elif [ $tables_only -eq 1 ]; then
  fail "there is no result in $folder" 1
fi
if [ $stopped -eq 1 ]; then say "stopped with $num_open inputs of the current problem open; the same command continues"; fi
[ $stopped -eq 0 ] && [ $num_failed -eq 0 ] || { say "$num_failed failed"; exit 6; }
