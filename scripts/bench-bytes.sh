#!/usr/bin/env bash
# Records a steady periodic workload of the stand-in of each distribution, and of a real ROS 2 Jazzy if there is one, and prints the bytes that each
# column of a merged record takes, and the same of a synthetic system. bpftrace and, on the real one, LTTng record the same programs at the same time:
# what they take is told for what one merged record tells. Recording needs root; without it only the synthetic system is measured.
#
# usage: scripts/bench-bytes.sh [seconds]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

seconds=${1:-30}
output=$(mktemp -d)
node=
clean_up() {
	[ -z "$node" ] || kill "$node" 2>/dev/null || true
	rm -rf "$output"
}
trap clean_up EXIT

# measure NAME [lttng] records the process $node in all ways at once, then ends it.
measure() {
	local name=$1 lttng=${2:-} others=(-p "$node") beside=()
	if command -v bpftrace >/dev/null; then
		others+=(-bpftrace "$output/$name.txt")
	else
		echo "bench-bytes: there is no bpftrace to compare with" >&2
	fi
	[ -z "$lttng" ] || others+=(-lttng "$output/$name.ctf"
		-events "ros2:callback_start,ros2:callback_end,ros2:rclcpp_publish,ros2:rcl_publish,ros2:rmw_publish,ros2:rmw_take")
	"$output/tracewith" "${others[@]}" build/caret-bpf record -p "$node" -o "$output/$name" --duration "${seconds}s" >/dev/null 2>"$output/$name.said" ||
		{ cat "$output/$name.said" >&2; return 1; }
	kill -INT "$node"
	wait "$node" || true
	node=
	[ ! -s "$output/$name.txt" ] ||
		beside+=(-beside "bpftrace,$(stat -c %s "$output/$name.txt"),$(grep -c callback_end "$output/$name.txt")")
	[ -z "$lttng" ] ||
		beside+=(-beside "LTTng,$(find "$output/$name.ctf" -name 'events_*' ! -name '*.idx' -exec cat {} + | wc -c),$(babeltrace2 "$output/$name.ctf" | grep -c callback_end)")
	"$output/columnbytes" "${beside[@]}" "$output/$name"
}

go build -o "$output" ./tools/columnbytes ./tools/synthetic ./tools/tracewith

"$output/synthetic" 300000 "$output/synthetic-system"
"$output/columnbytes" "$output/synthetic-system"
[ "$(id -u)" -eq 0 ] || { echo "bench-bytes: recording needs root" >&2; exit 0; }
for distro in humble jazzy; do
	LD_LIBRARY_PATH=build/testdata/$distro RMW_IMPLEMENTATION=rmw_cyclonedds_cpp \
		"build/testdata/$distro/ros_node" --nodes 4 --topics 2 --rate 100 >/dev/null &
	node=$!
	sleep 2
	measure "$distro"
done

prefix=/opt/ros/jazzy
if [ ! -x "$prefix/lib/caret_targets/mt_nodes" ]; then
	echo "bench-bytes: there is no $prefix/lib/caret_targets/mt_nodes" >&2
	exit 0
fi
lttng=
if command -v lttng-sessiond >/dev/null && command -v babeltrace2 >/dev/null; then
	lttng=yes
fi
LD_LIBRARY_PATH=$prefix/lib AMENT_PREFIX_PATH=$prefix ROS_LOCALHOST_ONLY=1 ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST \
	ROS_DOMAIN_ID="${ROS_DOMAIN_ID:-88}" "$prefix/lib/caret_targets/mt_nodes" >/dev/null 2>&1 &
node=$!
sleep 5
measure jazzy-mt_nodes "$lttng"
