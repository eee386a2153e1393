#!/usr/bin/env bash
# Compiles the BPF programs with the clang that is here, or with those named, and runs the tests that load and drive them on this
# kernel. It does so in a copy: the committed objects stay those of one version (scripts/check-generated.sh). Needs root.
#
# usage: scripts/test-compiler.sh [clang...]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

[ $# -gt 0 ] || set -- clang
as_root_flags=()
[ "$(id -u)" -eq 0 ] || as_root_flags=(-exec "sudo --preserve-env=PATH,HOME")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for compiler; do
	version=$("$compiler" --version | sed -n 's/.*clang version \([0-9]*\).*/\1/p')
	copy=$scratch/clang-$version
	mkdir "$copy"
	git ls-files -z | tar --null -T- -c | tar -x -C "$copy"
	echo "test-compiler: clang $version, $(uname -r)"
	BPF2GO_CC=$compiler make -s -C "$copy" generate
	(cd "$copy" && go test "${as_root_flags[@]}" -count=1 -short ./loader ./merge/...)
done
