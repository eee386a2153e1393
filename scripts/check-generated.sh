#!/usr/bin/env bash
# Compiles the BPF programs anew and compares them with what is committed.
#
# Objects differ between compiler versions; they are committed from the version named here. Without it there is nothing to compare
# with: that is said, and is an error with --required, as in CI. Debian 13 does not have that version: --required fails there,
# whatever is installed, and scripts/test-compiler.sh tells whether its own clang makes programs that load.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

clang_major=14

major_of() { "$1" --version 2>/dev/null | sed -n 's/.*clang version \([0-9]*\).*/\1/p'; }

compiler=
for candidate in clang "clang-$clang_major"; do
	if [ "$(major_of "$candidate")" = "$clang_major" ]; then
		compiler=$candidate
		break
	fi
done
if [ -z "$compiler" ]; then
	found=$(major_of clang || true)
	remedy="install clang-$clang_major"
	apt-cache show "clang-$clang_major" >/dev/null 2>&1 ||
		remedy="no package source of this machine has clang-$clang_major: check on Debian 12, Ubuntu 22.04 or 24.04"
	echo "check-generated: NOT CHECKED: the committed objects are from clang $clang_major, here is ${found:+clang }${found:-no clang};" \
		"$remedy" >&2
	if [ "${1:-}" = --required ]; then exit 1; fi
	exit 0
fi
committed=$(mktemp -d)
trap 'rm -rf "$committed"' EXIT
cp bpf/caret_*_bpfel.* bpf/instructions.txt "$committed"
BPF2GO_CC=$compiler make -s generate >/dev/null
for file in "$committed"/*; do
	if ! cmp -s "$file" "bpf/$(basename "$file")"; then
		echo "check-generated: bpf/$(basename "$file") is not current: run 'make generate' and commit it" >&2
		exit 1
	fi
done
echo "check-generated: the committed objects are what $compiler makes of the sources"
