#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of kubizone as it was at a revision of this repository, a tag or a commit, building it first where it
# is not in the cache. It ends with code 3 where this clone does not have the revision.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git=(git -c 'safe.directory=*')
commit=$("${git[@]}" rev-parse --verify --quiet "$1^{commit}") || {
  echo "this clone does not have revision $1: run git fetch --unshallow --tags" >&2
  exit 3
}
dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/earlier-${commit:0:16}
if [[ ! -x $dir/kubizone ]]; then
  mkdir -p "$dir"
  # Two test runs on one machine build once: the second waits for the first and finds the file.
  exec 9>"$dir/lock"
  flock 9
  if [[ ! -x $dir/kubizone ]]; then
    echo "building kubizone at $1 into $dir (once)" >&2
    rm -rf "$dir/source" && mkdir "$dir/source"
    "${git[@]}" archive "$commit" | tar -x -C "$dir/source"
    # The flags of the Makefile: what both versions have is compiled once.
    (cd "$dir/source" && env -u GOWORK GOGC=400 CGO_ENABLED=0 GOFLAGS='-mod=vendor -buildvcs=false -trimpath -gcflags=all=-dwarf=false' \
      go build -ldflags '-s -w' -o ../new ./cmd/kubizone)
    rm -rf "$dir/source"
    mv "$dir/new" "$dir/kubizone"
  fi
fi
echo "$dir/kubizone"
