#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs go in the module of kubizone-gardener, which is in no workspace and has no vendor/: Gardener's library would add
# 162 MB to that of 97 MB. go.sum pins what it links. The first build needs the Go module proxy and three minutes.
#   hack/gardener.sh build -o bin/ .
set -euo pipefail
command=$1
shift
exec env GOGC=400 GOFLAGS= GOWORK=off CGO_ENABLED=0 go -C "$(dirname "${BASH_SOURCE[0]}")/../cmd/kubizone-gardener" \
  "$command" -mod=readonly -buildvcs=false -trimpath -gcflags=all=-dwarf=false "$@"
