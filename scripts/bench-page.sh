#!/usr/bin/env bash
# Measures the page of `view` and `report` in a real browser: first picture, frames while zooming, memory, size of a report.
#
# usage: scripts/bench-page.sh [callbacks…]      sizes of the datasets; default: 1000, 1 and 10 million
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh
make -s web
cd test/browser
BENCH_CALLBACKS=$* CARET_BPF_REQUIRE_BROWSER=1 go test -count=1 -run '^$' -bench . -benchtime 3x -timeout 2h ./...
