#!/usr/bin/env bash
# Runs every fuzz target of the repository for the given time (default 30s).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

time=${1:-30s}
grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	package=./$(dirname "${file#./}")
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r target; do
		echo "fuzz: $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x "$package"
	done
done
