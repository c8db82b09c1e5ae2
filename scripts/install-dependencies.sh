#!/usr/bin/env bash
# Installs the Debian packages that building and testing need; asks for nothing, skips what is already there.
set -euo pipefail

packages=(ca-certificates git cmake g++ make ninja-build pkg-config libcli11-dev libfmt-dev libspdlog-dev
  nlohmann-json3-dev catch2 libhwloc-dev libhnswlib-dev zlib1g-dev curl jq
  libtorch-dev libopenblas0-openmp)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
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
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
