#!/usr/bin/env bash
# go.mod, go vet, golangci-lint (import directions, staticcheck) at the versions named here, shellcheck.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/environment.sh
. scripts/environment.sh

# Whatever the main module requires anew, those of the tests with DuckDB, a browser and object storage have to follow.
(cd test/duckdb && go list -deps -test ./... >/dev/null)
(cd test/browser && go vet ./...)
(cd test/objectstorage && go vet ./...)
go vet ./...
GOARCH=arm64 go vet ./...
go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.6.2 run --allow-parallel-runners ./...
shellcheck -x -P SCRIPTDIR scripts/*.sh scripts/vm/*.sh scripts/vm/service/*.sh packaging/*.sh .ci/run
