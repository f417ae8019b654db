#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of bindcar, built from its published crate where it is not in the cache. That takes five minutes of two cores, and needs cargo,
# Rust 1.88, a C compiler and the registry of crates. With --cached it builds nothing and fails when the program is missing.
#   hack/build-bindcar.sh [--cached]
set -euo pipefail
version=0.9.0

dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/bindcar-$version
if [[ ! -x $dir/bindcar ]]; then
  [[ ${1:-} != --cached ]] || exit 1
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  # Its Swagger UI is fetched from GitHub while it is built, unless there is a file: a crate has the same one.
  (cd "$work" && cargo info utoipa-swagger-ui-vendored >info 2>&1) || { cat "$work/info" >&2; exit 1; }
  archives=("${CARGO_HOME:-${HOME:-/root}/.cargo}"/registry/src/*/utoipa-swagger-ui-vendored-*/res/v*.zip)
  mkdir -p "$dir"
  SWAGGER_UI_DOWNLOAD_URL=file://${archives[-1]} CARGO_TARGET_DIR=$work/target \
    cargo install bindcar --version "$version" --locked --no-track --root "$work/root" >"$work/log" 2>&1 || { tail -40 "$work/log" >&2; exit 1; }
  mv "$work/root/bin/bindcar" "$dir/bindcar"
fi
echo "$dir/bindcar"
