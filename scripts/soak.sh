#!/usr/bin/env bash
# Tries the faults of docs/reliability.md in their long forms, as root, and writes its list of trials. What the tests print is
# kept in build/soak.json.
#
# usage: scripts/soak.sh [FILE...]    what `go test -json` has printed of tests in their ordinary forms, for the list
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
: >build/soak.json

# soak PACKAGE TIMEOUT REGEXP
soak() {
	CARET_BPF_SOAK=1 go test "$1" -count=1 -json -timeout "$2" -run "$3" | tee -a build/soak.json |
		sed -n 's/.*"Output":"\(.*\)\\n"}$/\1/p' || failed=1
}

soak ./test/recording 4h '^Test(KilledAtAnyMoment|StoppedRecorder|StarvedRecorder|EndlessRecording|TriggersDoNotLeak|OverloadIsAccountedFor|DiskFull|SlowDisk|PowerCut|Expectations|ManyEvents)$'
soak ./cmd/caret-bpf 1h '^TestKilled(Publisher|Forwarder)$'
go run ./tools/trials docs/reliability.md build/soak.json "$@"
exit "$failed"
