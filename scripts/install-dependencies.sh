#!/usr/bin/env bash
# Installs the Debian packages that building and testing need; asks for nothing, skips what is already there.
#
#   scripts/install-dependencies.sh [programs]    with "programs" only what the programs but waco-train are built with
set -euo pipefail

packages=(cmake g++ make pkg-config libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libhwloc-dev libhnswlib-dev
  zlib1g-dev)
case ${1-} in
'') packages+=(ca-certificates clang-format-14 git ninja-build catch2 curl jq libtorch-dev libopenblas0-openmp) ;;
programs) ;;
*)
  echo "install-dependencies: takes nothing or 'programs', not '$1'" >&2
  exit 2
  ;;
esac
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "install-dependencies: only Debian's packages are known here, and there is no apt-get: see 'Building by hand' in README.md" >&2
  exit 1
fi

# Whether this release has no such package, as far as there are lists of its packages yet.
lacks() { apt-cache show cmake >/dev/null 2>&1 && ! apt-cache show "$1" >/dev/null 2>&1; }

find_missing() {
  local package status
  missing=()
  for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    # Once for each architecture that the package is installed for.
    [[ $status == installed* ]] && continue
    # For the style alone, which is not checked where there is another version.
    if [ "$package" = clang-format-14 ] && lacks "$package"; then continue; fi
    missing+=("$package")
  done
}

find_missing
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-dependencies: everything is installed" >&2
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-dependencies: run as root, or install by hand: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "install-dependencies: installing ${missing[*]}" >&2
# A source that can't be reached may be one that no package here comes from.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
  echo "install-dependencies: the package lists could not be updated" >&2
find_missing
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
