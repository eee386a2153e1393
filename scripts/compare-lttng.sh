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
go build -o build/comparelttng ./tools/comparelttng

session=caret-bpf-$$
directory=$(mktemp -d)
started_daemon=
stop_daemon() {
	kill "$1"
	for _ in {1..50}; do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
}
clean_up() {
	lttng --quiet destroy "$session" >/dev/null 2>&1 || true
	[ -z "$started_daemon" ] || stop_daemon "$(cat "$directory/lttng-sessiond.pid")"
	if [ -n "$output" ]; then
		mkdir "$output" && mv "$directory/lttng" "$directory/recording" "$output"
	fi
	as_root rm -rf "$directory"
}
trap clean_up EXIT

if ! lttng --no-sessiond list >/dev/null 2>&1; then
	lttng-sessiond --background --no-kernel --pidfile="$directory/lttng-sessiond.pid" 2>"$directory/lttng-sessiond.log"
	started_daemon=yes
fi
# No event may be discarded: a program waits while the buffers are full. Of the programs that run meanwhile, only ours are recorded.
lttng --quiet create "$session" --output="$directory/lttng"
lttng --quiet enable-channel --userspace --session="$session" --subbuf-size=4M --num-subbuf=4 --blocking-timeout=inf events
lttng --quiet enable-event --userspace --session="$session" --channel=events 'ros2:*'
lttng --quiet add-context --userspace --session="$session" --channel=events --type=vpid --type=vtid
lttng --quiet untrack --userspace --session="$session" --all --vpid
lttng --quiet start "$session"

# track_and_run lets LTTng record this process, then makes it the program.
track_and_run() {
	lttng --quiet track --userspace --session="$1" --vpid=$$
	exec "$2"
}

run_programs() {
	local session=$1 seconds=$2 program
	shift 2
	for program in "$@"; do
		timeout --signal=INT --kill-after=20 "$seconds" \
			bash -c "$(declare -f track_and_run); track_and_run \"\$@\"" run "$session" "$program" >/dev/null &
	done
	wait
}

environment=(
	HOME="$HOME" PATH="$PATH" LD_LIBRARY_PATH="$prefix/lib:$prefix/lib/$(gcc -print-multiarch)" AMENT_PREFIX_PATH="$prefix"
	ROS_DOMAIN_ID="${ROS_DOMAIN_ID:-88}" ROS_LOCALHOST_ONLY=1 ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
	LTTNG_UST_ALLOW_BLOCKING=1 LTTNG_UST_REGISTER_TIMEOUT=-1
)
[ -z "${RMW_IMPLEMENTATION:-}" ] || environment+=(RMW_IMPLEMENTATION="$RMW_IMPLEMENTATION")
as_root env "${environment[@]}" build/caret-bpf record --raw --quiet --buffer-size 256M -o "$directory/recording" -- \
	bash -c "$(declare -f track_and_run run_programs); run_programs \"\$@\"" run "$session" "$seconds" "${programs[@]}"
lttng --quiet stop "$session"

build/comparelttng "$directory/lttng" "$directory/recording"
