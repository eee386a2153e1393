#!/usr/bin/env bash
# Runs README's two commands, and nothing before them, in a Debian that was installed a moment ago: debootstrap's smallest one, and a
# clone of what is committed here. It is a root of its own on this machine's kernel, where recording needs this machine's root.
#
# What lets this machine reach its package mirror and Go's proxy goes with it: apt's options for fetching, certificates, proxies.
# Needs debootstrap and git.
#
# usage: scripts/fresh-root.sh [--keep DIRECTORY] [--add PATH] bookworm|trixie [command...]
#   --keep DIRECTORY   where the root is, instead of in a temporary folder that is removed; what is already there is used as it is
#   --add PATH         what is here at this relative path, and was not committed, is in the clone, too
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh
# shellcheck source=scripts/debian-archive.sh
. scripts/debian-archive.sh

say() { echo "fresh-root: $*" >&2; }
die() {
	say "$*"
	exit 2
}

# What downloads are told by the environment, whatever program makes them.
passed_on=({http,https,no}_proxy {HTTP,HTTPS,NO}_PROXY SSL_CERT_{FILE,DIR}
	GOPROXY GOSUMDB GONOSUMDB GOPRIVATE GONOPROXY GOINSECURE)

# install_debian makes the root of a release.
install_debian() {
	local release=$1 mirror included=()
	mirror=$(debian_mirror)
	# Until it is installed there is nothing that a mirror's certificate could be checked with.
	[[ $mirror != https:* ]] || included=(--include=ca-certificates)
	as_root debootstrap --variant=minbase --keyring="$(debian_keyring)" "${included[@]}" "$release" "$root" "$mirror" >/dev/null
	apt-config dump | grep '^Acquire::' | as_root tee "$root/etc/apt/apt.conf.d/90caller" >/dev/null
	local file
	for file in /etc/resolv.conf /etc/hosts /usr/local/share/ca-certificates/. "${SSL_CERT_FILE:-}"; do
		[ -e "$file" ] || continue
		as_root mkdir -p "$root$(dirname "$file")"
		as_root cp -rL "$file" "$root$(dirname "$file")"
	done
}

# clone_repository puts what is committed into the root. Git wants to be called by the owner.
clone_repository() {
	[ -z "$(git status --porcelain)" ] || say "what is not committed is not tested"
	local clone
	clone=$(mktemp -d)
	git clone -q . "$clone/caret-bpf"
	as_root cp -r --no-preserve=ownership "$clone/caret-bpf" "$root/root/"
	rm -rf "$clone"
}

# enter_root runs in a mount namespace of its own, so that nothing stays mounted. A changed root, unlike that of chroot,
# may have namespaces, which tests of containers make.
enter_root() {
	local root=$1
	shift
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs run "$root/run"
	cd "$root"
	pivot_root . .
	umount -l .
	exec "$@"
}

# run_inside runs a command in the clone, as a user would who has just become root.
run_inside() {
	local name environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb)
	for name in "${passed_on[@]}"; do
		[ -z "${!name:-}" ] || environment+=("$name=${!name}")
	done
	# shellcheck disable=SC2016  # the inner shell expands it
	as_root unshare --mount bash -euc "$(declare -f enter_root)"'; enter_root "$@"' enter_root "$root" \
		/usr/bin/env -i --chdir=/root/caret-bpf "${environment[@]}" "$@"
}

# timed_inside also says how long it took, and how large the root is now.
timed_inside() {
	local begun=$SECONDS status=0
	run_inside "$@" || status=$?
	say "$release: $* ended with $status after $((SECONDS - begun)) s; the root has $(as_root du -shx "$root" | cut -f1)"
	return "$status"
}

keep='' added=''
while [[ ${1:-} == --* ]]; do
	case $1 in
	--keep) keep=${2:?} ;;
	--add) added=${2:?} ;;
	*) die "unknown option $1" ;;
	esac
	shift 2
done
release=${1:-}
shift || true
case $release in
bookworm | trixie) ;;
*) die "usage: $0 [--keep DIRECTORY] [--add PATH] bookworm|trixie [command...]" ;;
esac
command -v debootstrap >/dev/null || [ -x /usr/sbin/debootstrap ] || die "debootstrap is missing"
PATH=$PATH:/usr/sbin:/sbin

if [ -n "$keep" ]; then
	root=$(realpath "$keep")
else
	scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh-root.XXXXXX")
	trap 'as_root rm -rf --one-file-system "$scratch"' EXIT
	root=$scratch/$release
fi
if [ ! -e "$root/root/caret-bpf" ]; then
	begun=$SECONDS
	install_debian "$release"
	clone_repository
	say "$release is installed after $((SECONDS - begun)) s; the root has $(as_root du -shx "$root" | cut -f1)"
fi
if [ -n "$added" ]; then
	as_root mkdir -p "$root/root/caret-bpf/$(dirname "$added")"
	as_root cp -r --no-preserve=ownership "$added" "$root/root/caret-bpf/$added"
fi
if [ $# -gt 0 ]; then
	timed_inside "$@"
else
	timed_inside scripts/demo.sh
	timed_inside scripts/test.sh
fi
