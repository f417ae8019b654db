#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Writes into DIR go.mod and go.sum of both modules, tidy, as DIR/go.mod and DIR/api/go.mod. The product requires the
# version of the API that will be tagged with it, which no module proxy has yet: go mod tidy, which does not read
# go.work, is given it by a replacement, and the result is without it.
#   hack/tidy.sh DIR
set -euo pipefail
mkdir -p "$1/api"
dir=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS= GOWORK=off

cp go.mod go.sum "$dir/"
cp api/go.mod api/go.sum "$dir/api/"
(cd api && go mod tidy -modfile="$dir/api/go.mod")

go mod edit -replace=kubi.zone/kubizone/api="$PWD/api" "$dir/go.mod"
go mod tidy -modfile="$dir/go.mod"
go mod edit -dropreplace=kubi.zone/kubizone/api "$dir/go.mod"
