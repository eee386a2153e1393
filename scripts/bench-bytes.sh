#!/usr/bin/env bash
# Records a steady periodic workload of the stand-in of each distribution and prints the bytes that each column of a merged record takes, and
# the same of a synthetic system. Recording needs root; without it only the synthetic one is measured.
#
# usage: scripts/bench-bytes.sh [seconds]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

seconds=${1:-30}
output=$(mktemp -d)
node=
trap '[ -z "$node" ] || kill "$node" 2>/dev/null; rm -rf "$output"' EXIT
go build -o "$output" ./scripts/columnbytes ./scripts/synthetic

"$output/synthetic" 300000 "$output/synthetic-system"
"$output/columnbytes" "$output/synthetic-system"
[ "$(id -u)" -eq 0 ] || { echo "bench-bytes: recording needs root" >&2; exit 0; }
for distro in humble jazzy; do
	LD_LIBRARY_PATH=build/testdata/$distro RMW_IMPLEMENTATION=rmw_cyclonedds_cpp \
		"build/testdata/$distro/ros_node" --nodes 4 --topics 2 --rate 100 >/dev/null &
	node=$!
	sleep 2
	build/caret-bpf record -p "$node" -o "$output/$distro" --duration "${seconds}s" >/dev/null 2>&1
	kill -INT "$node"
	wait "$node" || true
	node=
	"$output/columnbytes" "$output/$distro"
done
