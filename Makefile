# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0

# Go code builds from vendor/ alone. -buildvcs=false: a clone owned by another user must build too.
export GOFLAGS := -mod=vendor -buildvcs=false
# The binary is static and the tests run what is shipped; the race detector alone wants a C compiler.
export CGO_ENABLED := 0
GO ?= go

# Packages whose promise is about concurrency; `make test` runs them a second time under the race detector.
RACE := $(wildcard pkg/ledger pkg/zoneview pkg/primary pkg/apiserver pkg/registry)

# PKG narrows test: make test PKG=./pkg/dns/...
PKG ?= ./...

.DEFAULT_GOAL := help

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/kubizone from vendor/
	$(GO) build -o bin/kubizone ./cmd/kubizone

.PHONY: run
run: build ## start everything in one process with the examples and the root zone; Ctrl-C stops it
	bin/kubizone up --data-dir .kubizone --dns-view "" --dns-view root \
		--load artifacts/examples --load root=test/testdata/root-2018031200.zone

.PHONY: test
test: peers ## vet, every test, then the concurrent packages under the race detector (30 minutes on two cores)
	KUBE_BIN=$$(hack/build-kube.sh kubectl kube-apiserver kube-controller-manager sample-apiserver) && export KUBE_BIN KUBIZONE_TEST_REQUIRE_ALL=1 && \
	$(GO) vet $(PKG) && \
	$(GO) test -vet=off -p 2 -timeout 20m $(PKG)
	$(MAKE) --no-print-directory test-race

.PHONY: test-race
test-race: ## the concurrent packages under the race detector
	KUBIZONE_TEST_REQUIRE_ALL=1 CGO_ENABLED=1 $(GO) test -race -vet=off -p 2 -timeout 20m $(RACE:%=./%/...)

# BENCH are flags of bench and bench-cluster: make bench BENCH='-profiles /tmp/profiles', BENCH=-keep to compare later runs with this one.
BENCH ?=

.PHONY: bench
bench: ## the ledger against the same server without it, in pairs, and reads of a big zone (10 minutes)
	$(GO) run ./test/bench $(BENCH)

.PHONY: bench-cluster
bench-cluster: ## Records against a CRD and sample-apiserver behind a real kube-apiserver, as system:masters and as a tenant (10 minutes)
	KUBE_BIN=$$(hack/build-kube.sh kube-apiserver sample-apiserver) && export KUBE_BIN && $(GO) run ./test/bench/cluster $(BENCH)

.PHONY: bench-go
bench-go: ## the packages' own Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem -p 1 -timeout 60m $(PKG)

.PHONY: verify
verify: ## what must hold before a change lands: format, headers, generated code, vendor/, linters
	@hack/each.sh verify

.PHONY: update
update: ## repair what verify finds and a machine can repair
	@hack/each.sh update

.PHONY: generate
generate: ## regenerate deepcopy, defaults, clients, listers, informers, apply configurations, OpenAPI
	hack/update-codegen.sh

.PHONY: lint
lint: ## staticcheck and govulncheck
	hack/verify-lint.sh

.PHONY: peers
peers: ## install what the tests talk to: BIND, Knot's tools, a C compiler (Debian packages, as root)
	hack/install-peers.sh

.PHONY: kubectl
kubectl: ## build the kubectl that the tests drive (once) and print its path
	@echo $$(hack/build-kube.sh kubectl)/kubectl

.PHONY: clean
clean: ## remove what build and run leave here
	rm -rf bin .kubizone
