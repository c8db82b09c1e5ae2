#!/usr/bin/env bash
# Installs the libraries that waco-bench compares with, as far as Debian has them. Nothing else needs them; the build
# finds those that are there. A library that can't be installed is reported and skipped.
#
#   scripts/install-peers.sh [PEER...]    eigen librsb graphblas libxsmm openblas mkl; all by default
#
# MKL is in Debian's non-free component, which is added to the package sources when it is not there yet.
set -euo pipefail

declare -A packages=(
  [eigen]=libeigen3-dev
  [librsb]=librsb-dev
  [graphblas]=libgraphblas-dev
  [libxsmm]=libxsmm-dev
  [openblas]=libopenblas-openmp-dev # one thread pool for all: not the pthread build
  [mkl]=libmkl-dev
)

say() { echo "install-peers: $*" >&2; }

# dpkg-query names the status once for each architecture that the package is installed for.
installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true) == installed* ]]
}

known() { apt-cache show "$1" >/dev/null 2>&1; }

# Adds a source of its own: no file of the system's is edited, and removing it undoes everything.
enable_non_free() {
  local release mirror signed_by source=/etc/apt/sources.list.d/waco-non-free.sources
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m1 -E '/debian(/|\.list)?$' || true)
  if [ "$(. /etc/os-release && echo "$ID")" != debian ] || [ -z "$release" ] || [ -z "$mirror" ]; then
    return 1
  fi
  say "adding the non-free component of $release, for MKL"
  # apt refuses sources of one mirror that differ in this line: Debian 13 has .pgp, 12 has .gpg, older systems none.
  for signed_by in Signed-By:\ /usr/share/keyrings/debian-archive-keyring.{pgp,gpg} ""; do
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: non-free\n%s\n' \
      "$mirror" "$release" "$signed_by" >"$source"
    if apt-get update -qq 2>/dev/null && known libmkl-dev; then return 0; fi
  done
  # A source that does not work, or contradicts another, would stand in the way of every later apt-get.
  rm -f "$source"
  apt-get update -qq || true
  return 1
}

if [ "$(id -u)" -ne 0 ]; then
  say "run as root: sudo $0"
  exit 1
fi
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=(eigen librsb graphblas libxsmm openblas mkl)
for peer in "${wanted[@]}"; do
  if [ -z "${packages[$peer]:-}" ]; then
    say "unknown library '$peer'; known: eigen librsb graphblas libxsmm openblas mkl"
    exit 2
  fi
done

export DEBIAN_FRONTEND=noninteractive
updated=false
skipped=()
for peer in "${wanted[@]}"; do
  package=${packages[$peer]}
  if installed "$package"; then
    say "$peer: $package is installed"
    continue
  fi
  if [ "$updated" = false ]; then
    apt-get update -qq || say "the package lists could not be updated"
    updated=true
  fi
  if ! known "$package" && [ "$peer" = mkl ]; then
    enable_non_free || say "the non-free component could not be added"
  fi
  if known "$package" && apt-get install -y -qq --no-install-recommends "$package" >/dev/null; then
    say "$peer: installed $package"
  else
    say "$peer: $package can't be installed here, skipped"
    skipped+=("$peer")
  fi
done
[ ${#skipped[@]} -eq 0 ] || say "skipped: ${skipped[*]}"
