#!/usr/bin/env bash
# From a fresh Debian 12 or 13 to a tuned kernel: installs the packages, builds in build/, tunes a sample matrix and prints the table.
# Arguments replace the sample: scripts/quickstart.sh my.mtx --op spmv
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went
root=$(cd "$(dirname "$0")/.." && pwd)

"$root/scripts/install-dependencies.sh" programs
"$root/scripts/build.sh" programs waco-tune waco-codegen waco-worker
if [ $# -eq 0 ]; then
  cd "$root"
  set -- data/samples/mesh_3dof.mtx.gz --op spmm
fi
echo "quickstart: build/bin/waco-tune $*" >&2
exec "$root/build/bin/waco-tune" "$@"
