#!/usr/bin/env bash
# Runs the tests of the main module. A process that keeps its memory map holds up everybody who attaches, and any of
# them may let it go before the guard that is tested does: the tests that need such a process run alone.
#
# usage: scripts/run-tests.sh [go test flags]
set -euo pipefail
cd "$(dirname "$0")/.."

of_loader='^TestAttachingBesideALockedMap$'
CARET_BPF_ALONE=1 go test "$@" ./attachguard
CARET_BPF_ALONE=1 go test "$@" -run "$of_loader" ./loader
mapfile -t others < <(go list ./... | grep -v '/attachguard$')
go test "$@" -skip "$of_loader" "${others[@]}"
