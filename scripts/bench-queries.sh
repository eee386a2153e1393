#!/usr/bin/env bash
# Measures queries on made-up datasets, beside DuckDB's on the same files: medians of time and peak memory, and ratios.
#
# usage: scripts/bench-queries.sh [callbacks…]      default: 1, 10 and 50 million; the latter take 1.6 GB of disk, and eleven minutes to make
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

if [ $# -eq 0 ]; then set -- 1000000 10000000 50000000; fi
CGO_ENABLED=0 go build -trimpath -o build/caret-bpf ./cmd/caret-bpf
go build -o build/synthetic ./tools/synthetic
go build -o build/querybench ./tools/querybench
(cd test/duckdb && go build -o ../../build/sqlrun ./sqlrun)
build/querybench -runs "${BENCH_RUNS:-5}" "$@"
