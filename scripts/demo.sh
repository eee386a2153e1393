#!/usr/bin/env bash
# Sets everything up, starts a talker and a listener, and records both while they run: those of an installed ROS 2
# (demo_nodes_cpp under /opt/ros), or else the bundled ROS-shaped ones. Attaching needs root: it asks for sudo.
#
# usage: scripts/demo.sh [seconds]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-5}
output=demo-recording

scripts/setup.sh
# shellcheck source=scripts/environment.sh
. scripts/environment.sh
make -s build

started=()
stop_nodes() {
	for pid in "${started[@]}"; do kill -INT "$pid" 2>/dev/null || true; done
	wait
}
trap stop_nodes EXIT

start() {
	"$@" >/dev/null 2>&1 &
	started+=($!)
}

# The newest installed distribution with demo_nodes_cpp, by name.
find_ros() {
	local talker
	for talker in /opt/ros/{lyrical,kilted,jazzy,iron,humble}/lib/demo_nodes_cpp/talker; do
		if [ -x "$talker" ]; then
			echo "${talker%/lib/demo_nodes_cpp/talker}"
			return
		fi
	done
}

ros=$(find_ros)
if [ -n "$ros" ]; then
	echo "demo: recording demo_nodes_cpp of $ros"
	export LD_LIBRARY_PATH=$ros/lib AMENT_PREFIX_PATH=$ros
	start "$ros/lib/demo_nodes_cpp/talker"
	start "$ros/lib/demo_nodes_cpp/listener"
else
	echo "demo: no ROS 2 in /opt/ros, recording the bundled stand-in for it"
	make -s testdata
	start build/testdata/jazzy/ros_node --demo-talker
	start build/testdata/jazzy/ros_node --demo-listener
fi
sleep 3

as_root rm -rf "$output"
as_root build/caret-bpf record -p "${started[*]}" -d "${seconds}s" -o "$output"
echo
echo "demo: the dataset is in $output; try: build/caret-bpf info $output"
