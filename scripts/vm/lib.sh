# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder (sourced, not run).

vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo_dir=$(cd "$vm_dir/../.." && pwd)
cache_dir=$repo_dir/build/vm

# A kernel of the matrix: its name, the Debian release and meta package it comes from, and what its
# command line adds.
#   6.1        no uprobe_multi: the tracefs fallback is what runs
#   6.1-rt     the same, with sleeping spin locks and everything preemptible
#   6.12-full  uprobe_multi, and programs that are preempted anywhere
#   arm64-6.1, arm64-6.12  without and with uprobe_multi, on the other architecture
native_kernels=(6.1 6.1-rt 6.12-full)
kernel_names=("${native_kernels[@]}" arm64-6.1 arm64-6.12)

kernel_source() {
	case $1 in
	6.1) echo bookworm linux-image-amd64 ;;
	6.1-rt) echo bookworm linux-image-rt-amd64 ;;
	6.12-full) echo bookworm-backports linux-image-amd64 ;;
	arm64-6.1) echo bookworm linux-image-arm64 ;;
	arm64-6.12) echo bookworm-backports linux-image-arm64 ;;
	*) die "unknown kernel $1 (known: ${kernel_names[*]})" ;;
	esac
}

# architecture_of prints the architecture of a kernel, as Debian and Go call it.
architecture_of() {
	case $1 in
	arm64-*) echo arm64 ;;
	*) echo amd64 ;;
	esac
}

# busybox_of prints where an architecture's busybox is kept.
busybox_of() {
	case $1 in
	amd64) echo "$cache_dir/busybox" ;;
	*) echo "$cache_dir/busybox-$1" ;;
	esac
}

# The root file system of guests of another architecture than the host's, and what is in it: Debian's, with the compiler
# that tests call and the libraries that the stand-ins are linked with.
foreign_root() { echo "$cache_dir/root-$1"; }
foreign_packages=(dash bash coreutils util-linux mount iproute2 procps findutils grep sed mawk hostname base-files gcc g++ libc6-dev binutils
	libfastrtps-dev cyclonedds-dev)

kernel_arguments() {
	case $1 in
	6.12-full) echo preempt=full ;;
	esac
}

# What a guest needs beyond what Debian builds in: its root over 9p or on a disk, overlay for tests of containers, and a network card
# without a network, for DDS discovery.
guest_modules=(virtio_pci 9pnet_virtio 9p virtio_blk crc32c_generic ext4 overlay dummy)

say() { printf 'vm: %s\n' "$*" >&2; }

die() {
	say "$*"
	exit 2
}

# need_program installs the packages of a program where it is missing.
need_program() {
	local program=$1
	shift
	command -v "$program" >/dev/null && return
	local sudo=()
	[[ $(id -u) -eq 0 ]] || sudo=(sudo)
	say "installing $*"
	"${sudo[@]}" apt-get -o DPkg::Lock::Timeout=900 install -y --no-install-recommends "$@" >/dev/null ||
		die "cannot install $*"
}

# accelerator prints what QEMU should use. /dev/kvm alone promises nothing: in a virtual machine without nested
# virtualization it may exist and be far slower than emulation. Emulation of this architecture is single-threaded: with several threads QEMU
# may run code that the guest's kernel has just patched in its old form, and the guest dies of a breakpoint that is gone. arm64 tells
# every core that code has changed.
accelerator() {
	if [[ $1 == amd64 && -r /dev/kvm && -w /dev/kvm ]] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
		echo kvm
	elif [[ $1 == arm64 ]]; then
		echo tcg,thread=multi
	else
		echo tcg,thread=single
	fi
}

# make_initramfs packs an init, busybox and the modules of a kernel.
make_initramfs() {
	local kernel=$1 init=$2 image=$3 tree=$3.tree
	mkdir -p "$tree/bin"
	cp "$(busybox_of "$(architecture_of "$kernel")")" "$tree/bin/busybox"
	cp "$init" "$tree/init"
	cp -r "$cache_dir/kernels/$kernel/modules/lib" "$tree/lib"
	chmod +x "$tree/init"
	(cd "$tree" && find . | "$cache_dir/busybox" cpio -o -H newc -R 0:0 2>/dev/null) >"$image"
	rm -rf "$tree"
}

# kernel_complaints prints what a guest's kernel logged that a correct program must not cause. Stalls are left out: on a busy
# host they tell of the host.
kernel_complaints() {
	{ cat "$@" 2>/dev/null || true; } |
		grep -E '\bBUG: |\bOops: |WARNING: CPU|general protection fault|Internal error: |Kernel panic' |
		grep -v 'soft lockup'
}
