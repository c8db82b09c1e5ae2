#!/usr/bin/env bash
# Runs the scripts for the SuiteSparse collection against a mirror in a folder: lists, downloads, repetitions, faults.
# run.sh SOURCE_FOLDER
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went
scripts=$1/scripts/suitesparse

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "$*" >&2
  exit 1
}
expect() {  # expect WHAT ACTUAL EXPECTED
  [ "$2" = "$3" ] || fail "$1: $2 instead of $3"
}

# An index of made-up matrices: complex, duplicate, small and tall ones are left out; digits divide no original.
cat >index.csv <<'END'
9
01-Jan-2024 00:00:00
G1,a_1,30,20,1500,1,0,0,0,0,0,least squares problem,1500
G1,a_2,30,20,1500,1,0,0,0,0,0,subsequent least squares problem,1500
G1,cplx,30,30,1500,0,0,0,0,0,0,2D/3D problem,1500
G1,dup,30,30,1500,1,0,0,0,0,0,duplicate 2D/3D problem,1500
G2,small,30,30,999,1,0,0,0,0,0,2D/3D problem,999
G2,tall,131072,30,1500,1,0,0,0,0,0,2D/3D problem,1500
G2,good-b,40,40,1700,1,0,0,0,0,0,"a kind, quoted",1700
G2,lost,40,40,1700,1,0,0,0,0,0,2D/3D problem,1700
G2,2good,40,40,1700,1,0,0,0,0,0,2D/3D problem,1700
END
"$scripts/make-lists.sh" --index index.csv lists 2>/dev/null
expect "ids listed" "$(tail -n +2 lists/all.tsv | cut -f1 | tr '\n' ' ')" "1 2 7 8 9 "
expect "listed on one side" "$(tail -qn +2 lists/train.tsv lists/test.tsv | sort -n | cut -f1 | tr '\n' ' ')" "1 2 7 8 9 "
sides=$(grep -lP '\ta_[12]\t' lists/train.tsv lists/test.tsv | wc -l)
expect "sides of one original" "$sides" 1
sed '$d' index.csv >torn.csv
if "$scripts/make-lists.sh" --index torn.csv torn 2>/dev/null; then fail "a torn index was taken"; fi
[ ! -e torn/all.tsv ] || fail "a torn index gave a list"

# A mirror that lacks one matrix.
pack() {  # pack GROUP NAME ROWS COLS
  mkdir -p "mirror/$1" "$2"
  { echo '%%MatrixMarket matrix coordinate real general'; echo '% comment'; echo "$3 $4 1"; echo '1 1 2.5'; } >"$2/$2.mtx"
  echo extra >"$2/${2}_b.mtx"
  tar -czf "mirror/$1/$2.tar.gz" "$2"
  rm -r "$2"
}
pack G1 a_1 30 20
pack G1 a_2 30 20
pack G2 good-b 40 40
pack G2 2good 40 40
download() {
  code=0
  "$scripts/download.sh" --jobs 2 --mirror "file://$work/mirror" "$@" 2>download.log || code=$?
}
download lists/all.tsv matrices
expect "exit code while one is missing" "$code" 6
grep -q 'G2/lost' download.log || fail "the missing matrix is not named"
expect "files" "$(cd matrices && find . -type f | sort | tr '\n' ' ')" "./G1/a_1.mtx ./G1/a_2.mtx ./G2/2good.mtx ./G2/good-b.mtx "
grep -q '^1 1 2.5$' matrices/G1/a_1.mtx || fail "the content is another"

# Again: what is there is left alone, what is missing is taken.
touch -d '2001-01-01' matrices/G1/a_1.mtx
pack G2 lost 40 40
download lists/all.tsv matrices
expect "exit code when all are there" "$code" 0
expect "downloads of the second run" "$(grep -c '^download: G' download.log)" 1
expect "the time of a kept file" "$(stat -c %y matrices/G1/a_1.mtx | cut -c1-4)" 2001

# A list of which the first line is a matrix, and a folder that another run downloads into.
tail -n +2 lists/all.tsv >headless.tsv
download headless.tsv matrices
expect "exit code without a header" "$code" 3
flock matrices "$scripts/download.sh" lists/all.tsv matrices 2>download.log && fail "two runs at one folder" || code=$?
expect "exit code beside another run" "$code" 6
grep -q 'another run' download.log || fail "the other run is not named"

# A half download goes on; one that is damaged, or is another matrix, leaves nothing behind and is told.
rm matrices/G1/a_1.mtx matrices/G1/a_2.mtx matrices/G2/lost.mtx
head -c 60 mirror/G1/a_1.tar.gz >matrices/G1/a_1.tar.gz.part
pack G1 a_2 31 20
echo "no archive" >mirror/G2/lost.tar.gz
download --gzip lists/all.tsv matrices
expect "exit code with damaged archives" "$code" 6
gzip -dc matrices/G1/a_1.mtx.gz | grep -q '^30 20 1$' || fail "the resumed download is not whole"
grep -q 'G1/a_2 is 31x20, not 30x20' download.log || fail "another matrix was taken"
grep -q 'G2/lost arrived damaged' download.log || fail "a damaged archive was taken"
expect "files of failed downloads" "$(find matrices -name '*a_2*' -o -name '*lost*' | wc -l)" 0

# A part that is longer than the archive can't be resumed: it is removed, once.
pack G1 a_2 30 20
head -c 100000 /dev/zero >matrices/G1/a_2.tar.gz.part
head -c 100000 /dev/zero >matrices/G2/lost.tar.gz.part
rm mirror/G2/lost.tar.gz
download lists/all.tsv matrices
expect "exit code with parts that can't be resumed" "$code" 6
grep -q '^30 20 1$' matrices/G1/a_2.mtx || fail "a part that can't be resumed was kept"
grep -q 'G2/lost could not be downloaded' download.log || fail "what is not on the mirror is not named"

# Names become paths: others are refused.
printf 'id\tgroup\tname\trows\tcols\n1\t..\tx\t1\t1\n' >bad.tsv
download bad.tsv matrices
expect "exit code of a bad list" "$code" 3
echo "suitesparse: lists and downloads behave" >&2
