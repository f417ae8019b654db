#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Puts the license header on files that lack it: Go files on top, scripts below the first line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

holder='Copyright The Kubizone Authors.'
license='SPDX-License-Identifier: Apache-2.0'

git ls-files -co --exclude-standard -- '*.go' '*.sh' .ci/run ':!vendor' | while read -r file; do
  if head -n 12 "$file" | grep -qF "$license"; then
    continue
  fi
  case $file in
  *.go) printf '// %s\n// %s\n\n%s\n' "$holder" "$license" "$(cat "$file")" >"$file.new" ;;
  *) { head -n 1 "$file" && printf '# %s\n# %s\n' "$holder" "$license" && tail -n +2 "$file"; } >"$file.new" ;;
  esac
  # cat keeps the file's mode, mv would not.
  cat "$file.new" >"$file"
  rm "$file.new"
  echo "header added: $file"
done
