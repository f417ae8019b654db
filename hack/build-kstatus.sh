#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of the program kstatus (hack/tools/kstatus), building it first where it is not in the cache. That takes some
# seconds and needs the Go module proxy. With --cached it builds nothing and fails when the program is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/tools/kstatus"

dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/kstatus-$(cat go.mod go.sum main.go | sha256sum | cut -c1-16)
if [[ ! -x $dir/kstatus ]]; then
  [[ ${1:-} != --cached ]] || exit 1
  mkdir -p "$dir"
  GOFLAGS= GOWORK=off CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath -o "$dir/kstatus.$$" .
  mv "$dir/kstatus.$$" "$dir/kstatus"
fi
echo "$dir/kstatus"
