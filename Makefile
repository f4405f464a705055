# Leasehold. "make help" lists the targets.

# Everything is built with the Go toolchain alone; the tools that make check and make generate need are
# pinned in modules of their own under tools/ and built into .cache/tools/bin when their pins change.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

GO ?= go
MODULE := github.com/a1009580/leasehold
VERSION ?= $(shell git describe --always --dirty --tags 2>/dev/null || echo devel)
LDFLAGS := -X $(MODULE)/internal/version.Version=$(VERSION)

# In continuous integration a skipped test is a failure.
GOTEST := $(if $(CI),.ci/gotest,$(GO) test)
# Arguments for every go test, such as: make test TESTFLAGS='-run Ledger -count=3'
TESTFLAGS ?=
# The simulator is one goroutine: the race detector would find nothing and take ten times as long.
SIMULATION := $(MODULE)/chaos

TOOLS := .cache/tools/bin
GOFUMPT := $(TOOLS)/gofumpt
GOLANGCI_LINT := $(TOOLS)/golangci-lint
GOVULNCHECK := $(TOOLS)/govulncheck
BENCHSTAT := $(TOOLS)/benchstat
BUF := $(TOOLS)/buf
PLUGINS := $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc

# The protobuf files as they were last released.
API_IMAGE := api/released.binpb

# What a person wrote in Go, committed or not.
GO_FILES = git ls-files --cached --others --exclude-standard --deduplicate '*.go' ':!*.pb.go' | while read -r f; do [ ! -e "$$f" ] || echo "$$f"; done
# The directories of all modules of the repository.
MODULES = $(patsubst %/,%,$(dir $(wildcard go.mod */go.mod */*/go.mod)))

##@ Build

.PHONY: all
all: ## build bin/coordinator, bin/regional and bin/leasehold
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: demo
demo: all ## run three regions, a coordinator and traffic on this machine; Ctrl-C ends it
	bin/leasehold demo

.PHONY: clean
clean: ## remove what was built, other than the tools
	rm -rf bin

##@ Test

.PHONY: test
test: test-race test-drills $(if $(wildcard chaos/*_test.go),test-simulation) test-bench ## run all tests

.PHONY: test-race
test-race: ## run the tests under the race detector, except for the simulation
	packages=$$($(GO) list ./... | grep -vx '$(SIMULATION)')
	$(GOTEST) -race -shuffle=on -timeout=20m $(TESTFLAGS) $$packages

# The drills that every change must pass: one of each kind of cut, a killed leader, and a mode that may exceed
# the limit. They are not tried again: what does not pass is printed whole, and fails.
TEST_DRILLS := isolate-region one-way-out kill-leader fallback-region

.PHONY: test-drills
test-drills: all ## drill real processes, two minutes; and have drills notice laws that are broken in them
	@bad=0
	for name in $(TEST_DRILLS); do
		code=0
		report=$$(bin/leasehold drill run "$$name" --quick --quiet 2>&1) || code=$$?
		if [ "$$code" -eq 0 ]; then
			sed -n '/^$$/q;p' <<< "$$report" # the verdict
		else
			printf '%s\nexit code %d\n' "$$report" "$$code"
			bad=$$((bad + 1))
		fi
	done
	echo "$(GOTEST) -tags=mutants $(MODULE)/chaos/drill/mutants"
	$(GOTEST) -tags=mutants -timeout=10m $(TESTFLAGS) $(MODULE)/chaos/drill/mutants || bad=$$((bad + 1))
	[ "$$bad" -eq 0 ] || { echo "FAIL: $$bad of the drills, and of their test by mutants, did not pass"; exit 1; }

.PHONY: test-simulation
test-simulation: ## run the short slice of the deterministic simulation, and have it notice every mutant
	$(GOTEST) -shuffle=on -timeout=20m $(TESTFLAGS) $(SIMULATION)
	$(GOTEST) -tags=mutants -run=Mutant -timeout=20m $(TESTFLAGS) $(SIMULATION) $(SIMULATION)/explore

.PHONY: test-bench
test-bench: ## try every benchmark once, so that none rots
	cd bench && $(GOTEST:.ci/%=$(CURDIR)/.ci/%) -short -bench=. -benchtime=1x -timeout=10m $(TESTFLAGS) ./...

.PHONY: sim
sim: ## run the long simulation (SIMFLAGS="-seeds 100000" for more): thousands of hostile worlds a minute
	$(GO) run ./chaos/cmd/sim $(SIMFLAGS)

.PHONY: sim-rebalance
sim-rebalance: ## measure rebalancing beside models of others (QUICK=1, SEED=N, TRACES=DIR, OUT=DIR)
	$(GO) run ./chaos/cmd/rebalance -seed $(or $(SEED),1) -out $(or $(OUT),.cache/rebalance) $(if $(QUICK),-quick) $(if $(TRACES),-traces $(TRACES))

.PHONY: bench
bench: ## measure everything beside its peers (BENCHFLAGS="-only local -rounds 3" for less): a table, bench.json, bench.svg
	$(GO) run -C bench ./cmd/bench -out $(CURDIR) $(BENCHFLAGS)

# Each hot path has a suite of benchmarks that exercises it.
PROFILES := local wire ledger isolation

.PHONY: $(PROFILES:%=profile-%)
$(PROFILES:%=profile-%): profile-%: ## profile a suite of benchmarks (BENCH=HotAllowN for one; FLAME=:8080 serves the flame graph)
	mkdir -p .cache/profile
	prof=$(CURDIR)/.cache/profile/$*.prof
	cd bench
	export LEASEHOLD_BENCH_PROFILE=$$prof
	$(GO) test ./$* -run='^$$' -bench='$(or $(BENCH),.)' -o $(CURDIR)/.cache/profile/$*.test $(if $(filter wire,$*),,-cpuprofile=$$prof)
	$(GO) tool pprof $(if $(FLAME),-http=$(FLAME),-top -nodecount=25) $$prof

# Arguments for every drill, such as: make drill DRILLFLAGS=--quick
DRILLFLAGS ?=

.PHONY: drill
drill: all ## break a cluster of real processes in every way that is built in; writes drills/index.html (DRILLFLAGS=--quick for less time)
	@mkdir -p drills
	rm -f drills/*.json drills/*.html drills/*.txt drills/*.xml
	bad=0
	for name in $$(bin/leasehold drill list --names); do
		code=0
		bin/leasehold drill run "$$name" $(DRILLFLAGS) --quiet --json "drills/$$name.json" --report "drills/$$name.html" \
			> "drills/$$name.txt" 2>&1 || code=$$?
		head -n 1 "drills/$$name.txt"
		[ "$$code" -eq 0 ] || bad=$$((bad + 1))
	done
	mapfile -t not_run < <(bin/leasehold drill list --not-run)
	bin/leasehold drill report --index drills/index.html --junit drills/drills.xml "$${not_run[@]/#/--not-run=}" drills/*.json
	echo "drills/index.html: $$bad drills did not pass"
	[ "$$bad" -eq 0 ]

.PHONY: cover
cover: ## write coverage.out and coverage.html, print the total
	$(GO) test -shuffle=on -timeout=20m -coverpkg=./... -coverprofile=coverage.all $(TESTFLAGS) ./...
	grep -vE '\.pb\.go:|/cmd/' coverage.all > coverage.out
	$(GO) tool cover -html=coverage.out -o coverage.html
	$(GO) tool cover -func=coverage.out | tail -n 1

##@ Check

.PHONY: check
check: check-format check-vet check-lint check-proto check-breaking check-generated check-modules check-vulnerabilities ## check all that can be checked without running the tests

.PHONY: check-format
check-format: $(GOFUMPT) ## check that gofumpt would change nothing
	@echo "gofumpt -l"
	listed=$$($(GO_FILES) | xargs -r $(GOFUMPT) -l)
	if [ -n "$$listed" ]; then
		echo "not formatted (make fmt does it):"
		echo "$$listed"
		exit 1
	fi

.PHONY: check-vet
check-vet: ## run go vet
	$(GO) vet ./...
	$(GO) -C bench vet ./...

.PHONY: check-lint
check-lint: $(GOLANGCI_LINT) ## run golangci-lint with .golangci.yml
	$(GOLANGCI_LINT) config verify
	$(GOLANGCI_LINT) run ./...
	cd bench && $(CURDIR)/$(GOLANGCI_LINT) run ./...

.PHONY: check-proto
check-proto: $(BUF) ## lint the protobuf files
	$(BUF) lint
	$(BUF) format --diff --exit-code

.PHONY: check-breaking
check-breaking: $(BUF) ## check that no protobuf file breaks those who were built with the released ones
	$(BUF) breaking --against $(API_IMAGE)

.PHONY: check-generated
check-generated: $(BUF) $(PLUGINS) ## check that the generated code is current
	@echo "buf generate, and compare"
	fresh=$$(mktemp -d)
	trap 'rm -rf "$$fresh"' EXIT
	$(BUF) generate --output "$$fresh"
	here=$$(cd api && find . -name '*.pb.go' -printf '%P\n' | sort)
	there=$$(cd "$$fresh/api" && find . -name '*.pb.go' -printf '%P\n' | sort)
	diff <(echo "$$here") <(echo "$$there") || { echo "not the files that make generate writes"; exit 1; }
	for f in $$there; do
		diff -u --label "api/$$f" --label "make generate" "api/$$f" "$$fresh/api/$$f" || { echo "run make generate"; exit 1; }
	done

.PHONY: check-modules
check-modules: ## check that every go.mod is tidy
	@for module in $(MODULES); do
		echo "$(GO) -C $$module mod tidy -diff"
		$(GO) -C "$$module" mod tidy -diff
	done

.PHONY: check-vulnerabilities
check-vulnerabilities: $(GOVULNCHECK) ## check for known vulnerabilities that the code reaches
	@echo "govulncheck ./..."
	status=0
	output=$$($(GOVULNCHECK) ./... 2>&1) || status=$$?
	if [ "$$status" -ne 0 ] && grep -q '^govulncheck: fetching vulnerabilities: ' <<< "$$output"; then
		echo "NOTE: the vulnerability database was not reachable; nothing was checked:"
		echo "$$output"
		exit 0
	fi
	echo "$$output"
	exit "$$status"

##@ Change

.PHONY: fmt
fmt: $(GOFUMPT) $(BUF) ## format Go and protobuf files
	@$(GO_FILES) | xargs -r $(GOFUMPT) -w
	$(BUF) format --write

.PHONY: generate
generate: $(BUF) $(PLUGINS) ## generate code from the protobuf files
	$(BUF) generate

.PHONY: release-api
release-api: $(BUF) ## take the protobuf files as they are now for the released ones; part of making a release
	$(BUF) build --as-file-descriptor-set --exclude-source-info --output $(API_IMAGE)

##@ Other

.PHONY: tools
tools: $(GOFUMPT) $(GOLANGCI_LINT) $(GOVULNCHECK) $(BENCHSTAT) $(BUF) $(PLUGINS) ## build the pinned tools (some minutes the first time)

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# One rule for each module of tools: go.sum changes whenever a pin does.
define build-tool
mkdir -p $(TOOLS)
$(GO) build -C tools/$(1) -trimpath -o $(CURDIR)/$@ $(2)
touch $@
endef

$(GOFUMPT): tools/lint/go.sum
	$(call build-tool,lint,mvdan.cc/gofumpt)
$(GOLANGCI_LINT): tools/lint/go.sum
	$(call build-tool,lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)
$(GOVULNCHECK): tools/lint/go.sum
	$(call build-tool,lint,golang.org/x/vuln/cmd/govulncheck)
$(BENCHSTAT): tools/lint/go.sum
	$(call build-tool,lint,golang.org/x/perf/cmd/benchstat)
$(BUF): tools/buf/go.sum
	$(call build-tool,buf,github.com/bufbuild/buf/cmd/buf)
$(TOOLS)/protoc-gen-go: tools/proto/go.sum
	$(call build-tool,proto,google.golang.org/protobuf/cmd/protoc-gen-go)
$(TOOLS)/protoc-gen-go-grpc: tools/proto/go.sum
	$(call build-tool,proto,google.golang.org/grpc/cmd/protoc-gen-go-grpc)
