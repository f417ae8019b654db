#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of the kubectl that the tests drive, building it first when it is not in the cache.
# The build takes three to four CPU minutes and needs the Go module proxy; the cache is keyed by the tool
# module's go.sum, so every version is built once per machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/tools/kube"

version=v1.37.1
key=$(cat go.mod go.sum | sha256sum | cut -c1-16)
dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/kube-$key
bin=$dir/kubectl

# --cached: only what is there already.
if [[ ${1:-} == --cached && ! -x $bin ]]; then
  exit 1
fi

if [[ ! -x $bin ]]; then
  mkdir -p "$dir"
  # Two test runs on one machine build once: the second waits for the first and finds the file.
  exec 9>"$dir/lock"
  flock 9
  if [[ ! -x $bin ]]; then
    echo "building kubectl $version into $dir (once, 3-4 minutes)" >&2
    info="-X k8s.io/component-base/version.gitVersion=$version"
    info+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37"
    if ! GOFLAGS= GOWORK=off CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath \
      -ldflags "-s -w $info" -o "$bin.new" k8s.io/kubernetes/cmd/kubectl; then
      echo "kubectl cannot be built: the Go module proxy must be reachable (GOPROXY=$(go env GOPROXY))" >&2
      exit 1
    fi
    mv "$bin.new" "$bin"
  fi
fi
echo "$bin"
