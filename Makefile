# Builds, checks and tests of caret-bpf. `make help` lists the targets.
SHELL := /bin/bash
GO ?= go
FUZZ_TIME ?= 30s
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BPF_SOURCES := $(wildcard bpf/src/*.h bpf/src/*.c)
# Where the C library's headers for this architecture are (asm/types.h).
export BPF2GO_CFLAGS := -I/usr/include/$(shell gcc -print-multiarch 2>/dev/null)

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

# The page of `view` and `report` is in the program where it was built before.
PAGE_TAGS = $(if $(wildcard web/dist/app.js),-tags page)

.PHONY: build
build: ## Build the static binary build/caret-bpf, with the page of view and report if `make web` has built it
	CGO_ENABLED=0 $(GO) build $(PAGE_TAGS) -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o build/caret-bpf ./cmd/caret-bpf

.PHONY: web
web: ## Build the page of view and report into web/dist (needs Node and npm)
	cd web && npm ci && npm run build

.PHONY: generate
generate: ## Compile the BPF programs and their bindings (needs clang), and list their instructions
	$(GO) generate ./bpf
	@cat bpf/instructions.txt

.PHONY: check-generated
check-generated: ## Fail if the committed BPF objects are not what the sources give
	scripts/check-generated.sh

.PHONY: testdata
testdata: ## Build the ROS-shaped programs that tests trace
	$(MAKE) -C testdata

.PHONY: test
test: build testdata ## Run all tests (as root, those that attach run too; those with DuckDB where it can be had)
	scripts/run-tests.sh
	scripts/test-duckdb.sh
	scripts/test-browser.sh
	scripts/test-objectstorage.sh

.PHONY: test-engines
test-engines: ## Ask the views of other SQL engines, with a cluster of Spark; CARET_BPF_TRINO=http://HOST:PORT asks Trino, too
	CARET_BPF_SPARK_CLUSTER=1 $(GO) test -count=1 -timeout 30m -run Views ./test/readers

.PHONY: test-privileged
test-privileged: build testdata ## Run all tests as root, under the race detector
	scripts/test.sh -race

.PHONY: test-ros
test-ros: build ## Run the tests against /opt/ros/<distro> (as root)
	CARET_BPF_REQUIRE_ROS=1 $(GO) test -count=1 -timeout 30m -run 'ROS' -v ./...

.PHONY: test-programs
test-programs: build ## Record random programs against /opt/ros/<distro>, late and from the start (as root). PROGRAMS="100" how many, SEED="1" the first
	CARET_BPF_REQUIRE_ROS=1 CARET_BPF_PROGRAMS=$(or $(PROGRAMS),100) CARET_BPF_PROGRAM_SEED=$(or $(SEED),1) \
		$(GO) test -count=1 -timeout 12h -run TestROSRandomPrograms -v ./test/programs

.PHONY: test-vehicle
test-vehicle: build testdata ## Launch 60 stand-ins at once, 20 times, recorded in each way (as root)
	CARET_BPF_VEHICLE_NODES=60 CARET_BPF_VEHICLE_ROUNDS=20 $(GO) test -count=1 -timeout 12h -run TestAVehicleIsLaunched -v ./test/recording

.PHONY: soak
soak: build testdata ## Try the faults of docs/reliability.md in their long forms (as root): more than an hour; writes its list of trials. TRIALS="FILE" what go test -json printed of ordinary forms
	scripts/soak.sh $(TRIALS)

.PHONY: test-vm
test-vm: build testdata ## Run the privileged tests on Debian's kernels 6.1, 6.1-rt and 6.12 (preempt=full) in QEMU
	scripts/vm/run.sh --short -- ./loader ./merge/... ./session ./target ./test/recording
	scripts/vm/run.sh --short --kernel 6.1 --env CARET_BPF_KILLS=20 --run '^TestKilledAtAnyMoment$$' -- ./test/recording
	scripts/vm/run.sh --short --run 'LeastPrivilege|RecorderShedsPrivileges|CommandOfAnotherUser|OtherNamespaces|RootlessOverlay|ReadOnlyRoot|RefusedRecording' -- ./cmd/caret-bpf
	scripts/vm/run.sh --kernel 6.12-full --boot lockdown=integrity --run Lockdown -- ./cmd/caret-bpf
	scripts/vm/run.sh --kernel 6.12-full --boot lockdown=confidentiality --run Lockdown -- ./cmd/caret-bpf

.PHONY: test-vm-arm64
test-vm-arm64: ## Run cross-compiled tests, with stand-ins, on Debian's arm64 kernels 6.1 and 6.12 in QEMU
	scripts/vm/run.sh --short --kernel arm64-6.1 --kernel arm64-6.12 --timeout 14400 -- ./elffile ./probes ./loader ./merge/... ./entities ./session ./test/recording

.PHONY: test-service
test-service: testdata web ## Try the .deb's systemd service and each sandboxing option in emulated machines with Debian 13 and 12 (debootstrap; as root)
	scripts/vm/service.sh --kernel 6.12-full
	scripts/vm/service.sh --kernel 6.1

.PHONY: compare-lttng
compare-lttng: ## Record ROS 2 programs with LTTng and caret-bpf at once and compare every hit (Iron and later)
	scripts/compare-lttng.sh

.PHONY: check-diff
check-diff: ## Measure false alarms and power of `diff` on made-up systems, and write docs/diff.md's tables. DIFF_TRIALS="200" how many
	$(GO) run ./tools/diffrates -trials $(or $(DIFF_TRIALS),200) docs/diff.md

.PHONY: check-fleet
check-fleet: ## Measure false alarms and power of `diff --group` on made-up fleets, and write docs/fleet.md's table. FLEET_TRIALS="500" how many
	$(GO) run ./tools/fleetrates -trials $(or $(FLEET_TRIALS),500) docs/fleet.md

.PHONY: check-queries
check-queries: ## Ask every query about random systems that know what happened in them. SYSTEMS="200" how many, SEED="1" the first
	CARET_BPF_SYSTEMS=$(or $(SYSTEMS),200) CARET_BPF_SYSTEM_SEED=$(or $(SEED),1) \
		$(GO) test -count=1 -timeout 1h -run TestQueriesTellWhatHappened ./test/simulation

.PHONY: compare-caret
compare-caret: ## Compare answers with caret_analyze row by row, and write the table of docs/latency.md. CARET_ANALYZE="checkout" CARET_ANALYZE_PYTHON="its Python"
	scripts/compare-caret.sh -w $(if $(CARET_ANALYZE),-c "$(CARET_ANALYZE)") $(if $(CARET_ANALYZE_PYTHON),-p "$(CARET_ANALYZE_PYTHON)")

.PHONY: test-fresh
test-fresh: ## Run README's two commands in fresh roots of Debian 12 and 13 (debootstrap; as root)
	scripts/fresh-root.sh bookworm
	scripts/fresh-root.sh trixie

.PHONY: package
package: web ## Make .deb and .rpm packages, a container image, SBOMs and checksums in build/package/dist
	scripts/package.sh $(VERSION)

.PHONY: test-package
test-package: web testdata ## Make packages and image twice, record from the image (podman), and install, upgrade and remove the .deb in fresh roots of Debian 12 and 13 (debootstrap; as root)
	scripts/test-package.sh

.PHONY: test-compiler
test-compiler: ## Compile the BPF programs with the clang that is here, load and drive them (as root)
	scripts/test-compiler.sh

.PHONY: event-table
event-table: ## Record demo programs of each ROS 2 in /opt/ros and write docs/events.md: events, provenance, nulls
	scripts/event-table.sh

.PHONY: docs
docs: ## Write the blocks of docs/ that are generated from code
	CARET_BPF_WRITE_DOCS=1 $(GO) test -count=1 -run '^Test(Documentation|ConfigSchema)$$' ./probes ./cmd/caret-bpf ./export/lake

.PHONY: pictures
pictures: ## Take the pictures of the page that docs/ shows (as root)
	CARET_BPF_PICTURES=$(CURDIR)/docs scripts/test-browser.sh --required -run TestPictures

.PHONY: bench
bench: build testdata ## Measure; prints medians and ratios. BENCH_RUNS="1" repeats less, BENCH_CALLBACKS="1000000 10000000" chooses the sizes of queried datasets
	@cat bpf/instructions.txt
	scripts/bench.sh $(BENCH_RUNS)
	scripts/bench-added.sh $(BENCH_RUNS)
	scripts/bench-vehicle.sh $(BENCH_RUNS)
	scripts/bench-bytes.sh
	scripts/bench-queries.sh $(BENCH_CALLBACKS)
	scripts/bench-page.sh $(BENCH_CALLBACKS)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZ_TIME each
	scripts/fuzz.sh $(FUZZ_TIME)

.PHONY: lint
lint: ## go vet, staticcheck, import directions, shellcheck
	scripts/lint.sh

.PHONY: format
format: ## Format Go and C
	gofmt -w $$(git ls-files '*.go')
	clang-format --style=file -i $$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp')

.PHONY: check-format
check-format: ## Fail if something is not formatted
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted"; exit 1; fi
	clang-format --style=file --dry-run -Werror $$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp')

.PHONY: demo
demo: ## Record the bundled talker and listener (or your own ROS 2's) and show the result
	scripts/demo.sh

.PHONY: clean
clean: ## Remove what was built
	rm -rf build web/dist
