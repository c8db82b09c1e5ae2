#!/usr/bin/env bash
# Runs the scripts for setting up with stand-ins for the tools that they look for.
#
#   tests/scripts/run.sh SOURCE_FOLDER
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went

source_dir=$(cd "$1" && pwd)
. "$source_dir/tests/scripts/expect.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# A tree with the scripts, and a path on which nothing is but what is linked here.
mkdir -p tree/{apps,lib,kernels-templates,tests} bin
cp -r "$source_dir/scripts" tree/scripts
touch tree/lib/a.cpp
for tool in bash cat dirname env find mktemp nproc rm sed sh tail tee xargs; do ln -s "$(command -v "$tool")" bin/; done
# Where a user's CDPATH would send them.
mkdir -p elsewhere/tree/scripts
export CDPATH=$work/elsewhere
on_path() { env PATH="$work/bin" "$@"; }

# stand_in NAME WORDS: a program that prints its version, and notes that it was given a file.
stand_in() {
  # shellcheck disable=SC2016 # its own arguments
  printf '#!/bin/sh\n[ "$1" = --version ] && echo "%s" || echo %s >>"%s"\n' "$2" "$1" "$work/used" >"bin/$1"
  chmod +x "bin/$1"
}

# ---- The style is that of one version of clang-format; others check nothing.
expect 0 "clang-format 14 is not installed, skipped" on_path tree/scripts/check-style.sh
stand_in clang-format "Ubuntu clang-format version 18.1.3"
expect 0 "skipped; clang-format is version 18.1.3" on_path tree/scripts/check-style.sh
[ ! -e used ]
stand_in clang-format-14 "Debian clang-format version 14.0.6"
expect 0 "every file is formatted" on_path tree/scripts/check-style.sh
echo clang-format-14 | diff - used
rm bin/clang-format-14 used
stand_in clang-format "clang-format version 14.0.6"
expect 0 "every file is formatted" on_path tree/scripts/check-style.sh
echo clang-format | diff - used

# ---- Where there are no Debian packages, one line says what to do instead.
expect 1 "see 'Building by hand' in README.md" on_path tree/scripts/install-dependencies.sh
expect 1 "see 'Building by hand' in README.md" on_path tree/scripts/quickstart.sh
[ "$(wc -l <err)" -eq 1 ]
grep -q '^## Building by hand$' "$source_dir/README.md"
expect 2 "not 'everything'" on_path tree/scripts/install-dependencies.sh everything

# ---- The programs need fewer packages than the tests. Whoever is not root, and has no sudo, is told their names.
printf '#!/bin/sh\nexit 1\n' | tee bin/apt-get >bin/dpkg-query
printf '#!/bin/sh\necho 1000\n' >bin/id
chmod +x bin/apt-get bin/dpkg-query bin/id
expect 1 "apt-get install cmake g++" on_path tree/scripts/install-dependencies.sh
for package in libcli11-dev catch2 libtorch-dev jq; do grep -q " $package" err; done
expect 1 "apt-get install cmake g++" on_path tree/scripts/install-dependencies.sh programs
grep -q " libcli11-dev" err
if grep -q -e catch2 -e torch -e ninja err; then echo "scripts: the programs need no tests" >&2 && exit 1; fi

# ---- What is built where.
printf '#!/bin/sh\necho "$*" >>"%s"\n' "$work/cmake" >bin/cmake
chmod +x bin/cmake
JOBS=3 expect 0 "" on_path tree/scripts/build.sh programs waco-tune
JOBS=3 expect 0 "" on_path tree/scripts/build.sh
diff cmake - <<'END'
-S . -B build -DWACO_TESTS=OFF -DWACO_TRAIN=OFF -DCMAKE_UNITY_BUILD=ON
--build build --parallel 3 --target waco-tune
--preset release
--build build-release --parallel 3
END

# ---- Packages of several architectures are installed; what the lists lack for want of one source may not be needed.
printf '#!/bin/sh\nprintf installedinstalled\n' >bin/dpkg-query
expect 0 "everything is installed" on_path tree/scripts/install-dependencies.sh
printf '#!/bin/sh\nexit 1\n' >bin/dpkg-query
printf '#!/bin/sh\necho 0\n' >bin/id
printf '#!/bin/sh\necho "$*" >>"%s"\n[ "$1" = install ]\n' "$work/apt" >bin/apt-get
expect 0 "the package lists could not be updated" on_path tree/scripts/install-dependencies.sh programs
grep -q "^install .* libcli11-dev" apt
printf '#!/bin/sh\nexit 1\n' >bin/apt-get
expect 1 "the package lists could not be updated" on_path tree/scripts/install-dependencies.sh programs

# ---- The last line of the tests counts them, however ctest ends and whatever colours are asked for.
printf '#!/bin/sh\nprintf installed\n' >bin/dpkg-query
cat >bin/ctest <<'END'
#!/bin/sh
[ "${CLICOLOR_FORCE-0}" = 0 ] || color=$(printf '\033[0;31m')
echo "60% tests passed, ${color-}2 tests failed${color-} out of 5"
exit 8
END
chmod +x bin/ctest
CLICOLOR_FORCE=1 expect 8 "every file is formatted" on_path tree/scripts/test.sh
[ "$(tail -n 1 out)" = "3 passed, 2 failed" ]
