#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# go.mod and go.sum of the modules of this repository and vendor/ must be what the sources ask for. Needs the module proxy or a full module cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "$1; repair with: hack/update-vendor.sh" >&2
  exit 1
}

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
hack/tidy.sh "$fresh"
for file in {,api/}go.{mod,sum}; do
  diff -u "$file" "$fresh/$file" >&2 || fail "$file is not tidy"
done
hack/vendor.sh "$fresh/vendor"
diff -rq vendor "$fresh/vendor" >&2 || fail 'vendor/ is not what the modules of go.work ask for'
env GOFLAGS= GOWORK=off go -C cmd/kubizone-gardener mod tidy -diff >&2 || fail 'go.mod or go.sum of cmd/kubizone-gardener is not tidy'
