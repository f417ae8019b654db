#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the directory of the programs in Python that write into zones: certbot with its plugin, and octodns-sync with dnspython. Where they
# are not in the cache it installs them first, in the versions of tools/python/requirements.txt: half a minute, with Python 3.10 and its package index.
# With --cached it installs nothing and fails when they are missing.
#   hack/build-python.sh [--cached]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/tools/python"

dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubizone/python-$(sha256sum <requirements.txt | cut -c1-16)
if [[ ! -e $dir/installed ]]; then
  [[ ${1:-} != --cached ]] || exit 1
  mkdir -p "$dir"
  # An environment stays where it was made, so that two runs install into the same one, one after the other.
  exec 9>"$dir/lock"
  flock 9
  if [[ ! -e $dir/installed ]]; then
    python3 -m venv "$dir"
    timeout 600 "$dir/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt >&2
    touch "$dir/installed"
  fi
fi
echo "$dir/bin"
