#!/usr/bin/env bash
# Makes build/package/dist: a .deb and an .rpm for amd64 and arm64, one container image for both, static binaries, SBOMs (CycloneDX) and
# checksums. The same commit gives the same bytes. It needs Go, and fetches nfpm and cyclonedx-gomod by it. The page of view and report
# has to be in web/dist (make web).
#
# usage: scripts/package.sh [version]      default: what git says
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

readonly nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.0
readonly gomod=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

if [[ ! -f web/dist/app.js ]]; then
	echo "package: the page is not built: run \`make web\` first (it needs Node)" >&2
	exit 1
fi
version=${1:-$(git describe --tags --always --dirty)}
# Packages have versions that begin with a digit.
PACKAGE_VERSION=${version#v}
[[ $PACKAGE_VERSION == [0-9]*.* ]] || PACKAGE_VERSION=0.0~git$PACKAGE_VERSION
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export PACKAGE_VERSION SOURCE_DATE_EPOCH
umask 022

out=build/package
rm -rf "$out"
mkdir -p "$out/dist"

# describe_modules writes which modules an architecture's binary has. What is random or a time is taken out.
describe_modules() {
	GOARCH=$1 CGO_ENABLED=0 "$tools/cyclonedx-gomod" app -json -noserial -main cmd/caret-bpf . |
		python3 -c 'import json, sys
bom = json.load(sys.stdin)
bom["metadata"].pop("timestamp", None)
bom.pop("serialNumber", None)
json.dump(bom, sys.stdout, indent=1, sort_keys=True)'
}

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install "$nfpm"
GOBIN=$tools go install "$gomod"

for arch in amd64 arm64; do
	mkdir -p "$out/$arch"
	GOOS=linux GOARCH=$arch CGO_ENABLED=0 go build -tags page -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$out/$arch/caret-bpf" ./cmd/caret-bpf
	describe_modules "$arch" >"$out/$arch/sbom.cdx.json"
done

here=$out/$(go env GOHOSTARCH)/caret-bpf
"$here" man | gzip -9n >"$out/caret-bpf.1.gz"
"$here" completion bash >"$out/caret-bpf.bash"
"$here" completion zsh >"$out/_caret-bpf"
"$here" completion fish >"$out/caret-bpf.fish"

for arch in amd64 arm64; do
	export PACKAGE_ARCH=$arch
	for format in deb rpm; do
		"$tools/nfpm" package --config packaging/nfpm.yaml --packager "$format" --target "$out/dist/"
	done
	cp "$out/$arch/caret-bpf" "$out/dist/caret-bpf-$PACKAGE_VERSION-linux-$arch"
	cp "$out/$arch/sbom.cdx.json" "$out/dist/caret-bpf-$PACKAGE_VERSION-linux-$arch.cdx.json"
done
go run ./tools/image -version "${version#v}" -revision "$(git rev-parse HEAD)" -o "$out/dist/caret-bpf-$PACKAGE_VERSION-image.tar" \
	amd64="$out/amd64/caret-bpf" arm64="$out/arm64/caret-bpf"
(cd "$out/dist" && sha256sum -- * >SHA256SUMS)
ls "$out/dist"
