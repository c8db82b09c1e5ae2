# shellcheck shell=bash
# To be sourced. built_program NAME prints where a program is that belongs to these scripts: of a clone in the folder that
# scripts/build.sh fills or, where it is not there, in that of a build by hand; of an installed prefix in its bin/.
built_program() {
  local root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  if [[ $root == */share/waco ]] && [ ! -e "$root/CMakeLists.txt" ]; then
    echo "${root%/share/waco}/bin/$1"
  elif [ ! -x "$root/build-release/bin/$1" ] && [ -x "$root/build/bin/$1" ]; then
    echo "$root/build/bin/$1"
  else
    echo "$root/build-release/bin/$1"
  fi
}
