#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds and vets everything, and tests what differs from main: each changed package, the packages that import it, and
# the house rules. Go's cache answers for the rest. The longest packages are tested only if they changed themselves; the
# last line names those left out.
#   hack/check.sh [BASE]     BASE is the commit to compare with, by default where this branch left main
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
base=${1:-}
if [[ -z $base ]]; then
  main=$(git rev-parse -q --verify origin/main || git rev-parse -q --verify main || git rev-parse HEAD)
  base=$(git merge-base "$main" HEAD)
fi

# ownerOf prints the folder of the package that a file belongs to: data and generated files are of the next folder above with Go code.
ownerOf() {
  local dir
  dir=$(dirname "$1")
  while [[ $dir != . ]] && ! compgen -G "$dir/*.go" >/dev/null; do dir=$(dirname "$dir"); done
  [[ $dir == . ]] || echo "$dir"
}
mapfile -t files < <({ git diff --name-only "$base" --; git ls-files --others --exclude-standard; } | grep -v '^vendor/' | sort -u)
mapfile -t dirs < <(for file in "${files[@]}"; do ownerOf "$file"; done | sort -u)

go build ./... ./api/...
go vet ./... ./api/...

# A line for each package: its path, then all that its code and tests import.
imports=$(go list -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... ./api/...)
module=kubi.zone/kubizone
reached=$(awk -v module=$module -v dirs="${dirs[*]-}" '
  BEGIN { n = split(dirs, d, " "); for (i = 1; i <= n; i++) changed[module "/" d[i]] }
  { for (i = 1; i <= NF; i++) if ($i in changed) { print $1 (i == 1 || $1 in changed ? " changed" : " importer"); break } }' <<<"$imports")
tests=$(awk -v longest="$LONGEST" '$2 == "changed" || $1 !~ longest { print $1 }' <<<"$reached")
left=$(awk -v longest="$LONGEST" '$2 == "importer" && $1 ~ longest { print $1 }' <<<"$reached")
go test -vet=off -p 3 -timeout 10m $(printf '%s\n' $tests $module/test/house $module/test/semantics | sort -u)
echo "checked $(wc -w <<<"$tests") packages for ${#files[@]} files that differ from $(git rev-parse --short "$base")"
[[ -z $left ]] || echo "left to make test: ${left//$module\//}" | tr '\n' ' ' | sed 's/ $/\n/'
