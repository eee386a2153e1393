#!/usr/bin/env bash
# Installs what building and testing caret-bpf needs on Debian or Ubuntu. Safe to run again: it only adds what is missing.
#
# usage: scripts/setup.sh [--recorder | --page | --stand-ins | --lint | --lttng]
#   --recorder    only what building the program needs: Go and make
#   --stand-ins   that, and what the ROS-shaped programs of testdata/ are built with
#   --page        what building the page of `view` needs: that, and npm
#   --lint        everything, shellcheck, npm and a browser
#   --lttng       everything, and what scripts/compare-lttng.sh compares with
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

update_lists() {
	as_root apt-get -o DPkg::Lock::Timeout=900 update -q >/dev/null
}

install_packages() {
	local missing
	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -eq 0 ] && return
	echo "setup: installing ${missing[*]}"
	update_lists
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

# offered reports whether the distribution has a package, and not only mentions it in others.
offered() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'; }

# From release 3 on, Fast DDS's package has another name.
install_fast_dds() {
	local package
	for package in libfastdds-dev libfastrtps-dev; do
		[ -z "$(missing_packages "$package")" ] && return
	done
	update_lists
	if offered libfastdds-dev; then package=libfastdds-dev; fi
	install_packages "$package"
}

install_for_recorder() {
	install_packages ca-certificates git make
	install_go
}

install_for_stand_ins() {
	install_packages gcc g++ binutils cyclonedds-dev
	install_fast_dds
}

install_for_tests() {
	install_packages clang llvm clang-format libbpf-dev linux-libc-dev sudo curl python3-venv babeltrace2 tmux
	# The tests of code that is followed compile it for both machines.
	[ "$(dpkg --print-architecture)" != amd64 ] || install_packages gcc-aarch64-linux-gnu
	install_java
}

# Spark, which test/readers reads datasets with, needs Java 17 or newer. Where 17 is not packaged, the default is newer.
install_java() {
	command -v java >/dev/null && return
	update_lists
	if offered openjdk-17-jre-headless; then
		install_packages openjdk-17-jre-headless
	else
		install_packages default-jre-headless
	fi
}

# The compiler of the committed BPF objects, with which scripts/check-generated.sh compares. Later releases do not have it.
install_first_compiler() {
	if offered clang-14; then install_packages clang-14; fi
}

# Where Node.js was installed from elsewhere it brings its own npm, and the distribution's would not go with it.
install_for_page() {
	command -v npm >/dev/null || install_packages nodejs npm
}

# Where chromium is no package of its own, another browser has to be there: the tests say which.
install_browser() {
	local browser
	for browser in chromium google-chrome chromium-browser; do
		! command -v "$browser" >/dev/null || return 0
	done
	install_packages chromium
}

install_for_recorder
case ${1:-} in
--recorder) exit 0 ;;
--page)
	install_for_page
	exit 0
	;;
esac
install_for_stand_ins
[ "${1:-}" != --stand-ins ] || exit 0
install_for_tests
case ${1:-} in
--lint)
	install_packages shellcheck
	install_first_compiler
	install_for_page
	install_browser
	;;
--lttng) install_packages lttng-tools ;;
esac
