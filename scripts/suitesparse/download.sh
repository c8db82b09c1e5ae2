#!/usr/bin/env bash
# Downloads the matrices of a list that make-lists.sh wrote.
#
#   scripts/suitesparse/download.sh [--jobs N] [--gzip] [--mirror URL] LIST FOLDER
#
# Every matrix becomes FOLDER/GROUP/NAME.mtx (.mtx.gz with --gzip). What is there is skipped; an interrupted download
# goes on where it stopped; an archive is unpacked only if it is whole and holds the matrix that the list names, with its
# rows and columns. --jobs: downloads at once (default: 4); --mirror: where the collection is (default: the
# collection's own server). Exit codes: 0 done, 2 usage, 3 LIST is no list, 6 some could not be had: run it again for those.
set -euo pipefail

usage() {
  sed -n '2,4s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

# An address to a file, going on where it ends. `answer` is the status of HTTP.
download() {
  answer=$(curl --fail --silent --show-error --location --retry 3 --continue-at - --write-out '%{http_code}' -o "$2" "$1")
}

# One matrix. Arguments: mirror, folder, gzip (0 or 1), group, name, rows, cols. Returns 1 after saying why not.
fetch() {
  local mirror=$1 folder=$2/$4 compress=$3 group=$4 name=$5 rows=$6 cols=$7
  local archive=$folder/$name.tar.gz.part matrix=$folder/$name.mtx
  { [ -s "$matrix" ] || [ -s "$matrix.gz" ]; } && return 0
  mkdir -p "$folder"
  # A download that was complete before has nothing left to resume, which servers answer with an error.
  if ! gzip -tq "$archive" 2>/dev/null; then
    local code=0 answer=""
    download "$mirror/$group/$name.tar.gz" "$archive" || code=$?
    # So they do where there is more than there should be (416): a part that can't be resumed is of no use.
    if { [[ $code =~ ^(33|36)$ ]] || [[ $code == 22 && $answer == 416 ]]; } && [ -s "$archive" ]; then
      rm "$archive"
      code=0
      download "$mirror/$group/$name.tar.gz" "$archive" || code=$?
    fi
    if [ $code -ne 0 ]; then
      echo "download: $group/$name could not be downloaded" >&2
      return 1
    fi
    if ! gzip -tq "$archive" 2>/dev/null; then
      echo "download: $group/$name arrived damaged; it will be downloaded again" >&2
      rm -f "$archive"
      return 1
    fi
  fi
  if ! tar -tzf "$archive" "$name/$name.mtx" >/dev/null 2>&1; then
    echo "download: the archive of $group/$name holds no $name/$name.mtx" >&2
    rm -f "$archive"
    return 1
  fi
  if ! tar -xzOf "$archive" "$name/$name.mtx" >"$matrix.part"; then
    echo "download: $group/$name could not be unpacked; its archive is kept for the next run" >&2
    rm -f "$matrix.part"
    return 1
  fi
  # The first line that is no comment says rows and columns.
  local size
  size=$(awk '!/^%/ { print $1 "x" $2; exit }' "$matrix.part")
  if [ "$size" != "${rows}x$cols" ]; then
    echo "download: $group/$name is $size, not ${rows}x$cols as the list says" >&2
    rm -f "$matrix.part" "$archive"
    return 1
  fi
  if [ "$compress" = 1 ]; then
    gzip -n <"$matrix.part" >"$matrix.gz.part"
    rm "$matrix.part"
    mv "$matrix.gz.part" "$matrix.gz"
  else
    mv "$matrix.part" "$matrix"
  fi
  rm -f "$archive"
  echo "download: $group/$name" >&2
}

if [ "${1-}" = --one ]; then  # how this script starts itself
  shift
  fetch "$@"
  exit
fi

jobs=4
compress=0
mirror=https://sparse.tamu.edu/MM
while [ $# -gt 2 ]; do
  case $1 in
    --jobs) jobs=$2 && shift 2 ;;
    --mirror) mirror=${2%/} && shift 2 ;;
    --gzip) compress=1 && shift ;;
    *) usage ;;
  esac
done
if [ $# -ne 2 ] || [[ $1 == -* ]]; then usage; fi
list=$1
folder=$2
[ -r "$list" ] || { echo "download: $list can't be read; make-lists.sh writes lists" >&2; exit 3; }

head -n 1 "$list" | grep -q $'^id\tgroup\tname\trows\tcols' || { echo "download: $list has no header as make-lists.sh writes it" >&2; exit 3; }

# A name is part of a path and of an address: letters, digits and a few signs.
bad=$(awk -F'\t' 'NR > 1 && (NF < 5 || $2 !~ /^[A-Za-z0-9_-]+$/ || $3 !~ /^[A-Za-z0-9_+-][A-Za-z0-9_.+-]*$/) { print NR; exit }' "$list")
[ -z "$bad" ] || { echo "download: $list: line $bad is not an id, group, name, rows and cols" >&2; exit 3; }

mkdir -p "$folder"
# Two runs would write to one part. Where the file system has no locks this goes on without.
exec 9<"$folder"
flock -n 9 || [ $? -ne 1 ] || { echo "download: another run is at $folder" >&2; exit 6; }
awk -F'\t' 'NR > 1 { print $2; print $3; print $4; print $5 }' "$list" |
  xargs -r -d '\n' -n 4 -P "$jobs" bash "${BASH_SOURCE[0]}" --one "$mirror" "$folder" "$compress" || failed=1
total=$(awk 'END { print NR - 1 }' "$list")
have=$(awk -F'\t' 'NR > 1 { print $2 "/" $3 }' "$list" | while IFS= read -r matrix; do
  if [ -s "$folder/$matrix.mtx" ] || [ -s "$folder/$matrix.mtx.gz" ]; then echo; fi
done | wc -l)
echo "download: $have of $total matrices are in $folder" >&2
[ "$have" -eq "$total" ] && [ -z "${failed-}" ] || exit 6
