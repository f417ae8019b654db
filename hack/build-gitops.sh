#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the directory of kstatus and argohealth (hack/tools/gitops), which say what GitOps tools make of objects, building them first where they are not in
# the cache. That takes some seconds and needs the Go module proxy. With --cached it builds nothing and fails when they are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/tools/gitops"

dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/gitops-$(cat go.mod go.sum */main.go | sha256sum | cut -c1-16)
if [[ ! -d $dir ]]; then
  [[ ${1:-} != --cached ]] || exit 1
  mkdir -p "$dir.$$"
  GOFLAGS= GOWORK=off CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath -o "$dir.$$/" ./...
  mv -T "$dir.$$" "$dir" 2>/dev/null || rm -r "$dir.$$" # another run has built them meanwhile
fi
echo "$dir"
