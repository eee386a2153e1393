#!/usr/bin/env bash
# Records demo programs of ROS 2 from their start and while they run, with each distribution and RMW implementation that is installed, and
# writes docs/events.md's tables of what was recorded. It asks for sudo and takes a minute and a half for each pair.
#
# usage: scripts/event-table.sh [-r ROOT] [-o DIRECTORY]
#   -r   where the distributions are: ROOT/DISTRIBUTION, or ROOT/DISTRIBUTION-stripped if there is one (default /opt/ros)
#   -o   keep the recordings in this new directory
set -euo pipefail

root=/opt/ros output=
while getopts r:o: option; do
	case $option in
	r) root=${OPTARG%/} ;;
	o) output=$(realpath "$OPTARG") ;;
	*) exit 2 ;;
	esac
done
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh
make -s build
go build -o build/eventtable ./tools/eventtable

directory=$(mktemp -d) links=$(mktemp -d)
clean_up() {
	rm -rf "$links"
	if [ -n "$output" ]; then mv "$directory" "$output"; else as_root rm -rf "$directory"; fi
}
trap clean_up EXIT

# run_programs runs all programs for some seconds. Those that end by themselves are started again. Those of caret_targets show what no program
# of ROS 2 does (headers, generic publishers, reentrant groups, the static executor); they need not be installed.
run_programs() {
	local prefix=$1 seconds=$2 lib=$1/lib program
	local programs=(
		"demo_nodes_cpp/talker"
		"demo_nodes_cpp/listener --ros-args -p use_sim_time:=true"
		"demo_nodes_cpp/talker_serialized_message --ros-args -r chatter:=serialized -r __node:=serialized_talker"
		"demo_nodes_cpp/listener_serialized_message --ros-args -r chatter:=serialized -r __node:=serialized_listener"
		"demo_nodes_cpp/talker_loaned_message"
		"demo_nodes_cpp/add_two_ints_server"
		"demo_nodes_cpp/add_two_ints_client"
		"intra_process_demo/two_node_pipeline"
		"intra_process_demo/cyclic_pipeline"
		"lifecycle/lifecycle_talker"
		"lifecycle/lifecycle_service_client"
		"action_tutorials_cpp/fibonacci_action_server"
		"action_tutorials_cpp/fibonacci_action_client"
		"composition/dlopen_composition $lib/libtalker_component.so $lib/liblistener_component.so $lib/libserver_component.so $lib/libclient_component.so"
		"examples_rclcpp_multithreaded_executor/multithreaded_executor"
		"caret_targets/mt_nodes"
		"caret_targets/static_nodes"
	)
	local end=$((SECONDS + seconds))
	for program in "${programs[@]}"; do
		[ -x "$lib/${program%% *}" ] || continue
		(
			while [ "$SECONDS" -lt "$end" ]; do
				# shellcheck disable=SC2086 # arguments
				timeout --signal=INT --kill-after=10 $((end - SECONDS)) "$lib"/$program || true
				sleep 8
			done
		) >/dev/null 2>&1 </dev/null &
	done
	wait
}

record() {
	as_root env "${environment[@]}" build/caret-bpf record --quiet --buffer-size 64M --profile full "$@"
}

# Cyclone DDS of Humble has room for ten processes in a domain without multicast.
many_participants='<CycloneDDS><Domain><Discovery><MaxAutoParticipantIndex>99</MaxAutoParticipantIndex></Discovery></Domain></CycloneDDS>'
domain=90
for distro in $(build/caret-bpf version --distros); do
	prefix=$root/$distro-stripped
	[ -d "$prefix" ] || prefix=$root/$distro
	for rmw in rmw_fastrtps_cpp rmw_cyclonedds_cpp; do
		[ -e "$prefix/lib/lib$rmw.so" ] || continue
		echo "event-table: $distro with $rmw"
		# Others may run programs of this distribution, too: ours have a path of their own.
		ln -sfn "$prefix" "$links/ros"
		domain=$((domain + 1))
		environment=(
			HOME="$HOME" PATH="$PATH" LD_LIBRARY_PATH="$prefix/lib:$prefix/lib/$(gcc -print-multiarch)" AMENT_PREFIX_PATH="$prefix"
			CYCLONEDDS_URI="$many_participants" RMW_IMPLEMENTATION="$rmw" ROS_DOMAIN_ID="$domain" ROS_LOCALHOST_ONLY=1 ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
		)
		record -o "$directory/$distro-$rmw-launched" -- bash -c "$(declare -f run_programs); run_programs \"\$@\"" run "$links/ros" 30
		env "${environment[@]}" bash -c "$(declare -f run_programs); run_programs \"\$@\"" run "$links/ros" 40 &
		sleep 12
		record -o "$directory/$distro-$rmw-late" --name "^$links/ros/lib/" --duration 20s
		wait
	done
done
build/eventtable docs/events.md "$directory"/*
