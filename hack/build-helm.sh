#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of helm (hack/tools/helm), building it first where it is not in the cache. That needs the Go module proxy. It has the versions and the
# flags of hack/build-kube.sh, so that after that most of it is compiled. With --cached it builds nothing and fails when the program is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/tools/helm"

dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/helm-$(cat go.mod go.sum | sha256sum | cut -c1-16)
if [[ ! -x $dir/helm ]]; then
  [[ ${1:-} != --cached ]] || exit 1
  mkdir -p "$dir"
  GOGC=400 GOFLAGS= GOWORK=off CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath \
    -gcflags all=-dwarf=false -ldflags '-s -w' -o "$dir/helm.$$" helm.sh/helm/v4/cmd/helm
  mv "$dir/helm.$$" "$dir/helm"
fi
echo "$dir/helm"
