#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# vet, staticcheck and govulncheck over our own packages. The linters are built from their own module into
# the cache, so that they are no dependency of the product. Their findings are repaired by hand.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

key=$(cat hack/tools/lint/go.mod hack/tools/lint/go.sum | sha256sum | cut -c1-16)
dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/lint-$key
for tool in honnef.co/go/tools/cmd/staticcheck golang.org/x/vuln/cmd/govulncheck; do
  [[ -x $dir/${tool##*/} ]] || (cd hack/tools/lint && GOFLAGS= GOWORK=off go build -mod=readonly -o "$dir/" "$tool")
done

go vet ./... ./api/...
# generated code is answered for by its generator
packages=$(go list ./... ./api/... | grep -v -e /pkg/apis/openapi -e /api/client/)
"$dir/staticcheck" $packages

out=$("$dir/govulncheck" ./... ./api/... 2>&1) && exit 0
code=$?
if ((code == 3)); then # 3: it ran and found something
  echo "$out" >&2
  exit 1
fi
echo "govulncheck could not run, most likely because its database (https://vuln.go.dev) cannot be reached:" >&2
tail -n 2 <<<"$out" >&2
