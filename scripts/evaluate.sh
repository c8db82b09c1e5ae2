#!/usr/bin/env bash
# Tunes many matrices, one after the other, and prints the speedup of each over fixed_csr and their geometric mean.
# Results are kept, one JSON file a matrix; running again does only what is missing.
#
#   scripts/evaluate.sh FOLDER -- OPTIONS OF waco-tune -- MATRIX...
#   scripts/evaluate.sh out/spmm32 -- --op spmm --rhs 32 -- matrices/*.mtx.gz
#
# WACO_TUNE names the program (default build/bin/waco-tune). Needs jq. Nothing else should run meanwhile.
set -euo pipefail

usage() {
  sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

[ $# -ge 4 ] || usage
folder=$1
shift
[ "$1" = -- ] || usage
shift
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  options+=("$1")
  shift
done
[ $# -ge 2 ] || usage
shift

program=${WACO_TUNE:-build/bin/waco-tune}
mkdir -p "$folder"
for matrix in "$@"; do
  name=$(basename "$matrix")
  name=${name%.gz}
  result="$folder/${name%.*}.json"
  [ -s "$result" ] && continue
  if "$program" "$matrix" "${options[@]}" --json >"$result.part" 2>"$folder/${name%.*}.log"; then
    mv "$result.part" "$result"
  else
    echo "$name: waco-tune failed with exit code $?; see $folder/${name%.*}.log" >&2
    rm -f "$result.part"
  fi
done

jq -rs '
  sort_by(.matrix.nnz)[]
  | [.matrix.name, .matrix.nnz, .best.speedup, .baseline.median_ns / 1000, .best.median_ns / 1000, .best.plan]
  | @tsv' "$folder"/*.json |
  awk -F'\t' '
    { printf "%-56s %9d nonzeros  %5.2fx  %10.1f us -> %10.1f us  %s\n", $1, $2, $3, $4, $5, $6
      sum += log($3); n++; if ($3 < 1) slower++ }
    END { if (n) printf "geometric mean %.3f over %d matrices, %d slower than fixed_csr\n", exp(sum / n), n, slower }'
