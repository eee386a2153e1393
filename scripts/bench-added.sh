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

# build_busy builds the busy program against an installed ROS 2, with the flags of its packages.
build_busy() {
	local distro=$1 prefix=/opt/ros/$1 program=build/busy/$1 folder
	local includes=(-isystem "$prefix/include") flags=(-O2 -fcf-protection)
	if [ ! -d "$prefix/include" ] || ! command -v g++ >/dev/null; then return 0; fi
	if [ "$program" -nt testdata/busy/busy.cpp ] && [ "$program" -nt testdata/busy/meter.hpp ]; then return 0; fi
	for folder in "$prefix"/include/*/; do
		# Other folders hold headers themselves, some of them with names of the C library's.
		[ ! -d "$folder/$(basename "$folder")" ] || includes+=(-isystem "$folder")
	done
	[ "$distro" != jazzy ] || flags+=(-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer)
	mkdir -p build/busy
	g++ -std=c++17 "${flags[@]}" "${includes[@]}" testdata/busy/busy.cpp -o "$program" \
		-L"$prefix/lib" -Wl,-rpath-link,"$prefix/lib" -Wl,-z,now -Wl,-z,ibtplt -Wl,--allow-shlib-undefined \
		-lrclcpp -lrcl -lrcutils -lrmw -ltracetools -llibstatistics_collector -lstd_msgs__rosidl_typesupport_cpp -lstatistics_msgs__rosidl_typesupport_cpp
}

build_busy humble
build_busy jazzy
go build -o build/addedtime ./tools/addedtime
build/addedtime -rounds "$rounds"
