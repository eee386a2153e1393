#!/usr/bin/env bash
# Runs the tests of the main module. A process that keeps its memory map holds up everybody who attaches, and any of
# them may let it go before the guard that is tested does: the tests that need such a process run alone.
#
# With -race, programs are recorded in short forms only: a recorder is several times slower under the race detector.
#
# usage: scripts/run-tests.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."

of_loader='^TestAttachingBesideALockedMap$'
short=()
[[ " $* " != *' -race '* ]] || short=(-short)
CARET_BPF_ALONE=1 go test "$@" ./attachguard
CARET_BPF_ALONE=1 go test "$@" -run "$of_loader" ./loader
mapfile -t others < <(go list ./... | grep -v -e '/attachguard$' -e '/test/recording$')
# What fails does not hide what else does.
failed=0
go test "$@" -skip "$of_loader" "${others[@]}" || failed=1
go test "$@" "${short[@]}" ./test/recording || failed=1
exit "$failed"
