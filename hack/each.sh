#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs every hack/$1-*.sh, the later ones also when an earlier one fails, and names those that failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=()
for script in hack/"$1"-*.sh; do
  echo "== $script" >&2
  "$script" || failed+=("$script")
done
if ((${#failed[@]} > 0)); then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
