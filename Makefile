# Muster's build. `make` alone lists what there is to do.

SHELL := /bin/bash
.DEFAULT_GOAL := help

GO ?= go

# These packages hold goroutines that meet: their tests run under the race
# detector. The rest is single-threaded, and quicker without it. Those that take
# longest come first: the last one to end has the machine for itself.
RACE := ./internal/journal/... ./internal/control/... ./internal/metrics ./internal/shard/... ./internal/cluster ./internal/api/... ./internal/serversdk/... ./internal/router/... ./internal/processes/... ./internal/publish/... ./gameserver/... ./gamenet/... ./examples/arena/... ./cmd/... ./internal/gateway/... ./internal/listen/... ./session/... ./internal/agent/... ./internal/machines/... ./internal/objects/... ./internal/testkit ./mustertest ./internal/bots ./examples/testing/...
E2E_RACE := ./sessions/... ./history/... ./netcut/...

# Tests of one package may take this long before they count as stuck.
TIMEOUT := 12m

# So many tests of a package run at the same time: most of those that can wait for a disk, a process or a clock.
PARALLEL := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))))

# So many packages are tested at the same time. The longest wait for disks and elections half of their time.
PACKAGES := $(shell echo $$((1 + $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))))

LIMITS := -timeout $(TIMEOUT) -p $(PACKAGES) -parallel $(PARALLEL)

FUZZTIME  ?= 30s
BENCHTIME ?= 1s

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## start a local service for development (muster dev)
	$(GO) run ./cmd/muster dev

.PHONY: check
check: ## everything that CI checks, tests included
	.ci/run

.PHONY: test
test: clients ## install the real clients into .tools/ and Chromium if it can (once), then run every test
	@set -euo pipefail; \
	if [ "$$($(GO) env CGO_ENABLED)" = 1 ]; then race=-race; else race=; echo "make test: no C compiler found, so the race detector is off" >&2; fi; \
	suite() { \
	  raced=$$($(GO) list "$$@"); \
	  rest=$$($(GO) list ./... | grep -vxF "$$raced"); \
	  echo "go test, plain packages"; $(GO) test $(LIMITS) $$rest; \
	  echo "go test $$race, packages with goroutines"; $(GO) test $$race $(LIMITS) $$raced; \
	}; \
	suite $(RACE); cd e2e; suite $(E2E_RACE)

.PHONY: race
race: clients ## run every test under the race detector (slow)
	$(GO) test -race -timeout 20m ./...
	cd e2e && $(GO) test -race -timeout 20m ./...

.PHONY: e2e
e2e: clients ## run only the end-to-end tests with the real clients
	cd e2e && $(GO) test -count=1 $(LIMITS) ./...

.PHONY: walkthrough
walkthrough: ## go a game client's ways to a session, item by item, and print the list with its marks
	cd e2e/sessions && $(GO) test -count=1 -timeout $(TIMEOUT) -run '^TestWalkthrough' -args -list-marks

SEEDS ?= 10000
.PHONY: sim
sim: ## simulate a region and all that can go wrong around it under SEEDS (10000) seeds; SEED=n runs that one and prints all of it
	$(GO) test -count=1 -timeout 60m ./internal/sim -run '^TestSim$$' $(if $(SEED),-v -seed $(SEED),-seeds $(SEEDS))

KILLS ?= 50
.PHONY: crash
crash: ## kill the service under load, KILLS (50) times and more, and fill its disk; nothing may be lost
	cd e2e && $(GO) test -count=1 -v -timeout 20m -tags diskfull ./crash -kills $(KILLS)

ONLY ?=
.PHONY: screenshots
screenshots: ## take the pictures of the console in docs/images, or those in ONLY (overview,fleet), with Chromium
	cd e2e && $(GO) test -count=1 -tags screenshots -run '^TestScreenshots$$' ./browser $(if $(ONLY),-only $(ONLY))

.PHONY: recording
recording: ## record muster demo into docs/images/demo.svg, an animated picture (Linux, macOS)
	$(GO) run -C tools ./recording

NODES  ?= 3
STRICT ?= true
.PHONY: fault
fault: ## kill, stop, cut off and fill up NODES (3) nodes under load; nothing may be lost. Writes docs/faults.md
	cd e2e && $(GO) test -count=1 -v -timeout 30m -tags diskfull ./fault -full -nodes $(NODES) -lasts 30s -arenas 2 -strict=$(STRICT) -docs ../../docs

SOAK ?= 10m
.PHONY: soak
soak: ## put a steady load on the service for SOAK (10m); nothing may grow. Writes docs/soak.svg
	cd e2e && $(GO) test -count=1 -v -timeout 0 -run '^TestSoak$$' ./soak -soak $(SOAK) -docs ../../docs

ENDED ?= 10000000
.PHONY: soak-history
soak-history: ## end ENDED (10000000) player sessions and keep them all; only the disk may grow. Writes docs/soak-history.svg
	cd e2e && $(GO) test -count=1 -v -timeout 0 -run '^TestSoakHistory$$' ./soak -ended $(ENDED) -docs ../../docs

.PHONY: overload
overload: ## offer the service twice what it can do; it throttles and is well again at once
	cd e2e && $(GO) test -count=1 -v -timeout 10m -run '^TestOverload$$' ./soak -overload -docs ../../docs

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (30s)
	tools/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## measure the figures beside their ceilings, in about 25 minutes, and say what moved; see docs/benchmarks.md
	cd e2e && $(GO) run ./figures/table $(BENCHFLAGS)

.PHONY: bench-accept
bench-accept: ## commit to the results of the last make bench, and write its table into docs/benchmarks.md
	cd e2e && $(GO) run ./figures/table -accept

.PHONY: bench-packages
bench-packages: ## run the benchmarks of every package for BENCHTIME (1s)
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

.PHONY: bench-net
bench-net: ## compare gamenet with other network libraries, in about 4 minutes (Linux), and write docs/benchmarks.md; GNET=program takes part
	cd e2e/netbench && $(GO) run . -docs ../../docs/benchmarks.md $(if $(GNET),-peer gnet=$(abspath $(GNET))) $(BENCHNETFLAGS)

.PHONY: generate
generate: ## write all generated files anew
	$(GO) generate ./...

.PHONY: lint
lint: ## run gofmt, vet for three systems, and the linters
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w:" >&2; echo "$$unformatted" >&2; exit 1; fi
	@set -eu; for module in . e2e; do for os in linux windows darwin; do \
	  echo "go vet, $$module, $$os"; (cd $$module && GOOS=$$os CGO_ENABLED=0 $(GO) vet ./...); \
	done; done
	$(GO) tool -modfile=tools/go.mod golangci-lint run ./...
	cd e2e && $(GO) tool -modfile=../tools/go.mod golangci-lint run ./...
	cd tools && $(GO) tool golangci-lint run ./...

.PHONY: release
release: ## build binaries, packages, images, SBOMs and checksums into dist/; VERSION=v1.2.3 (the tag), PLATFORMS="linux/amd64" (six)
	$(GO) run -C tools ./release $(if $(VERSION),-version $(VERSION)) $(if $(PLATFORMS),-platforms "$(PLATFORMS)")

.PHONY: clients
clients: ## install the AWS CLI, boto3, the JavaScript SDK and axe-core into .tools/, and Chromium if it can
	@tools/clients
