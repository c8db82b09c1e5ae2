# To be sourced. built_program NAME prints where a program of this tree is: in the folder that scripts/build.sh fills or,
# where it is not there, in that of a build by hand.
built_program() {
  local root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  if [ ! -x "$root/build-release/bin/$1" ] && [ -x "$root/build/bin/$1" ]; then
    echo "$root/build/bin/$1"
  else
    echo "$root/build-release/bin/$1"
  fi
}
