#!/usr/bin/env bash
# Runs every fuzz target of the repository for the given time (default 30s).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

time=${1:-30s}

# fuzz runs one target. On a busy machine Go may report its own deadline at the end of the time as a failure, without an input that
# fails: that is none.
fuzz() {
	local output
	if output=$(go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1x "$1" 2>&1); then
		tail -n 1 <<<"$output"
	elif grep -q 'context deadline exceeded' <<<"$output" && ! grep -q 'Failing input' <<<"$output"; then
		echo "fuzz: stopped late, no failing input"
	else
		echo "$output"
		return 1
	fi
}

grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	package=./$(dirname "${file#./}")
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r target; do
		echo "fuzz: $package $target"
		fuzz "$package" "$target"
	done
done
