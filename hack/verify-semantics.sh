#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Every numbered sentence of docs/semantics.md has a test that names it, and no test names another.
# A missing test is written by hand; `make semantics` prints the table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go run ./test/semantics >/dev/null
