#!/usr/bin/env bash
# Sets everything up, starts example programs, and records them while they run: those of an installed ROS 2 (under
# /opt/ros), or else the bundled ROS-shaped talker and listener. Attaching needs root: it asks for sudo.
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

# Programs that publish by themselves and need no arguments. What a line names is recorded together; the first line that is
# installed is taken.
examples=(
	"demo_nodes_cpp/talker demo_nodes_cpp/listener"
	"examples_rclcpp_minimal_publisher/publisher_member_function examples_rclcpp_minimal_subscriber/subscriber_member_function"
	"composition/manual_composition"
	"intra_process_demo/two_node_pipeline"
	"examples_rclcpp_multithreaded_executor/multithreaded_executor"
)

# find_programs prints the newest distribution's folder that has some, and then the programs.
find_programs() {
	local distro line program
	for distro in $(build/caret-bpf version --distros | tac) rolling; do
		for line in "${examples[@]}"; do
			for program in $line; do
				[ -x "/opt/ros/$distro/lib/$program" ] || continue 2
			done
			echo "/opt/ros/$distro $line"
			return
		done
	done
}

read -r ros programs <<<"$(find_programs)"
if [ -n "$ros" ]; then
	echo "demo: recording $programs of $ros"
elif compgen -G '/opt/ros/*/lib/librclcpp.so' >/dev/null; then
	echo "demo: the ROS 2 in /opt/ros has none of the programs that the demo knows, recording the bundled stand-in for them"
	printf 'demo: it knows %s\n' "${examples[@]}"
else
	echo "demo: no ROS 2 in /opt/ros, recording the bundled stand-in for it"
fi
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
	use_ros "$ros"
	for program in $programs; do start "$ros/lib/$program"; done
else
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
