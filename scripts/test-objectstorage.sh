#!/usr/bin/env bash
# Tests lakes in object storage with a real server, which is built from its Go module. They are a module of their own,
# because nothing else needs the server.
#
# usage: scripts/test-objectstorage.sh [--required]     fails where the server cannot be had; else it says so and passes
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

cd test/objectstorage
if ! said=$(go list -deps github.com/versity/versitygw/cmd/versitygw 2>&1 >/dev/null); then
	if [ "${1:-}" = --required ]; then
		echo "test-objectstorage: the server's Go module cannot be had: ${said##*$'\n'}" >&2
		exit 1
	fi
	echo "test-objectstorage: skipped, the server's Go module cannot be had: ${said##*$'\n'}" >&2
	exit 0
fi
# The cache of tests does not notice that files outside of the module, which they read, have changed.
go test -count=1 -timeout 15m ./...
