#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tidy=$(mktemp -d)
trap 'rm -rf "$tidy"' EXIT
hack/tidy.sh "$tidy"
cp -r "$tidy/." .
hack/vendor.sh vendor
env GOFLAGS= GOWORK=off go -C cmd/kubizone-gardener mod tidy
