#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The generated files must be what the generators make of the types. Generates in a copy, so that nothing here changes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r go.work go.mod go.sum api hack pkg "$copy/"
if [[ -d vendor ]]; then ln -s "$PWD/vendor" "$copy/vendor"; fi

"$copy/hack/update-codegen.sh"
for dir in api pkg/apis; do
  diff -ru "$dir" "$copy/$dir" >&2 || {
    echo "$dir is not what the generators make; repair with: hack/update-codegen.sh" >&2
    exit 1
  }
done
