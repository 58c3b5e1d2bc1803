# A recipe stops at its first failing command, also within a pipe.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules
.DEFAULT_GOAL := help

GO ?= go
# Packages to test: make test PKG=./internal/store/...
PKG ?= ./...
# Further flags of go test: make test FLAGS='-run TestClaim -v'
FLAGS ?=

# A build without paths of this machine is the same in every clone, so that one cache serves all of them. One of
# the tests installs taskgen as a user does, whose builds have none either.
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath

# The packages of PKG by module: ./... stands for all of both.
ROOT_PKG = $(strip $(filter-out ./internal/proof/%,$(PKG)))
PROOF_PKG = $(strip $(patsubst ./internal/proof/%,./%,$(filter ./internal/proof/%,$(PKG))) $(filter ./...,$(PKG)))

# What go generate writes, without the hand-written files that lie among it.
GENERATED := gen executors/tasks.lock ent internal/demo/caseload/ent migrations \
	':!ent/schema' ':!internal/demo/caseload/ent/schema'

# The linter's dependencies stay out of the library's go.mod.
LINT := $(GO) tool -modfile=tools/go.mod golangci-lint

# Modules inside this one, each with a go.mod of its own; tools holds no code.
MODULES = $(patsubst %/go.mod,%,$(shell git ls-files '*/go.mod' ':!tools/*' ':!internal/proof/*' ':!*/testdata/*'))

# The proof is a module of its own, so that what it needs stays out of the
# library's go.mod. Its tests are part of the suite.
PROOF_MODULE := internal/proof

# Runs a command with the servers that the tests need.
WITHDB := $(GO) run ./internal/cmd/withdb

.PHONY: help
help: ## Show what there is.
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1	\2/' | expand -t 24

# The race detector watches every access to memory, and every unsafe conversion: the
# latter in our own code alone. modernc.org/sqlite and its libc are C turned into Go: watched,
# SQLite is a hundred times slower, and nothing of ours is tested by it. Nor is it by what is called most: the
# query builder, functions of strings, fmt, and what reads JSON and SQL token by token (sqlscan is ours, and starts no
# goroutine). A package that uses sync/atomic or sync.Map must stay watched: the detector would not see what they order.
UNWATCHED := modernc.org/... entgo.io/ent/dialect/sql/... strings strconv unicode/... regexp/... \
	fmt github.com/go-json-experiment/json/jsontext github.com/go-json-experiment/json/internal/... taskkit.dev/internal/store/sqlscan
RACE := -race -gcflags=all=-d=checkptr=0 -gcflags=taskkit.dev/...= $(patsubst %,'-gcflags=%=-d=checkptr=0 -race=false',$(UNWATCHED))

# Packages that start no goroutine, but for a worker that they wait for, are tested without it: it could find little in
# them, as their parallel tests share next to nothing, and what the worker does is watched by the tests of ./taskkit. They
# would take up to ten times as long. A test of style keeps goroutines out of them. The
# simulation is tested both ways: its simulated machine, which has one thread, without it, and
# the rest with it. `make race APART=./... SEQUENTIAL_PROOF=` watches all there is.
SEQUENTIAL := . ./cmd/taskgen/... ./cmd/taskkit/internal/database ./docs ./executors ./executors/targets ./gen/... ./internal/classify ./internal/cmd/... ./internal/cronline ./internal/demo/caseload ./internal/dialect ./internal/lifecycle ./internal/store ./internal/store/sqlscan ./internal/taskgen/... ./internal/testkit/testdb/cluster ./taskkit/segment ./taskkit/taskjson ./taskkit/tasktest
SEQUENTIAL_PROOF := ./bucketkills ./cmd/... ./fuzz ./limitkills ./manyitems ./model ./mutants ./openapi ./prove/...

# Watched, a package takes two to three times as long. make test watches the tests of the library's packages, of which those of
# ./taskkit run all of it, on both databases. The packages of this list and those of the proof run the same code once more, against
# more databases and faults: make test runs them without the detector, make race with it, and the gate runs both.
APART := ./cmd/taskkit ./cmd/taskkit/internal/dev ./internal/store/dbstore ./internal/testkit/memstore

# Sets the shell's variable packages to what of the packages $(2) is among the packages $(3), or
# is not: $(1) says which, as an option of comm.
choose = all="$$($(GO) list $(2) | sort)"; some="$$([ -z "$(strip $(3))" ] || $(GO) list $(3) | sort)"; packages="$$(comm $(1) <(echo "$$all") <(echo "$$some"))"
AMONG := -12
NOT_AMONG := -23

# go vet is a check of its own (make vet): before every test it would read all that
# the tests are built from once more, for the race detector.
# Little memory is in use, so collecting it less often saves time. Tests that measure a
# process's memory start it without. A watched process would sleep for a second at its
# exit, and a test of processes waits for many. What the race detector remembers of the memory lies in
# huge pages, where Linux has them: in a virtual machine a page's first access is slow, and without them
# the tests of ./taskkit take a third more of the processors' time.
TEST := GOGC=400 GORACE='atexit_sleep_ms=0 no_huge_pages_for_shadow=0' $(GO) test -vet=off -timeout 65m

# go test takes as many packages at once as there are processors. The largest one of the
# root module mostly waits, so there is room for one more.
PACKAGES_AT_ONCE := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# The modules are tested at once and on the same servers: most tests of the proof
# wait. What go test prints of a package comes in one piece, when it has ended.
.PHONY: test
test: $(if $(filter ./...,$(PKG)),compile) ## Run the whole suite on PostgreSQL, PgBouncer and SQLite, most of the library with the race detector.
	$(WITHDB) $(MAKE) --no-print-directory --keep-going -j2 $(if $(ROOT_PKG),testwatched testunwatched) $(if $(PROOF_PKG),testproof)

.PHONY: race
race: ## Run with the race detector what make test does not watch though it starts goroutines, or the packages of PKG.
	$(WITHDB) $(MAKE) --no-print-directory --keep-going -j2 $(if $(ROOT_PKG),raceroot) $(if $(PROOF_PKG),raceproof)

# The modules need the same packages at the same time, and so do the tests that run the
# go command, in modules to which this one is a dependency, as it is to the proof. With
# an empty cache each of them would compile all for itself. go list -export compiles as
# go test does, and links nothing.
.PHONY: compile
compile:
	@$(call choose,$(NOT_AMONG),./...,$(SEQUENTIAL) $(APART)); $(GO) list -export -test $(RACE) $$packages > /dev/null
	@$(GO) list -export -test $(SEQUENTIAL) $(APART) ./cmd/... > /dev/null
	@$(GO) list -C $(PROOF_MODULE) -export taskkit.dev/cmd/taskgen taskkit.dev/taskkit > /dev/null

# The packages that take longest begin first, or the others would have ended
# before they do. Without a package, go test would take that of the directory.
.PHONY: testwatched testunwatched testproof raceroot raceproof
testwatched:
	@$(call choose,$(NOT_AMONG),$(ROOT_PKG),$(SEQUENTIAL) $(APART)); [ -z "$$packages" ] || \
		$(TEST) $(RACE) -p $(PACKAGES_AT_ONCE) $(FLAGS) $(if $(filter ./...,$(PKG)),./taskkit ./taskkit/taskhttp) $$packages
testunwatched:
	@$(call choose,$(AMONG),$(ROOT_PKG),$(SEQUENTIAL) $(APART)); [ -z "$$packages" ] || \
		$(TEST) $(FLAGS) $(if $(filter ./...,$(PKG)),./internal/store/dbstore ./executors ./cmd/taskkit) $$packages
testproof:
	@cd $(PROOF_MODULE); $(TEST) $(FLAGS) $(PROOF_PKG)
raceroot:
	@$(if $(filter ./...,$(PKG)),$(call choose,$(AMONG),./...,$(APART)),packages='$(ROOT_PKG)'); $(TEST) $(RACE) $(FLAGS) $$packages
raceproof:
	@cd $(PROOF_MODULE); $(if $(filter ./...,$(PKG)),$(call choose,$(NOT_AMONG),./...,$(SEQUENTIAL_PROOF)),packages='$(PROOF_PKG)'); $(TEST) $(RACE) $(FLAGS) $$packages

.PHONY: short
short: ## Run the suite without the race detector and without what takes long.
	$(if $(ROOT_PKG),$(WITHDB) $(GO) test -short -timeout 10m $(FLAGS) $(ROOT_PKG))
	$(if $(PROOF_PKG),$(WITHDB) $(GO) test -C $(PROOF_MODULE) -short -timeout 10m $(FLAGS) $(PROOF_PKG))

# How long a proof takes, about: make prove T=2m
T ?= 20m
# Where its counts go. Those that docs/reliability.md shows are in docs/proof:
# make prove PROOF=docs/proof && make figures
PROOF ?= .tmp/proof

.PHONY: prove
prove: ## Prove the promises for T=20m: every state, seeds, kills, cuts, old faults; fails on a violation.
	$(WITHDB) $(GO) run -C $(PROOF_MODULE) ./cmd/prove -t $(T) -out $(abspath $(PROOF))

# The target of make fuzz.
FUZZ ?= FuzzSpec

# The fuzzer is guided by our own code alone: go test -fuzz would watch SQLite
# too, which makes it many times slower. It does not make small what is merely
# interesting: what a worker does beside the test differs from try to try, so
# that nearly everything is, and it would do nothing else.
.PHONY: fuzz
fuzz: ## Fuzz for a while: make fuzz PKG=./internal/proof/fuzz FUZZ=FuzzState T=60s
	$(WITHDB) $(GO) test $(if $(PROOF_PKG),-C $(PROOF_MODULE)) -gcflags=taskkit.dev/...=-d=libfuzzer -v -timeout 0 -run '^$$' $(or $(PROOF_PKG),$(PKG)) \
		-args -test.fuzz='^$(FUZZ)$$' -test.fuzztime=$(T) -test.fuzzminimizetime=5x -test.fuzzcachedir="$$($(GO) env GOCACHE)/fuzz/taskkit.dev/$(PKG:./%=%)"

.PHONY: figures
figures: ## Write the counts in docs/proof and the mutants' table into docs/reliability.md.
	$(GO) run -C $(PROOF_MODULE) ./cmd/figures -from $(CURDIR)/docs/proof -page $(CURDIR)/docs/reliability.md

.PHONY: modules
modules: ## Build, vet and test the modules inside this one.
	@for dir in $(MODULES); do \
		echo "module $$dir"; \
		(cd "$$dir" && $(GO) vet ./... && $(GO) test ./...) || exit 1; \
	done

.PHONY: vet
vet: ## Run go vet.
	$(GO) vet ./...
	$(GO) vet -C $(PROOF_MODULE) ./...

.PHONY: tidy
tidy: ## Fail when a go.mod is not as go mod tidy would leave it.
	@for dir in . $(PROOF_MODULE) $(MODULES); do \
		echo "go mod tidy -diff: $$dir"; \
		$(GO) mod -C "$$dir" tidy -diff || exit 1; \
	done

.PHONY: lint
lint: ## Run golangci-lint, as .golangci.yml says.
	$(LINT) run ./...
	cd $(PROOF_MODULE) && $(GO) tool -modfile=../../tools/go.mod golangci-lint run ./...

.PHONY: fmt
fmt: ## Format the hand-written code.
	$(LINT) fmt

.PHONY: generate
generate: ## Write all generated code and plan the migrations.
	$(GO) generate ./...

.PHONY: checkgenerate
checkgenerate: generate ## Fail when what is committed is not what generate writes.
	@changed=$$(git status --porcelain -- $(GENERATED)); \
	if [ -n "$$changed" ]; then \
		echo "$$changed"; \
		git --no-pager diff --stat -- $(GENERATED); \
		echo "checkgenerate: the generated files above are not committed as they are now; review and commit them" >&2; \
		exit 1; \
	fi

# What checkbase compares with: make checkbase BASE=COMMIT. Without BASE it is the
# commit at which HEAD left main, of this clone or of origin, whichever is nearer.
BASE ?=

# The commit in which executors/tasks.lock was begun anew, which is allowed until the
# first release: what was before it is not compared with, unless BASE says so.
LOCK_BEGUN := 1bdea72

.PHONY: checkbase
checkbase: ## Fail when executors/tasks.lock does not follow that of main.
	@base='$(BASE)'; \
	if [ -z "$$base" ]; then \
		mains=$$(git for-each-ref --format='%(refname)' refs/heads/main refs/remotes/origin/main); \
		if [ -z "$$mains" ]; then \
			echo "checkbase: nothing was compared: this clone has no branch main; run git fetch origin main:refs/remotes/origin/main, or give BASE=COMMIT"; \
			exit 0; \
		fi; \
		base=$$(git merge-base HEAD $$mains || git rev-list -1 $$mains); \
		if [ "$$base" = "$$(git rev-parse HEAD)" ]; then \
			echo "checkbase: HEAD is part of main, so only what is not committed is compared; give BASE=COMMIT to compare with an earlier commit"; \
		fi; \
	fi; \
	if [ -z '$(BASE)' ] && ! git merge-base --is-ancestor $(LOCK_BEGUN) "$$base" 2>/dev/null; then \
		echo "checkbase: nothing was compared: executors/tasks.lock was begun anew in $(LOCK_BEGUN), which is not part of $$(git rev-parse --short "$$base")"; \
		exit 0; \
	fi; \
	echo "checkbase: executors/tasks.lock is compared with that of $$(git rev-parse --short "$$base" 2>/dev/null || echo "$$base")"; \
	cd executors && $(GO) run ../cmd/taskgen -check -base "git:$$base" -o ../gen ./...

.PHONY: dev
dev: ## Run the demonstration: bulk actions, workers, a kill, a preview, a report.
	$(GO) run ./cmd/taskkit dev

# Flags of the benchmark: make bench ARGS='-scenario drain -scale 0.1 -runs 3'
ARGS ?=

.PHONY: bench
bench: ## Measure taskkit beside River, asynq and plain SQL; takes hours at full size.
	cd bench && $(GO) run . $(ARGS)
