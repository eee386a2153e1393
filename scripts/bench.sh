#!/usr/bin/env bash
# Runs the Go benchmarks several times and prints the median of each.
#
# usage: scripts/bench.sh [runs]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

runs=${1:-5}
go test -run '^$' -bench . -benchmem -timeout 3h -count "$runs" ./... | awk '
	/^Benchmark/ {
		name = $1
		for (i = 3; i < NF; i += 2) {
			key = name SUBSEP $(i + 1)
			if (!(key in count)) order[++keys] = key
			values[key, ++count[key]] = $i
		}
	}
	END {
		for (k = 1; k <= keys; k++) {
			key = order[k]
			n = count[key]
			for (i = 1; i <= n; i++) sorted[i] = values[key, i] + 0
			for (i = 2; i <= n; i++) {
				v = sorted[i]
				for (j = i - 1; j > 0 && sorted[j] > v; j--) sorted[j + 1] = sorted[j]
				sorted[j + 1] = v
			}
			split(key, part, SUBSEP)
			printf "%-60s %14.2f %s\n", part[1], sorted[int((n + 1) / 2)], part[2]
		}
	}'
