#!/usr/bin/env bash
# Runs the Go benchmarks several times; benchstat, of the version named here, prints the median of each and how far its values spread.
# The values themselves stay in build/benchmarks.txt: benchstat compares two such files.
#
# usage: scripts/bench.sh [runs]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

runs=${1:-6} # of fewer, benchstat says no spread
mkdir -p build
go test -run '^$' -bench . -benchmem -timeout 3h -count "$runs" ./... >build/benchmarks.txt || {
	grep -v '^Benchmark' build/benchmarks.txt >&2
	exit 1
}
go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da build/benchmarks.txt
