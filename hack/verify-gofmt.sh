#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bad=$(git ls-files -co --exclude-standard -- '*.go' ':!vendor' | xargs -r gofmt -s -l)
if [[ -n $bad ]]; then
  printf 'not formatted:\n%s\nrepair with: hack/update-gofmt.sh\n' "$bad" >&2
  exit 1
fi
