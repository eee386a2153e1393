#!/usr/bin/env bash
# Compiles the BPF programs anew and compares them with what is committed.
#
# Objects differ between compiler versions; they are committed from the version named here.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

clang_major=14

found=$(clang --version | sed -n 's/.*clang version \([0-9]*\).*/\1/p')
if [ "$found" != "$clang_major" ]; then
	echo "check-generated: skipped, the committed objects are from clang $clang_major and this is clang $found"
	exit 0
fi
committed=$(mktemp -d)
trap 'rm -rf "$committed"' EXIT
cp bpf/caret_*_bpfel.* "$committed"
make -s generate
for file in "$committed"/*; do
	if ! cmp -s "$file" "bpf/$(basename "$file")"; then
		echo "check-generated: bpf/$(basename "$file") is not current: run 'make generate' and commit it" >&2
		exit 1
	fi
done
