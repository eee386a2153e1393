#!/usr/bin/env bash
# Installs what building and testing caret-bpf needs on Debian or Ubuntu. Safe to run again: it only adds what is missing.
#
# usage: scripts/setup.sh [--lint | --lttng]
#   --lint    also install shellcheck
#   --lttng   also install what scripts/compare-lttng.sh compares with
set -euo pipefail
cd "$(dirname "$0")/.."

least_go=1.21 # from here on, Go fetches the toolchain that go.mod asks for by itself

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

missing_packages() {
	local package
	for package in "$@"; do
		dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || echo "$package"
	done
}

install_packages() {
	local missing
	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -eq 0 ] && return
	echo "setup: installing ${missing[*]}"
	as_root apt-get -o DPkg::Lock::Timeout=900 update -q >/dev/null
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=900 install -y -q "${missing[@]}" >/dev/null
}

go_is_recent() {
	command -v go >/dev/null || return 1
	local version
	version=$(go env GOVERSION)
	[ "$(printf '%s\n' "$least_go" "${version#go}" | sort -V | head -n 1)" = "$least_go" ]
}

# Distributions with an older Go than go.mod needs: the toolchain is itself a Go module, so the old Go can fetch the new one.
install_go() {
	go_is_recent && return
	local private=$HOME/.local/share/caret-bpf/go
	if [ ! -x "$private/bin/go" ]; then
		install_packages golang-go
		go_is_recent && return
		local version directory
		version=$(sed -n 's/^go //p' go.mod)
		echo "setup: fetching Go $version as a module"
		directory=$(cd / && GO111MODULE=on GOFLAGS=-mod=mod go mod download -json \
			"golang.org/toolchain@v0.0.1-go$version.linux-$(dpkg --print-architecture)" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
		mkdir -p "$(dirname "$private")"
		cp -r "$directory" "$private.partial"
		chmod -R u+w "$private.partial"
		find "$private.partial/bin" "$private.partial/pkg/tool" -type f -exec chmod +x {} +
		mv "$private.partial" "$private"
	fi
	echo "setup: Go is in $private/bin"
}

install_packages ca-certificates git make gcc g++ clang llvm clang-format libbpf-dev linux-libc-dev binutils \
	libfastrtps-dev libfastcdr-dev cyclonedds-dev cyclonedds-tools sudo
# The tests of code that is followed compile it for both machines.
[ "$(dpkg --print-architecture)" != amd64 ] || install_packages gcc-aarch64-linux-gnu
install_go
case ${1:-} in
--lint) install_packages shellcheck clang-14 ;; # what scripts/check-generated.sh compares with
--lttng) install_packages lttng-tools babeltrace2 ;;
esac
