#!/bin/sh
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Reviews a branch in a job. All settings are variables, whose text is never run. gitlab.yml has the lines below.
set -eu
umask 077
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! command -v kubectl-kubizone >/dev/null; then
  name=kubectl-kubizone-$KUBIZONE_VERSION-linux-$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/').tar.gz
  fetch() { wget -q -O "$work/$1" "$KUBIZONE_RELEASES/$KUBIZONE_VERSION/$1"; }
  fetch "$name"
  if [ -n "${KUBIZONE_SHA256:-}" ]; then
    printf '%s  %s\n' "$KUBIZONE_SHA256" "$name" >"$work/SHA256SUMS"
  else
    fetch SHA256SUMS
    if command -v cosign >/dev/null; then
      fetch SHA256SUMS.sigstore.json
      cosign verify-blob "$work/SHA256SUMS" --bundle "$work/SHA256SUMS.sigstore.json" \
        --certificate-identity "https://github.com/kubi-zone/kubizone/.github/workflows/release.yml@refs/tags/$KUBIZONE_VERSION" \
        --certificate-oidc-issuer https://token.actions.githubusercontent.com
    else
      echo "no signature of the client is verified: set its checksum (sha256), or install cosign" >&2
    fi
  fi
  (cd "$work" && grep "  $name\$" SHA256SUMS | sha256sum -c - && tar -xzf "$name")
  PATH=$(dirname "$(find "$work" -name kubectl-kubizone -type f)"):$PATH
fi
if [ -n "${KUBIZONE_KUBECONFIG:-}" ]; then
  printf '%s\n' "$KUBIZONE_KUBECONFIG" >"$work/kubeconfig"
  export KUBECONFIG="$work/kubeconfig"
fi
set -f --
for file in $KUBIZONE_FILES; do set -- "$@" -f "$file"; done
if [ -n "${KUBIZONE_SELECTOR:-}" ]; then set -- "$@" --prune -l "$KUBIZONE_SELECTOR"; fi
if [ "$KUBIZONE_ALLOW_RELEASES" = true ]; then set -- "$@" --allow-releases; fi
if [ "$KUBIZONE_ALLOW_ZONE_REMOVAL" = true ]; then set -- "$@" --allow-zone-removal; fi
if [ -z "${KUBECONFIG:-}" ]; then set -- "$@" --without-server; fi
kubectl-kubizone review --name "$KUBIZONE_NAME" --max-removed "$KUBIZONE_MAX_REMOVED" "$@"
