#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Packs kubizone-gardener into DIST, and publishes nothing: its image and its chart as OCI layouts, DIST/image and DIST/chart. The chart names the image by its
# digest. $PLATFORMS are OS/ARCH, $IMAGE is the repository that the image will be in. Gardener takes both from a registry:
#   crane push DIST/image REGISTRY/kubizone-gardener:v0.5.0, crane push DIST/chart REGISTRY/charts/kubizone-gardener:0.5.0
#   hack/build-gardener.sh DIST
set -euo pipefail
mkdir -p "$1"
dist=$(realpath "$1")
image=${IMAGE:-ghcr.io/kubi-zone/kubizone-gardener}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -n $(ls -A "$dist") ]]; then
  echo "$dist is not empty: name another directory, or empty it" >&2
  exit 1
fi
number=$(sed -n 's/^var number = "\(.*\)-dev"$/\1/p' pkg/version/version.go)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -c safe.directory='*' log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
crane=$(hack/build-tool.sh crane)
helm=$(hack/build-tool.sh helm)
work=$(mktemp -d)
registry=
trap 'rm -rf "$work"; [[ -z $registry ]] || kill "$registry"' EXIT

# crane says what it does only if it fails.
crane() {
  "$crane" "$@" 2>"$work/crane.log" >"$work/crane.out" || { cat "$work/crane.log" >&2; return 1; }
}

# crane makes images in a registry. This one is in memory and ends with the script.
exec {served}< <(exec "$crane" registry serve --address 127.0.0.1:0 2>&1)
registry=$!
read -r -u "$served" line
cat <&"$served" >/dev/null &
at=127.0.0.1:${line##* }

manifests=()
for platform in ${PLATFORMS:-linux/amd64 linux/arm64}; do
  echo "building kubizone-gardener $number for $platform" >&2
  GOOS=${platform%/*} GOARCH=${platform#*/} hack/gardener.sh build -ldflags '-s -w' -o "$work/${platform#*/}/" .
  cp LICENSE "$work/${platform#*/}/"
  tar --create --file "$work/layer.tar" --format gnu --sort name --owner 0 --group 0 --numeric-owner --mode u=rwX,go=rX --mtime "@$SOURCE_DATE_EPOCH" \
    -C "$work/${platform#*/}" kubizone-gardener LICENSE
  one=$at/kubizone-gardener:${platform#*/}
  crane append --oci-empty-base --new_layer "$work/layer.tar" --new_tag "$one"
  crane mutate "$one" --tag "$one" --set-platform "$platform" --user 65532:65532 --entrypoint /kubizone-gardener \
    --label "org.opencontainers.image.version=v$number,org.opencontainers.image.source=https://github.com/kubi-zone/kubizone,org.opencontainers.image.licenses=Apache-2.0"
  manifests+=(--manifest "$one")
done
crane index append "${manifests[@]}" --tag "$at/kubizone-gardener:v$number"
crane pull --format oci "$at/kubizone-gardener:v$number" "$dist/image"
crane digest "$at/kubizone-gardener:v$number"

cp -r charts/kubizone-gardener "$work/chart"
sed -i -e "s|^  repository: .*|  repository: $image|" -e "s|^  digest: \"\"$|  digest: $(<"$work/crane.out")|" "$work/chart/values.yaml"
find "$work/chart" -exec touch --date "@$SOURCE_DATE_EPOCH" {} + # they are packed with their times
"$helm" package "$work/chart" --version "$number" --app-version "$number" --destination "$work" >/dev/null
"$helm" push --plain-http "$work/kubizone-gardener-$number.tgz" "oci://$at/charts" 2>/dev/null
crane pull --format oci "$at/charts/kubizone-gardener:$number" "$dist/chart"
