# shellcheck shell=bash
# To be sourced. program_path NAME prints where the program is: in WACO_BIN, else with these scripts (of a clone in the folder
# that scripts/build.sh fills or, where it is not there, in that of a build by hand; of an installed prefix in its folder of
# programs), else in PATH. Where there is none, it prints where one would be built.
unset CDPATH  # cd would look there first, and print where it went
program_path() {
  local root folder
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  local installed="@WACO_BIN_FROM_DATA@"  # filled in by installing
  local folders=("$root/build-release/bin" "$root/build/bin")
  if [[ $installed != @* ]]; then folders=("$root/$installed"); fi
  if [ -n "${WACO_BIN-}" ]; then folders=("$WACO_BIN"); fi
  for folder in "${folders[@]}"; do
    if [ -x "$folder/$1" ]; then
      echo "$(cd "$folder" && pwd)/$1"
      return
    fi
  done
  { [ -z "${WACO_BIN-}" ] && command -v "$1"; } || echo "${folders[0]}/$1"
}
