#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the directory of the Kubernetes programs that the tests drive, building first what is not in the
# cache: kubectl, kube-apiserver and kube-controller-manager, or those named. All of them take some twelve CPU
# minutes and need the Go module proxy; the cache is keyed by the tool module's go.mod and go.sum, so a version
# is built once per machine. With --cached it builds nothing and fails when one is missing.
# The version is the newest that is supported, tools/kube/go.mod; with --oldest it is that of tools/kube-oldest.
set -euo pipefail
tools=$(dirname "${BASH_SOURCE[0]}")/tools module=kube cached=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --cached) cached=1 ;;
    --oldest) module=kube-oldest ;;
    *) echo "usage: $0 [--cached] [--oldest] [program...]" >&2; exit 2 ;;
  esac
  shift
done
names=("$@")
((${#names[@]})) || names=(kubectl kube-apiserver kube-controller-manager)
cd "$tools/$module"

version=$(awk '/k8s.io\/kubernetes v/ { print $NF }' go.mod)
dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/kube-$(cat go.mod go.sum | sha256sum | cut -c1-16)
IFS=. read -r major minor _ <<<"${version#v}"

info="-X k8s.io/component-base/version.gitVersion=$version"
info+=" -X k8s.io/component-base/version.gitMajor=$major -X k8s.io/component-base/version.gitMinor=$minor"
# missing are the packages of those that are not there yet.
missing() {
  for name in "${names[@]}"; do
    package=k8s.io/kubernetes/cmd/$name
    [[ -x $dir/$name ]] || echo "$package"
  done
}

if [[ -n $(missing) ]]; then
  [[ -z $cached ]] || exit 1
  mkdir -p "$dir"
  # Two test runs on one machine build once: the second waits for the first and finds the files.
  exec 9>"$dir/lock"
  flock 9
  mapfile -t packages < <(missing)
  if ((${#packages[@]})); then
    echo "building ${packages[*]} $version into $dir (once, some minutes)" >&2
    rm -rf "$dir/new"
    # One call, so that one program is linked while another's packages are compiled; GOGC and no DWARF as the Makefile has it.
    if ! GOGC=400 GOFLAGS= GOWORK=off CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath \
      -gcflags all=-dwarf=false -ldflags "-s -w $info" -o "$dir/new/" "${packages[@]}"; then
      echo "${packages[*]} cannot be built: the Go module proxy must be reachable (GOPROXY=$(go env GOPROXY))" >&2
      exit 1
    fi
    mv "$dir"/new/* "$dir/"
    rmdir "$dir/new"
    echo "built in $SECONDS s" >&2
  fi
fi
echo "$dir"
