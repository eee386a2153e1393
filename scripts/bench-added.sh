#!/usr/bin/env bash
# Measures the processor time that recording adds to a thread, beside bpftrace and LTTng: on the stand-ins, and on the ROS 2 installations
# under /opt/ros. What is not installed is left out, and said to be. It needs root.
#
# usage: scripts/bench-added.sh [rounds]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

[ "$(id -u)" -eq 0 ] || { echo "bench-added: recording needs root" >&2; exit 0; }
rounds=${1:-5}

scripts/build-on-ros.sh
go build -o build/addedtime ./tools/addedtime
build/addedtime -rounds "$rounds"
