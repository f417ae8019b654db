# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0

# Go code builds from vendor/ alone. -buildvcs=false: a clone owned by another user must build too. -trimpath: what
# one clone compiled, another finds in Go's cache, wherever it stands. Without DWARF, which only debuggers read, compiling
# takes a sixth less: for a debugger, build with go itself. The compiler spends a third of its time on its garbage; with
# more room a cold build takes two thirds of the processor time.
export GOFLAGS := -mod=vendor -buildvcs=false -trimpath -gcflags=all=-dwarf=false '-toolexec=env GOGC=400'
# The binary is static and the tests run what is shipped; the race detector alone wants a C compiler.
export CGO_ENABLED := 0
GO ?= go

# Packages whose promise is about concurrency, with those below them: CI runs them under the race detector too.
RACE := pkg/(zone/(ledger|zoneview)|primary|apiserver)

# Packages whose tests take minutes.
LONGEST := (pkg\/zone\/ledger|test\/(cluster|crash|delivery|deploy|e2e|fleet|model|oncall|pods|interop\/(class_delivered|odd_zones)))

# PKG narrows test: make test PKG=./pkg/dns/... The second pattern is a module of its own (go.work).
ALL := ./... ./api/...
PKG ?= $(ALL)
# TIMEOUT is what one package may take.
TIMEOUT ?= 40m
# TABLE gets the seconds of every package and test of make test.
TABLE ?= slowest.txt
# BESIDE are the modules outside the workspace, kubizone-gardener and the console's tests, tested at the same time.
BESIDE := $(if $(filter ./...,$(PKG)),-beside hack/console.sh -beside hack/gardener.sh)
# KUBE is the Kubernetes of test: the newest that is supported, or with KUBE=--oldest the oldest.
KUBE ?=

.DEFAULT_GOAL := help

# A target with ## is one of each day, one with ##- is not.
.PHONY: help
help: ##- print the targets of a day
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo 'make help-all         the other targets: longer tests, judges, benchmarks, releases'

.PHONY: help-all
help-all: ##- print all targets
	@awk -F ':.*##-? ' '/^[a-z-]+:.*##-? / {printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Without symbols and DWARF, as the image has it: stack traces and profiles need neither.
.PHONY: build
build: ## build the programs into bin/, from vendor/
	@test -x bin/kubizone || echo "building bin/kubizone: the first time takes some minutes"
	$(GO) build -ldflags '-s -w' -o bin/ ./cmd/kubizone ./cmd/kubectl-kubizone ./cmd/bind-agent ./cmd/webhook-server

.PHONY: run
run: build ## start everything in one process with the examples; Ctrl-C stops it
	bin/kubizone up --data-dir .kubizone --dns-view "" --dns-view root \
		--load artifacts/examples --load root=test/testdata/root-2018031200.zone

# The longest packages begin: the last one would run alone at the end.
FIRST := awk '/\/$(LONGEST)$$/ { print; next } { rest = rest $$0 "\n" } END { printf "%s", rest }'

.PHONY: test
test: peers ## vet and every test, or those of PKG (make test PKG=./pkg/dns/...)
	@hack/build-gitops.sh && hack/build-tool.sh helm && hack/build-tool.sh crane && hack/build-tool.sh kubeconform && \
	hack/build-tool.sh otelcol && \
	KUBE_BIN=$$(hack/build-kube.sh $(KUBE) kubectl kube-apiserver kube-controller-manager) && \
	export KUBE_BIN KUBIZONE_TEST_REQUIRE_ALL=1 && \
	KUBIZONE_BIN=$$(mktemp -d) && export KUBIZONE_BIN && trap 'rm -rf "$$KUBIZONE_BIN"' EXIT && \
	began=$$(date +%s) && $(GO) vet $(PKG) && echo "compiled and vetted in $$(( $$(date +%s) - began )) s" && \
	packages=$$($(GO) list $(PKG) | $(FIRST)) && \
	$(GO) run ./test/slowest -table $(TABLE) $(BESIDE) -vet=off -p 4 -parallel 4 -timeout=$(TIMEOUT) $$packages

# LONGEST are the packages that check leaves to test unless they differ themselves.
.PHONY: check
check: ## build and vet all, test the packages that differ from main and those that import them
	LONGEST='$(subst \/,/,/$(LONGEST)$$)' hack/check.sh $(BASE)

.PHONY: test-gardener
test-gardener: peers ##- vet and test kubizone-gardener, a module of its own; its first build takes three minutes and the Go module proxy
	hack/build-tool.sh helm && hack/build-tool.sh crane && KUBE_BIN=$$(hack/build-kube.sh kube-apiserver) && export KUBE_BIN KUBIZONE_TEST_REQUIRE_ALL=1 && \
	hack/gardener.sh vet ./... && $(GO) run ./test/slowest -go hack/gardener.sh -vet=off -timeout $(TIMEOUT) ./...

.PHONY: test-long
test-long: ##- test with larger numbers and more programs of other projects, and test-oldest: once a week, and before a release
	hack/build-bindcar.sh && hack/build-gitops.sh flux && hack/build-gitops.sh argo && hack/build-gitops.sh external-dns-webhook
	hack/build-gitops.sh lego && hack/build-gitops.sh cert-manager && hack/build-python.sh && hack/build-tool.sh external-dns
	hack/build-tool.sh opentofu && hack/build-tool.sh terraform-provider-kubectl
	KUBIZONE_TEST_LONG=1 $(MAKE) --no-print-directory test TIMEOUT=60m
	$(if $(filter ./...,$(PKG)),$(MAKE) --no-print-directory test-oldest)

.PHONY: test-oldest
test-oldest: ##- the tests in a cluster and of the installation with the oldest Kubernetes that is supported
	$(MAKE) --no-print-directory test KUBE=--oldest PKG="./test/cluster ./test/deploy"

.PHONY: test-race
test-race: peers ## the tests of concurrent packages under the race detector
	@KUBE_BIN=$$(hack/build-kube.sh kubectl) && export KUBE_BIN KUBIZONE_TEST_REQUIRE_ALL=1 && \
	packages=$$($(GO) list $(PKG) | grep -E '/$(RACE)(/|$$)' | $(FIRST)); test -z "$$packages" || \
	CGO_ENABLED=1 $(GO) run ./test/slowest -race -short -vet=off -p 2 -timeout 20m $$packages

.PHONY: test-idle
test-idle: ##- 1,000 zones that do not change: for ten minutes nothing is written and nobody asked (15 minutes)
	KUBIZONE_TEST_IDLE=10m $(GO) test -count=1 -run Idle -timeout 40m -v ./test/delivery

# SEED is of what soak does: a failure prints it.
SEED ?= 0

.PHONY: judges
judges: peers ##- the long form of S5.11: the table of types that BIND, Knot, NSD and PowerDNS know, and 60 odd zones and all values that are made of each type through all four
	KUBIZONE_TEST_REQUIRE_ALL=1 $(GO) test -vet=off -count=1 -timeout 60m -v ./test/interop/known_types
	KUBIZONE_TEST_REQUIRE_ALL=1 $(GO) test -vet=off -count=1 -timeout 120m -v ./test/interop/odd_zones -zones 60 -values 0 -seed $(SEED)

.PHONY: attacks
attacks: peers ##- what a tenant may try, by number, and every test that shows a refusal, wherever it is
	hack/build-tool.sh helm && \
	KUBE_BIN=$$(hack/build-kube.sh kubectl kube-apiserver kube-controller-manager) && export KUBE_BIN KUBIZONE_TEST_REQUIRE_ALL=1 && \
	$(GO) test -vet=off -count=1 -timeout 40m -v ./test/security -everywhere

# NOISY is how long noise measures, NOISE_RATE how many requests a second the noisy tenant makes: 0 is as many as are answered, which fills two cores.
NOISY ?= 5m
NOISE_RATE ?= 200

.PHONY: noise
noise: ##- one tenant writes, lists and is refused, NOISE_RATE times a second: the p99 of another's writes less than doubles; what one in a large zone does with its budget and without, and what a flood of challenges does
	KUBE_BIN=$$(hack/build-kube.sh kubectl kube-apiserver) && export KUBE_BIN && \
	$(GO) test -vet=off -count=1 -timeout 0 -v -run 'TestNoise_aQuietTenantIsServed|TestNoise_octets|TestNoise_challenges' ./test/security -noisy $(NOISY) -noise-rate $(NOISE_RATE)

# SOAK is how long soak goes on; KEEP has the stores of failed tests afterwards. make soak SOAK=8h SEED=42
SOAK ?= 20m
KEEP ?= /tmp/kubizone-soak

.PHONY: soak
soak: ##- every fault in its long form, then faults chosen at random for SOAK (an hour on two cores)
	KUBE_BIN=$$(hack/build-kube.sh kube-apiserver) && export KUBE_BIN && \
	$(GO) test -vet=off -count=1 -timeout 0 -v ./test/crash -soak $(SOAK) -seed $(SEED) -keep $(KEEP)

# BENCH are flags of bench, bench-delivery, bench-peers and bench-large: make bench BENCH='-profiles /tmp/profiles', BENCH=-keep to compare later runs with this one.
BENCH ?=

.PHONY: bench
bench: ##- the ledger against the same server without it, in pairs (10 minutes)
	$(GO) run ./test/bench $(BENCH)

.PHONY: bench-delivery
bench-delivery: ##- from a change to the answer of a secondary and the call of a webhook (10 minutes)
	$(GO) run ./test/bench/delivery $(BENCH)

.PHONY: bench-peers
bench-peers: ##- beside external-dns and a custom resource with a controller, each to a BIND (12 minutes; the first build of external-dns ten more)
	hack/build-tool.sh external-dns && KUBE_BIN=$$(hack/build-kube.sh kube-apiserver) && export KUBE_BIN && \
	$(GO) run ./test/bench/peers $(BENCH)

.PHONY: bench-large
bench-large: build ##- how a server grows, to a million records and a hundred thousand zones (an hour; later runs half of that)
	$(GO) run ./test/bench/large $(BENCH)

.PHONY: bench-go
bench-go: ##- the packages' own Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem -p 1 -timeout 60m $(PKG)
	$(if $(filter ./...,$(PKG)),hack/console.sh test -run '^$$' -bench . -timeout 60m ./...)

.PHONY: verify
verify: ## check format, headers, generated code, vendor/ and linters
	@hack/each.sh verify

.PHONY: semantics
semantics: ##- print which tests name which sentence of docs/semantics.md
	@$(GO) run ./test/semantics

.PHONY: update
update: ## repair what verify finds and a machine can repair
	@hack/each.sh update

.PHONY: generate
generate: ## regenerate code after a change of the API types
	hack/update-codegen.sh

.PHONY: lint
lint: ##- staticcheck and govulncheck
	hack/verify-lint.sh

.PHONY: peers
peers: ##- install what the tests talk to: BIND, Knot, NSD, PowerDNS, a C compiler (Debian packages, as root)
	hack/install-peers.sh

.PHONY: kubectl
kubectl: ##- build the kubectl that the tests drive (once) and print its path
	@echo $$(hack/build-kube.sh kubectl)/kubectl

# Variables of hack/build-release.sh say what release-dry-run builds: make release-dry-run PLATFORMS=linux/amd64 GARDENER=no
export VERSION PLATFORMS IMAGE GARDENER
.PHONY: release-dry-run
release-dry-run: ##- build all of a release into dist/ and judge it, without publishing (20 minutes on two busy cores, 2 where all is compiled)
	rm -rf dist
	hack/build-release.sh dist
	KUBIZONE_TEST_REQUIRE_ALL=1 $(GO) test -vet=off -count=1 -timeout 30m -v -run 'TestRelease$$' ./test/release -dist "$$PWD/dist"

.PHONY: clean
clean: ##- remove the files that build, run, test and release-dry-run leave here
	rm -rf bin dist .kubizone slowest.txt
