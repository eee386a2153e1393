#!/usr/bin/env bash
# Tests that DuckDB reads what the recorder writes. They are a module of their own, because nothing else needs DuckDB.
#
# usage: scripts/test-duckdb.sh [--required]     fails without DuckDB's library, or a C++ compiler to link it with; else it says so and passes
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

cd test/duckdb
export CGO_ENABLED=1
absent=
if ! command -v "$(go env CXX)" >/dev/null; then
	absent="there is no C++ compiler ($(go env CXX))"
elif ! said=$(go list -deps github.com/duckdb/duckdb-go/v2 2>&1 >/dev/null); then
	absent="DuckDB's Go module cannot be had: ${said##*$'\n'}"
fi
if [ -n "$absent" ]; then
	if [ "${1:-}" = --required ]; then
		echo "test-duckdb: $absent" >&2
		exit 1
	fi
	echo "test-duckdb: skipped, $absent" >&2
	exit 0
fi
# The cache of tests does not notice that files outside of the module, which they read, have changed.
go test -count=1 -timeout 10m ./...
