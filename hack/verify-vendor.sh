#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# go.mod, go.sum and vendor/ must be what the sources ask for. Needs the module proxy or a full module cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOFLAGS=-mod=mod

fail() {
  echo "$1; repair with: hack/update-vendor.sh" >&2
  exit 1
}

go mod tidy -diff >&2 || fail 'go.mod or go.sum is not tidy'

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
hack/vendor.sh "$fresh/vendor"
diff -rq vendor "$fresh/vendor" >&2 || fail 'vendor/ is not what go.mod asks for'
