# To be sourced, with `fail` defined. Tables between the markers "NAME: begin" and "NAME: end" of a Markdown page.

# check_page FILE NAME: fails when the markers are not there.
check_page() {
  { grep -q "$2: begin" "$1" && grep -q "$2: end" "$1"; } || fail "$1 has no markers '$2: begin' and '$2: end'" 3
}

# redraw_page FILE NAME TABLES: what is between the markers becomes the file TABLES.
redraw_page() {
  awk -v begin="$2: begin" -v end="$2: end" -v tables="$3" '
    index($0, end) { inside = 0 }
    !inside { print }
    index($0, begin) { inside = 1; while ((getline line < tables) > 0) print line }' "$1" >"$1.part"
  mv "$1.part" "$1"
}
