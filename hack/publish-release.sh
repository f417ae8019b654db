#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Publishes what hack/build-release.sh left in DIST: pushes the images and the charts, signs them and the checksums, and makes the release at GitHub. crane, helm
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
version=${image%@*}
version=${version##*:}
charts=${image%/*}/charts
key=()
[[ -z ${COSIGN_KEY:-} ]] || key=(--key "$COSIGN_KEY")
plain=()
[[ $charts != 127.0.0.1:* ]] || plain=(--plain-http) # crane knows that by itself

# publish pushes and signs the image of directory $1 and the chart of program $2.
publish() {
  local image name pushed chart
  image=$(<"$1/image.txt")
  name=${image%@*}
  pushed=$("$crane" push "$1/image" "$name")
  if [[ ${pushed#*@} != "${image#*@}" ]]; then
    echo "$name was pushed as ${pushed#*@}, and the manifests name ${image#*@}: make the release anew" >&2
    exit 1
  fi
  "$helm" push "${plain[@]}" "$dist/$2-${version#v}.tgz" "oci://$charts"
  chart=$charts/$2@$("$crane" digest "$charts/$2:${version#v}")
  cosign sign --yes --recursive "${key[@]}" "${name%:*}@${image#*@}"
  cosign sign --yes "${key[@]}" "$chart"
}
publish "$dist" kubizone
[[ ! -d $dist/gardener ]] || publish "$dist/gardener" kubizone-gardener
cosign sign-blob --yes "${key[@]}" --bundle "$dist/SHA256SUMS.sigstore.json" "$dist/SHA256SUMS"

kind=()
[[ $version != *-* ]] || kind=(--prerelease)
gh release create "$version" --verify-tag "${kind[@]}" --title "$version" --notes-file "$dist/notes.md" \
  "$dist"/kubizone-* "$dist"/kubectl-kubizone-* "$dist"/*.yaml "$dist"/SHA256SUMS*
