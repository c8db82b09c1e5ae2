#!/usr/bin/env bash
# Writes lists of matrices of the SuiteSparse Matrix Collection (https://sparse.tamu.edu) for download.sh, from the
# collection's own index.
#
#   scripts/suitesparse/make-lists.sh [--index FILE] [--min-nonzeros N] [--max-nonzeros N] [--max-rows N] FOLDER
#
# Writes FOLDER/all.tsv, train.tsv and test.tsv: id, group, name, rows, cols, nonzeros and kind, one matrix a line. A
# matrix is listed when it is real (not complex), not marked as a duplicate, and has 1,000 to 10,000,000 nonzeros and
# less than 131,072 rows: the bounds of the WACO paper (section 4.3). A quarter of the originals goes to test.tsv, chosen
# by a checksum, so that the lists change only where the collection does. Matrices of one group whose names differ only
# from the first digit on (bp_0, bp_200, ...) are of one original and on one side.
#
# --index takes a copy of ssstats.csv instead of downloading it; the other options are other bounds, all of them included.
# Exit codes: 0 done, 1 the index can't be downloaded, 2 usage, 3 the index is torn.
set -euo pipefail

usage() {
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

index=""
min_nonzeros=1000
max_nonzeros=10000000
max_rows=131071
while [ $# -gt 1 ]; do
  case $1 in
    --index) index=$2 ;;
    --min-nonzeros) min_nonzeros=$2 ;;
    --max-nonzeros) max_nonzeros=$2 ;;
    --max-rows) max_rows=$2 ;;
    *) usage ;;
  esac
  shift 2
done
if [ $# -ne 1 ] || [[ $1 == -* ]]; then usage; fi
folder=$1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$index" ]; then
  index=$work/ssstats.csv
  curl --fail --silent --show-error --location --retry 3 -o "$index" https://sparse.tamu.edu/files/ssstats.csv || {
    echo "make-lists: the index can't be downloaded; give a copy of ssstats.csv by --index" >&2
    exit 1
  }
fi

# Line 1 is the number of matrices, line 2 a date; the id of a matrix is its place behind them. Columns: group, name,
# rows, columns, nonzeros, real, binary, from a mesh, positive definite, symmetry of pattern and values, kind.
awk -F, -v OFS='\t' -v min="$min_nonzeros" -v max="$max_nonzeros" -v rows="$max_rows" '
  NR == 1 { declared = $1 }
  NR <= 2 { next }
  NF < 12 { print "make-lists: line " NR " of the index has " NF " columns, not 12 or more" >"/dev/stderr"; exit 3 }
  { id = NR - 2 }
  $6 == 1 && $5 >= min && $5 <= max && $3 <= rows && $12 !~ /duplicate/ { print id, $1, $2, $3, $4, $5, $12 }
  END {
    if (declared + 0 == 0 || id != declared) {
      print "make-lists: the index declares " declared " matrices and holds " id + 0 >"/dev/stderr"
      exit 3
    }
  }' "$index" >"$work/all.tsv"

# The original of each matrix, and its side.
awk -F'\t' '{ name = $3; sub(/[0-9].*/, "", name); print $2 "/" (name == "" ? $3 : name) }' "$work/all.tsv" >"$work/originals"
sort -u "$work/originals" | while IFS= read -r original; do
  checksum=$(printf %s "$original" | cksum)
  echo "${checksum%% *}"$'\t'"$original"
done | awk -F'\t' -v OFS='\t' '{ print $2, $1 % 4 == 0 ? "test" : "train" }' >"$work/sides"

mkdir -p "$folder"
header=$'id\tgroup\tname\trows\tcols\tnonzeros\tkind'
for list in all train test; do
  {
    echo "$header"
    paste "$work/originals" "$work/all.tsv" |
      awk -F'\t' -v list="$list" '
        NR == FNR { side[$1] = $2; next }
        list == "all" || side[$1] == list { print substr($0, length($1) + 2) }' "$work/sides" -
  } >"$work/$list.list"
  mv "$work/$list.list" "$folder/$list.tsv"
  echo "make-lists: $folder/$list.tsv lists $(($(wc -l <"$folder/$list.tsv") - 1)) matrices" >&2
done
