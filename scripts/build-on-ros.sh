#!/usr/bin/env bash
# Builds the programs of testdata that are for the stand-ins and for ROS 2 alike against the ROS 2 installations under /opt/ros, with the
# flags of their packages: build/on-ros/<distro>/<program>. What is current stays, and a distribution that is not installed is left out.
#
# usage: scripts/build-on-ros.sh
set -euo pipefail
cd "$(dirname "$0")/.."

for distro in humble jazzy; do
	prefix=/opt/ros/$distro folder=build/on-ros/$distro
	if [ ! -d "$prefix/include" ] || ! command -v g++ >/dev/null; then continue; fi
	includes=(-isystem "$prefix/include")
	for headers in "$prefix"/include/*/; do
		# Other folders hold headers themselves, some of them with names of the C library's.
		[ ! -d "$headers/$(basename "$headers")" ] || includes+=(-isystem "$headers")
	done
	flags=(-O2 -fcf-protection)
	[ "$distro" != jazzy ] || flags+=(-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer)
	mkdir -p "$folder"
	for program in busy spender pipeline; do
		newer=$(find testdata/any_ros.hpp "testdata/$program" -newer "$folder/$program" 2>/dev/null || echo new)
		[ -n "$newer" ] || continue
		g++ -std=c++17 "${flags[@]}" "${includes[@]}" "testdata/$program/$program.cpp" -o "$folder/$program" \
			-L"$prefix/lib" -Wl,-rpath-link,"$prefix/lib" -Wl,-z,now -Wl,-z,ibtplt -Wl,--allow-shlib-undefined \
			-lrclcpp -lrcl -lrcutils -lrmw -ltracetools -llibstatistics_collector -lstd_msgs__rosidl_typesupport_cpp \
			-lstatistics_msgs__rosidl_typesupport_cpp
	done
done
