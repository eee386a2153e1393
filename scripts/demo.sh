#!/usr/bin/env bash
# Sets everything up, starts a talker and a listener, and records both while they run: those of an installed ROS 2
# (demo_nodes_cpp under /opt/ros), or else the bundled ROS-shaped ones. Attaching needs root: it asks for sudo.
#
# usage: scripts/demo.sh [seconds]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-5}
output=demo-recording

scripts/setup.sh --recorder
# shellcheck source=scripts/environment.sh
. scripts/environment.sh
make -s build

# The newest installed distribution with demo_nodes_cpp.
find_ros() {
	local distro newest=
	for distro in $(build/caret-bpf version --distros); do
		if [ -x "/opt/ros/$distro/lib/demo_nodes_cpp/talker" ]; then newest=/opt/ros/$distro; fi
	done
	echo "$newest"
}

ros=$(find_ros)
[ -n "$ros" ] || scripts/setup.sh --stand-ins

started=()
said=$(mktemp -d)
stop_nodes() {
	for pid in "${started[@]}"; do kill -INT "$pid" 2>/dev/null || true; done
	wait
	rm -rf "$said"
}
trap stop_nodes EXIT

start() {
	"$@" >"$said/${#started[@]}" 2>&1 &
	started+=($!)
}

# A node without its libraries, say, ends at once: then there is nothing to record, and its last words tell why.
require_running() {
	local node
	for node in "${!started[@]}"; do
		kill -0 "${started[node]}" 2>/dev/null && continue
		echo "demo: a node ended at once; it said:" >&2
		cat "$said/$node" >&2
		exit 1
	done
}

# Makes a ROS 2 installation usable from here: by its own setup, which knows where its packages keep their libraries.
use_ros() {
	if [ -f "$1/setup.bash" ]; then
		set +u # it uses variables that are not set
		# shellcheck source=/dev/null
		. "$1/setup.bash"
		set -u
	else
		export LD_LIBRARY_PATH=$1/lib AMENT_PREFIX_PATH=$1
	fi
}

if [ -n "$ros" ]; then
	echo "demo: recording demo_nodes_cpp of $ros"
	use_ros "$ros"
	start "$ros/lib/demo_nodes_cpp/talker"
	start "$ros/lib/demo_nodes_cpp/listener"
else
	echo "demo: no ROS 2 in /opt/ros, recording the bundled stand-in for it"
	make -s -C testdata jazzy
	start build/testdata/jazzy/ros_node --demo-talker
	start build/testdata/jazzy/ros_node --demo-listener
fi
sleep 3
require_running

as_root rm -rf "$output"
as_root build/caret-bpf record -p "${started[*]}" -d "${seconds}s" -o "$output"
echo
echo "demo: the dataset is in $output; try: build/caret-bpf info $output"
