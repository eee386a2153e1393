#!/usr/bin/env bash
# Builds the page of `view` and `report` and tests it: its parts by themselves, and what it shows in a real browser. The
# latter are a module of their own, because nothing else drives a browser.
#
# usage: scripts/test-browser.sh [--required] [go test flags]     fails without npm or a browser; else it says so and passes
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

required=
if [ "${1:-}" = --required ]; then
	required=yes
	shift
fi
absent=
if ! command -v npm >/dev/null; then
	absent="there is no npm"
elif ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null && ! command -v chromium-browser >/dev/null; then
	absent="there is no browser (chromium)"
fi
if [ -n "$absent" ]; then
	if [ -n "$required" ]; then
		echo "test-browser: $absent" >&2
		exit 1
	fi
	echo "test-browser: skipped, $absent" >&2
	exit 0
fi
make -s web
(cd web && npm run --silent check)
cd test/browser
export CARET_BPF_REQUIRE_BROWSER=1
# The cache of tests does not notice that files outside of the module, which they read, have changed.
go test -count=1 -timeout 15m "$@" ./...
