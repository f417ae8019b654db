#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the directory of programs that act as tools around a cluster do, building them first where they are not in the cache. That needs the Go module proxy.
#   hack/build-gitops.sh [MODULE] [--cached]
# MODULE is a module of hack/tools: gitops (the default; kstatus and argohealth, some seconds), flux (fluxapply), argo (argosync) or external-dns-webhook
# (webhookprovider), two to five minutes each, or lego (lego5, half a minute) or cert-manager (certmanager, solverconformance and etcd, four CPU
# minutes), which get certificates. With --cached it builds nothing and fails when they are missing.
set -euo pipefail
module=gitops
[[ ${1:-} == --cached || -z ${1:-} ]] || { module=$1; shift; }
cd "$(dirname "${BASH_SOURCE[0]}")/tools/$module"

dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/$module-$(cat go.mod go.sum */main.go | sha256sum | cut -c1-16)
if [[ ! -d $dir ]]; then
  [[ ${1:-} != --cached ]] || exit 1
  mkdir -p "$dir.$$"
  echo "building hack/tools/$module into $dir (once)" >&2
  # GOGC and the flags of hack/build-kube.sh: what both have is compiled once.
  GOGC=400 GOFLAGS= GOWORK=off CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath \
    -gcflags all=-dwarf=false -ldflags '-s -w' -o "$dir.$$/" ./...
  # The kinds of cert-manager are files of its module.
  [[ $module != cert-manager ]] || cp -r --no-preserve=mode "$(GOFLAGS= GOWORK=off go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)/deploy/crds" "$dir.$$/"
  mv -T "$dir.$$" "$dir" 2>/dev/null || rm -r "$dir.$$" # another run has built them meanwhile
  echo "built in $SECONDS s" >&2
fi
echo "$dir"
