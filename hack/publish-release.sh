#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Publishes what hack/build-release.sh left in DIST: pushes the image and the chart, signs them and the checksums, and makes the release at GitHub. crane, helm
# and cosign read the registry's password from Docker's config.json, gh its token from $GH_TOKEN.
#
# cosign signs with $COSIGN_KEY (a file, or the address of a key management service), and without one as the workflow that runs this (keyless, by OpenID Connect).
#   hack/publish-release.sh DIST
set -euo pipefail
dist=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
crane=$(hack/build-tool.sh crane)
helm=$(hack/build-tool.sh helm)

image=$(<"$dist/image.txt") # REPOSITORY:VERSION@DIGEST
name=${image%@*}
version=${name##*:}
repository=${name%:*}
charts=${repository%/*}/charts

pushed=$("$crane" push "$dist/image" "$name")
if [[ ${pushed#*@} != "${image#*@}" ]]; then
  echo "$name was pushed as ${pushed#*@}, and the manifests name ${image#*@}: make the release anew" >&2
  exit 1
fi
plain=()
[[ $charts != 127.0.0.1:* ]] || plain=(--plain-http) # crane knows that by itself
"$helm" push "${plain[@]}" "$dist/kubizone-${version#v}.tgz" "oci://$charts"
chart=$charts/kubizone@$("$crane" digest "$charts/kubizone:${version#v}")

key=()
[[ -z ${COSIGN_KEY:-} ]] || key=(--key "$COSIGN_KEY")
cosign sign --yes --recursive "${key[@]}" "$repository@${image#*@}"
cosign sign --yes "${key[@]}" "$chart"
cosign sign-blob --yes "${key[@]}" --bundle "$dist/SHA256SUMS.sigstore.json" "$dist/SHA256SUMS"

kind=()
[[ $version != *-* ]] || kind=(--prerelease)
gh release create "$version" --verify-tag "${kind[@]}" --title "$version" --notes-file "$dist/notes.md" \
  "$dist"/kubizone-* "$dist"/install*.yaml "$dist"/SHA256SUMS*
