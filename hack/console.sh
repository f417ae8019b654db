#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs go in the module of the console's browser tests, whose library is in no other module. The first run needs the Go
# module proxy.
#   hack/console.sh test ./...
set -euo pipefail
command=$1
shift
exec env GOFLAGS= GOWORK=off CGO_ENABLED=0 go -C "$(dirname "${BASH_SOURCE[0]}")/../test/console" "$command" -mod=readonly "$@"
