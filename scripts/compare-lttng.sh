#!/usr/bin/env bash
# Records ROS 2 programs with LTTng and with caret-bpf at the same time, from their start to their end, and compares every tracepoint
# hit. The exit code is 0 if both have the same. For distributions whose tracetools has LTTng in it (Iron and later). It asks for sudo.
#
# usage: scripts/compare-lttng.sh [-p PREFIX] [-d SECONDS] [-o DIRECTORY] [PROGRAM...]
#   -p   where ROS 2 is installed (default /opt/ros/jazzy)
#   -d   when the programs get SIGINT (default 10)
#   -o   keep both recordings, in this new directory
#   PROGRAM   path of a program, below PREFIX/lib if it is relative; it must not start others
#             (default: talker and listener of demo_nodes_cpp, and caret_targets/mt_nodes if there is one)
set -euo pipefail

prefix=/opt/ros/jazzy seconds=10 output=
while getopts p:d:o: option; do
	case $option in
	p) prefix=${OPTARG%/} ;;
	d) seconds=$OPTARG ;;
	o) output=$(realpath "$OPTARG") ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
cd "$(dirname "$0")/.."

programs=()
for program in "${@:-demo_nodes_cpp/talker}"; do
	programs+=("$(cd "$prefix/lib" && realpath -e "$program")")
done
if [ $# -eq 0 ]; then
	programs+=("$prefix/lib/demo_nodes_cpp/listener")
	[ ! -x "$prefix/lib/caret_targets/mt_nodes" ] || programs+=("$prefix/lib/caret_targets/mt_nodes")
fi

scripts/setup.sh --lttng
# shellcheck source=scripts/environment.sh
. scripts/environment.sh
if ! readelf -d "$prefix/lib/libtracetools.so" | grep -q liblttng-ust; then
	echo "compare-lttng: tracetools in $prefix was built without LTTng" >&2
	exit 2
fi
make -s build
go build -o build/ ./tools/comparelttng ./tools/tracewith

session=caret-bpf-$$
directory=$(mktemp -d)
clean_up() {
	if [ -n "$output" ]; then
		mkdir "$output" && mv "$directory/lttng" "$directory/recording" "$output"
	fi
	as_root rm -rf "$directory"
}
trap clean_up EXIT

run_programs() {
	local session=$1 seconds=$2 program
	shift 2
	for program in "$@"; do
		timeout --signal=INT --kill-after=20 "$seconds" build/tracewith -track "$session" "$program" >/dev/null &
	done
	wait
}

environment=(
	HOME="$HOME" PATH="$PATH" LD_LIBRARY_PATH="$prefix/lib:$prefix/lib/$(gcc -print-multiarch)" AMENT_PREFIX_PATH="$prefix"
	ROS_DOMAIN_ID="${ROS_DOMAIN_ID:-88}" ROS_LOCALHOST_ONLY=1 ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
	LTTNG_UST_ALLOW_BLOCKING=1 LTTNG_UST_REGISTER_TIMEOUT=-1
)
[ -z "${RMW_IMPLEMENTATION:-}" ] || environment+=(RMW_IMPLEMENTATION="$RMW_IMPLEMENTATION")
root=(env "${environment[@]}")
[ "$(id -u)" -eq 0 ] || root=(sudo "${root[@]}")
# No event may be discarded: a program waits while the buffers are full. Of the programs that run meanwhile, only ours are recorded.
build/tracewith -lttng "$directory/lttng" -session "$session" -blocking "${root[@]}" \
	build/caret-bpf record --raw --quiet --buffer-size 256M -o "$directory/recording" -- \
	bash -c "$(declare -f run_programs); run_programs \"\$@\"" run "$session" "$seconds" "${programs[@]}"

build/comparelttng "$directory/lttng" "$directory/recording"
