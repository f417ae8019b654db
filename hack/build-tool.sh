#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of the program of hack/tools/$1, a module with one tool, building it first where it is not in the cache. That needs the Go module
# proxy. With --cached it builds nothing and fails when the program is missing.
#   hack/build-tool.sh crane [--cached]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/tools/$1"

dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/$1-$(cat go.mod go.sum | sha256sum | cut -c1-16)
if [[ ! -x $dir/$1 ]]; then
  [[ ${2:-} != --cached ]] || exit 1
  mkdir -p "$dir"
  echo "building $1 into $dir (once)" >&2
  # GOGC and the flags of hack/build-kube.sh: what both have is compiled once.
  GOGC=400 GOFLAGS= GOWORK=off CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath \
    -gcflags all=-dwarf=false -ldflags '-s -w' -o "$dir/$1.$$" tool
  mv "$dir/$1.$$" "$dir/$1"
  echo "built in $SECONDS s" >&2
fi
echo "$dir/$1"
