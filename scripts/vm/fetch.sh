#!/usr/bin/env bash
# Fetches one kernel of the matrix (see lib.sh) into build/vm/kernels/<name>/, once:
#
#   vmlinuz   the kernel image
#   modules/  lib/modules/<version> with the modules that guests load and a modules.dep
#   version   the kernel's release, as `uname -r` prints it
#
# and busybox-static into build/vm/busybox; for a kernel of another architecture also that one's busybox (busybox-<architecture>) and a
# root file system (root-<architecture>). Nothing is installed on the host: the packages come through a
# private apt state whose only sources are Debian releases on the mirror the host already uses (or
# $DEBIAN_MIRROR, for a host that is not Debian). Signatures are checked as always.
#
# usage: scripts/vm/fetch.sh <kernel>
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../debian-archive.sh"

# with_release runs an apt tool on one Debian release and $architecture only, with state and cache of its own.
with_release() {
	local release=$1 tool=$2
	shift 2
	local state=$cache_dir/apt/$release-$architecture
	mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/parts"
	: >>"$state/status"
	echo "deb [arch=$architecture signed-by=$(debian_keyring)] $(debian_mirror) $release main" >"$state/sources.list"
	"$tool" -q \
		-o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture" \
		-o APT::Sandbox::User="$(id -un)" \
		-o Acquire::Languages=none \
		-o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status" \
		-o Dir::Cache="$state" -o Dir::Cache::archives="$state/archives" \
		-o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts="$state/parts" \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$state/parts" \
		"$@"
}

# unpack downloads a package of a release and unpacks it into a folder.
unpack() {
	local release=$1 package=$2 into=$3 scratch
	scratch=$(mktemp -d "$cache_dir/download.XXXXXX")
	say "downloading $package from $release"
	(cd "$scratch" && with_release "$release" apt-get download "$package" >/dev/null)
	mkdir -p "$into"
	dpkg-deb -x "$scratch"/*.deb "$into"
	rm -rf "$scratch"
}

# fetch_busybox fetches that of $architecture once.
fetch_busybox() {
	local into
	into=$(busybox_of "$architecture")
	[[ -x $into ]] && return
	local scratch=$into.partial
	rm -rf "$scratch"
	with_release bookworm apt-get update >/dev/null
	unpack bookworm busybox-static "$scratch"
	mv "$(find "$scratch" -type f -name busybox -path '*bin/*')" "$into"
	rm -rf "$scratch"
}

# fetch_root unpacks the root file system of guests of $architecture.
fetch_root() {
	local into partial package
	into=$(foreign_root "$architecture")
	partial=$into.partial
	[[ -e $into ]] && return
	rm -rf "$partial"
	mkdir -p "$partial"
	with_release bookworm apt-get update >/dev/null
	say "downloading a root file system for $architecture"
	with_release bookworm apt-get install -y --no-install-recommends --download-only "${foreign_packages[@]}" >/dev/null
	for package in "$cache_dir/apt/bookworm-$architecture/archives"/*.deb; do
		dpkg-deb -x "$package" "$partial"
		rm "$package"
	done
	# What configuring would make, as far as tests need it.
	ln -s gcc "$partial/usr/bin/cc"
	mkdir -p "$partial"/{proc,sys,dev,run,tmp,var/tmp,root}
	printf '%s:x:0:0:root:/root:/bin/bash\n' root >"$partial/etc/passwd"
	printf 'root:x:0:\n' >"$partial/etc/group"
	mv "$partial" "$into"
}

# keep_modules copies the modules that guests load, with all they depend on, from one tree to another, unpacked.
keep_modules() {
	local from=$1 to=$2 version=$3 module path
	local tree=lib/modules/$version
	for module in "${guest_modules[@]}"; do
		# A line of modules.dep is "path: dependency...". A module without a line is built in.
		sed -n -E "s|^([^:]*/$module\.ko[^:]*):|\1|p" "$from/$tree/modules.dep" | tr ' ' '\n'
	done | sort -u | while read -r path; do
		mkdir -p "$to/$tree/${path%/*}"
		case $path in
		*.xz) xz -dc "$from/$tree/$path" >"$to/$tree/${path%.xz}" ;;
		*) cp "$from/$tree/$path" "$to/$tree/$path" ;;
		esac
	done
	"$cache_dir/busybox" depmod -b "$to" "$version"
}

fetch_kernel() {
	local kernel=$1 into=$cache_dir/kernels/$1 release meta package partial version
	# With other modules than those that are wanted now it is fetched anew.
	[[ -e $into/version && $(cat "$into/wanted" 2>/dev/null) == "${guest_modules[*]}" ]] && return
	read -r release meta <<<"$(kernel_source "$kernel")"
	with_release "$release" apt-get update >/dev/null
	package=$(with_release "$release" apt-cache depends --important "$meta" |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
	[[ -n $package ]] || die "$meta of $release names no kernel"
	version=${package#linux-image-}
	partial=$into.partial
	rm -rf "$partial" "$into"
	unpack "$release" "$package" "$partial/package"
	mv "$partial/package/boot/vmlinuz-$version" "$partial/vmlinuz"
	"$cache_dir/busybox" depmod -b "$partial/package" "$version"
	keep_modules "$partial/package" "$partial/modules" "$version"
	rm -rf "$partial/package"
	echo "${guest_modules[*]}" >"$partial/wanted"
	echo "$version" >"$partial/version"
	mv "$partial" "$into"
	say "kernel $kernel is $version"
}

[[ $# -eq 1 ]] || die "usage: $0 <kernel>"
kernel_source "$1" >/dev/null
mkdir -p "$cache_dir/kernels"
exec 9>"$cache_dir/fetch.lock"
flock 9
# This machine's is used here, too.
architecture=amd64 fetch_busybox
architecture=$(architecture_of "$1")
fetch_busybox
[[ $architecture == amd64 ]] || fetch_root
fetch_kernel "$1"
