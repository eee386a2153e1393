#!/usr/bin/env bash
# Sets everything up and runs all tests that need no ROS 2 and no virtual machine. Attaching needs root: it asks for sudo.
#
# usage: scripts/test.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
# shellcheck source=scripts/environment.sh
. scripts/environment.sh
mount_tracefs
make -s build testdata
# The tests are compiled as the user who calls, and run as root.
as_root_flags=()
[ "$(id -u)" -eq 0 ] || as_root_flags=(-exec "sudo --preserve-env=PATH,HOME,CARET_BPF_ALONE,CARET_BPF_REQUIRE_READERS")
export CGO_ENABLED=1
# Tests that record spend most of their time waiting for what they trace.
parallel=$((2 * $(nproc)))
scripts/run-tests.sh "${as_root_flags[@]}" -timeout 45m -parallel "$parallel" "$@"
scripts/test-duckdb.sh --required
scripts/test-objectstorage.sh --required
# On a machine for which nobody asked for them, npm and a browser may be missing.
scripts/test-browser.sh ${CARET_BPF_REQUIRE_BROWSER:+--required}
