#!/usr/bin/env bash
# Makes the packages and the image twice, which must give the same bytes, records from a container of the image (podman), and installs,
# upgrades, removes and purges the .deb in fresh roots of Debian 12 and 13 (debootstrap; as root), and then the .rpm, with the rpm that
# Debian has. No systemd runs there: the unit is only seen to be a file.
#
# usage: scripts/test-package.sh
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

former=build/package-former
rm -rf "$former"
scripts/package.sh v0.1.0
mv build/package/dist "$former"
scripts/package.sh v0.1.0
diff "$former/SHA256SUMS" build/package/dist/SHA256SUMS || {
	echo "test-package: the same commit gave other bytes" >&2
	exit 1
}
scripts/package.sh v0.2.0
mv "$former"/caret-bpf_0.1.0_amd64.deb "$former"/caret-bpf-0.1.0-*.x86_64.rpm build/package/dist
rm -rf "$former"

command -v podman >/dev/null || apt-get install -y -q --no-install-recommends podman runc >/dev/null
CARET_BPF_IMAGE=$PWD/build/package/dist/caret-bpf-0.2.0-image.tar go test -count=1 -run '^TestContainerImage$' ./cmd/caret-bpf

# shellcheck disable=SC2016  # the inner shell expands it
check='
	set -eux
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends rpm zsh fish jq >/dev/null
	dpkg -i build/package/dist/caret-bpf_0.1.0_amd64.deb
	caret-bpf version | grep -F "caret-bpf v0.1.0 "
	caret-bpf config check /etc/caret-bpf/session.yaml
	installed() {
		for file in /usr/share/man/man1/caret-bpf.1.gz /usr/lib/systemd/system/caret-bpf.service; do
			test -s $file
		done
		bash -n /usr/share/bash-completion/completions/caret-bpf
		zsh -n /usr/share/zsh/site-functions/_caret-bpf
		fish --no-execute /usr/share/fish/vendor_completions.d/caret-bpf.fish
		jq -e ".bomFormat == \"CycloneDX\" and ([.components[].name] | contains([\"github.com/cilium/ebpf\"]))" /usr/share/doc/caret-bpf/sbom.cdx.json
	}
	installed
	gzip -dc /usr/share/man/man1/caret-bpf.1.gz | grep -q "caret..bpf v0.2.0\|caret..bpf v0.1.0"
	echo "# mine" >>/etc/caret-bpf/session.yaml
	dpkg -i build/package/dist/caret-bpf_0.2.0_amd64.deb
	caret-bpf version | grep -F "caret-bpf v0.2.0 "
	grep -q "# mine" /etc/caret-bpf/session.yaml
	dpkg -r caret-bpf
	test ! -e /usr/bin/caret-bpf
	test -e /etc/caret-bpf/session.yaml
	dpkg -P caret-bpf
	test ! -e /etc/caret-bpf

	rpm -i --nodeps build/package/dist/caret-bpf-0.1.0-*.x86_64.rpm
	caret-bpf version | grep -F "caret-bpf v0.1.0 "
	installed
	echo "# mine" >>/etc/caret-bpf/session.yaml
	mkdir -p /var/cache/caret-bpf
	rpm -U --nodeps build/package/dist/caret-bpf-0.2.0-*.x86_64.rpm
	caret-bpf version | grep -F "caret-bpf v0.2.0 "
	grep -q "# mine" /etc/caret-bpf/session.yaml
	test -d /var/cache/caret-bpf
	rpm -e --nodeps caret-bpf
	test ! -e /usr/bin/caret-bpf
	test ! -e /var/cache/caret-bpf
	grep -q "# mine" /etc/caret-bpf/session.yaml.rpmsave
'
for release in bookworm trixie; do
	scripts/fresh-root.sh --add build/package/dist "$release" bash -c "$check"
done
