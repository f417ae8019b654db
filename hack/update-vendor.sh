#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS=-mod=mod

go mod tidy
hack/vendor.sh vendor
