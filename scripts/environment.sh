# shellcheck shell=bash
# Sourced by the other scripts: finds the Go that scripts/setup.sh may have installed, and tracefs.
if ! command -v go >/dev/null || ! go env GOTOOLCHAIN >/dev/null 2>&1 || [ -z "$(go env GOTOOLCHAIN)" ]; then
	PATH=$HOME/.local/share/caret-bpf/go/bin:$PATH
fi
export PATH

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# The fallback for kernels without uprobe_multi needs it; most systems mount it by themselves.
mount_tracefs() {
	[ -e /sys/kernel/tracing/uprobe_events ] || as_root mount -t tracefs tracefs /sys/kernel/tracing
}
