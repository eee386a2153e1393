#!/usr/bin/env bash
# Tries the systemd service of the .deb in an emulated machine with Debian and its systemd: when it is ready, its watchdog, restarts, an
# upgrade, its removal, and each sandboxing option that docs/service.md has in its table, alone. The packaged unit is all of them together
# that survive.
#
# usage: scripts/vm/service.sh [option...]
#
#   --kernel NAME      6.12-full (default), with Debian 13, or 6.1, with Debian 12
#   --packages FOLDER  two versions of the .deb for amd64, instead of making them
#   --option OPTION    try this option instead of those of the table, and nothing else (may be repeated); "A=1; B=2" tries two together
#   --no-options       try the packaged unit only
#   --timeout SECONDS  of the guest; default 3600
#
# It needs root, debootstrap and mkfs.ext4 to make Debian's disk (once), and stand-ins (`make testdata`). It prints a line for each thing
# that was tried. Exits 0 when all is as expected, 1 when not, 2 when nothing could be run.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../debian-archive.sh"

kernel=6.12-full
packages=
options=()
timeout=3600
no_options=
while [[ $# -gt 0 ]]; do
	if [[ $1 == --no-options ]]; then
		no_options=yes
		shift
		continue
	fi
	[[ $# -ge 2 ]] || die "unknown option $1, or it needs a value"
	case $1 in
	--kernel) kernel=$2 ;;
	--packages) packages=$(realpath "$2") ;;
	--option) options+=("$2") ;;
	--timeout) timeout=$2 ;;
	*) die "unknown option $1" ;;
	esac
	shift 2
done

# release_of prints the Debian whose kernel that is, and where the table has it.
release_of() {
	case $1 in
	6.12-full) echo trixie 3 ;;
	6.1) echo bookworm 4 ;;
	*) die "no Debian with systemd for the kernel $1" ;;
	esac
}

# make_disk installs Debian with systemd, once. It is not made below this module: Go would look into it.
make_disk() {
	local release=$1 disk=$2 scratch mirror included=systemd,systemd-sysv,jq,procps
	[[ ! -e $disk ]] || return 0
	need_program debootstrap debootstrap
	mirror=$(debian_mirror)
	[[ $mirror != https:* ]] || included+=,ca-certificates
	scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/service.XXXXXX")
	say "installing $release"
	# What it mounts goes with its namespace.
	unshare --mount debootstrap --variant=minbase --include="$included" --keyring="$(debian_keyring)" "$release" "$scratch" "$mirror" >/dev/null
	# With this file systemd would think that it is in a container.
	rm -f "$scratch/.dockerenv"
	# The first boot of a machine without a number asks who is at the console.
	echo 0123456789abcdef0123456789abcdef >"$scratch/etc/machine-id"
	rm -f "$disk.partial"
	truncate -s 8G "$disk.partial"
	mkfs.ext4 -q -d "$scratch" "$disk.partial"
	rm -rf --one-file-system "$scratch"
	mv "$disk.partial" "$disk"
}

# make_packages makes two versions of the package.
make_packages() {
	local version
	packages=$job/packages
	mkdir "$packages"
	for version in v0.1.0 v0.2.0; do
		"$repo_dir/scripts/package.sh" "$version" >&2
		cp "$repo_dir"/build/package/dist/*_amd64.deb "$packages"
	done
}

# table_options prints the options of the table in docs/service.md: what one column says of them, and the options.
table_options() {
	# shellcheck disable=SC2016  # the quotes are the table's
	awk -F ' *[|] *' -v column="$1" '/^\| `[A-Z][A-Za-z]*=/ {
		gsub(/`, `/, "; ", $2)
		gsub(/`/, "", $2)
		if ($column ~ /^(survives|breaks)$/) print $column "\t" $2
	}' "$repo_dir/docs/service.md"
}

boot() {
	local accel cpu=host
	accel=$(accelerator amd64)
	[[ $accel != tcg* ]] || cpu=max
	make_initramfs "$kernel" "$vm_dir/service/init" "$job.initramfs"
	# One processor: emulation is single-threaded (accelerator), and two would wait for each other. setpriv: as in run.sh.
	setpriv --pdeathsig TERM timeout --foreground -k 10 "$timeout" nice -n 5 qemu-system-x86_64 \
		-accel "$accel" -cpu "$cpu" -smp 1 -m 2048 \
		-nodefaults -no-user-config -display none -no-reboot \
		-chardev stdio,id=console,signal=off -serial chardev:console \
		-kernel "$cache_dir/kernels/$kernel/vmlinuz" -initrd "$job.initramfs" \
		-append "console=ttyS0 quiet loglevel=4 oops=panic panic=-1 mitigations=off systemd.run=/job/guest.sh" \
		-drive "file=$disk,if=virtio,format=raw,snapshot=on" \
		-virtfs "local,path=$job,mount_tag=job,security_model=none"
}

read -r release column <<<"$(release_of "$kernel")"
need_program qemu-system-x86_64 qemu-system-x86
"$vm_dir/fetch.sh" "$kernel"
disk=$cache_dir/service-$release.img
make_disk "$release" "$disk"

mkdir -p "$cache_dir/runs"
job=$(mktemp -d "$cache_dir/runs/service-$kernel-$(date +%Y%m%d-%H%M%S).XXXX")
trap 'rm -f "$job.initramfs"' EXIT
[[ -n $packages ]] || make_packages
mapfile -t versions < <(find "$packages" -name '*_amd64.deb' | sort -V)
[[ ${#versions[@]} -eq 2 ]] || die "$packages has not two packages for amd64"
for number in 0 1; do
	name=$([[ $number -eq 0 ]] && echo former || echo later)
	cp "${versions[$number]}" "$job/$name.deb"
	echo "v$(dpkg-deb -f "${versions[$number]}" Version)" >"$job/$name.version"
done

standins=$repo_dir/build/testdata/jazzy-stripped
[[ -x $standins/ros_node ]] || die "there are no stand-ins: make testdata"
cp -r "$standins" "$job/jazzy"
mkdir "$job/libraries"
# The C library is the guest's. It has to be as new as the one that the stand-ins were built with.
ldd "$standins"/ros_node "$standins"/librmw_*.so | sed -n 's|.*=> \(/[^ ]*\) .*|\1|p' | sort -u |
	grep -vE "^$standins|/(libc|libm|ld-linux[^/]*)\.so" | xargs cp -Lt "$job/libraries"
cp "$vm_dir/service/guest.sh" "$job/guest.sh"
if [[ ${#options[@]} -gt 0 ]]; then
	: >"$job/only-options"
	printf 'survives\t%s\n' "${options[@]}" >"$job/options"
elif [[ $no_options ]]; then
	: >"$job/options"
else
	table_options "$column" >"$job/options"
	[[ -s $job/options ]] || die "docs/service.md has no table of options"
fi

boot </dev/null >"$job/console.log" 2>&1 || true
cat "$job/results" 2>/dev/null || true
if ! [[ -e $job/finished ]]; then
	echo "FAIL the guest died or ran out of its $timeout seconds; logs in ${job#"$repo_dir"/}"
	exit 1
fi
if grep -q '^FAIL' "$job/results" || kernel_complaints "$job/dmesg" "$job/console.log"; then
	echo "FAIL $kernel; logs in ${job#"$repo_dir"/}"
	exit 1
fi
echo "PASS $kernel with $release: $(grep -c . "$job/results") things tried in $SECONDS s"
rm -rf "$job"
