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
as_root env CGO_ENABLED=1 go test -timeout 30m "$@" ./... ./testdata/groundtruth ./testdata/standin
(cd testdata/duckdb && as_root env CGO_ENABLED=1 go test -timeout 10m ./...)
