#!/usr/bin/env bash
# Measures recordings of many processes, on the stand-ins and on the ROS 2 installations for which bench-added.sh has built the busy
# program, and of a large system of stand-ins. It needs root and some gigabytes of memory.
#
# usage: scripts/bench-vehicle.sh [rounds]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

[ "$(id -u)" -eq 0 ] || { echo "bench-vehicle: recording needs root" >&2; exit 0; }
go build -o build/vehicle ./tools/vehicle
build/vehicle -rounds "${1:-3}"
build/vehicle -crowd -only stand-in
