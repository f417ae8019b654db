#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! go test ./test/house -run '^TestFiles_carryTheLicenseHeader$'; then
  echo 'repair with: hack/update-boilerplate.sh' >&2
  exit 1
fi
