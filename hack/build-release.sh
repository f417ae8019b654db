#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds a release into DIST, and publishes nothing: the programs of each platform with their SBOM; for those of Linux the image; the manifests and the chart,
# which name the image by its digest; the notes; the checksums. Programs that are in DIST/programs/OS-ARCH already are packaged as they are.
#
# $VERSION is the tag, $PLATFORMS are OS/ARCH, $IMAGE is the repository that the image will be in. The same tree, flags of go and versions of tools give the same
# octets: every time is $SOURCE_DATE_EPOCH, the commit's where that is not set. `make release-dry-run` runs it, with the flags, and judges what it made.
#   hack/build-release.sh DIST
set -euo pipefail
mkdir -p "$1"
dist=$(realpath "$1")
image=${IMAGE:-ghcr.io/kubi-zone/kubizone}
source=https://github.com/kubi-zone/kubizone
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -n $(ls -A "$dist" | grep -vx programs) ]]; then
  echo "$dist is not empty: name another directory, or empty it but for programs" >&2
  exit 1
fi
tree=v$(sed -n 's/^var number = "\(.*\)-dev"$/\1/p' pkg/version/version.go)
version=${VERSION:-$tree}
if [[ $version != "$tree" ]]; then
  echo "VERSION=$version: this tree becomes $tree; change its number as RELEASE.md says, commit, and tag that commit" >&2
  exit 1
fi
notes=$(awk -v version="$version" '/^## / { on = $2 == version; next } on' CHANGELOG.md)
if [[ -z $notes ]]; then
  echo "CHANGELOG.md has no section \"## $version\": write what the release brings" >&2
  exit 1
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -c safe.directory='*' log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

if [[ ! -d $dist/programs ]]; then
  for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
    echo "building $version for $platform" >&2
    GOGC=400 GOOS=${platform%/*} GOARCH=${platform#*/} go build -ldflags "-s -w -X kubi.zone/kubizone/pkg/version.number=${version#v}" \
      -o "$dist/programs/${platform/\//-}/" ./cmd/kubizone ./cmd/bind-agent ./webhook-server
  done
fi

crane_program=$(hack/build-tool.sh crane)
kubectl=$(hack/build-kube.sh kubectl)/kubectl
work=$(mktemp -d)
registry=
trap 'rm -rf "$work"; [[ -z $registry ]] || kill "$registry"' EXIT

# crane says what it does only if it fails.
crane() {
  "$crane_program" "$@" 2>"$work/crane.log" >"$work/crane.out" || { cat "$work/crane.log" >&2; return 1; }
}

# archive writes a tar file of which only names, contents and execution rights depend on what is packed.
archive() {
  tar --create --file "$@" --format gnu --hard-dereference --sort name --owner 0 --group 0 --numeric-owner --mode u=rwX,go=rX --mtime "@$SOURCE_DATE_EPOCH"
}

# Licences ask to go along with programs that their code is in.
find vendor -type f ! -name '*.go' \( -iname 'license*' -o -iname 'notice*' -o -iname 'copying*' -o -iname 'patents*' \) -exec cp --parents -t "$work" {} +
mv "$work/vendor" "$work/licenses"
cp LICENSE "$work"

# crane makes images in a registry. This one is in memory and ends with the script.
exec {served}< <(exec "$crane_program" registry serve --address 127.0.0.1:0 2>&1)
registry=$!
read -r -u "$served" line
cat <&"$served" >/dev/null &
made=127.0.0.1:${line##* }/kubizone
manifests=()

for programs in "$dist"/programs/*; do
  platform=${programs##*/}
  name=kubizone-$version-$platform
  go run ./hack/sbom "$source/releases/download/$version/$name.spdx.json" "$version" "$programs"/* >"$dist/$name.spdx.json"
  archive "$work/archive.tar" -C "$programs" kubizone bind-agent webhook-server -C "$work" LICENSE licenses
  gzip --no-name <"$work/archive.tar" >"$dist/$name.tar.gz"

  [[ $platform == linux-* ]] || continue
  archive "$work/layer.tar" -C "$programs" kubizone -C "$work" LICENSE licenses
  crane append --oci-empty-base --new_layer "$work/layer.tar" --new_tag "$made:$platform"
  crane mutate "$made:$platform" --tag "$made:$platform" --set-platform "${platform/-//}" --user 65532:65532 --entrypoint /kubizone \
    --label "org.opencontainers.image.version=$version,org.opencontainers.image.source=$source,org.opencontainers.image.licenses=Apache-2.0"
  manifests+=(--manifest "$made:$platform")
done
crane index append "${manifests[@]}" --tag "$made:$version"
crane pull --format oci "$made:$version" "$dist/image"
crane digest "$made:$version"
digest=$(<"$work/crane.out")
# The names under which tools of OCI and containerd take the image out of the layout; crane's own would be that of the registry above.
names="\"annotations\": {\"org.opencontainers.image.ref.name\": \"$version\", \"io.containerd.image.name\": \"$image:$version\"}"
sed -i "s|\"digest\": \"$digest\"|&, $names|" "$dist/image/index.json"
archive "$dist/kubizone-$version-image.tar" -C "$dist/image" oci-layout index.json blobs
echo "$image:$version@$digest" >"$dist/image.txt"

# Links of the page are relative, and those of a release are not.
sed "s|](\([^):]*\))|]($source/blob/$version/\1)|g" >"$dist/notes.md" <<MARKDOWN
$notes

**Install** ([how](docs/install.md), [check it](RELEASE.md#check-a-release)): \`kubectl apply -f $source/releases/download/$version/install.yaml\`,
or \`helm install kubizone oci://${image%/*}/charts/kubizone --version ${version#v} -n kubizone-system --create-namespace\`.
The image is \`$image:$version@$digest\`.
MARKDOWN

deploy=$(realpath --relative-to "$work" artifacts/deploy) # kustomize knows relative directories alone
for form in embedded ha; do
  cat >"$work/kustomization.yaml" <<YAML
resources: [$deploy/$form]
components: [$deploy/controller, $deploy/aggregate-roles]
images: [{name: kubizone, newName: $image, newTag: $version, digest: "$digest"}]
YAML
  "$kubectl" kustomize "$work" >"$dist/install-$form.yaml"
done
mv "$dist/install-embedded.yaml" "$dist/install.yaml"

if [[ -d charts/kubizone ]]; then
  cp -r charts/kubizone "$work"
  sed -i -e "s|^  repository: \"\"$|  repository: $image|" -e "s|^  digest: \"\"$|  digest: $digest|" "$work/kubizone/values.yaml"
  find "$work/kubizone" -exec touch --date "@$SOURCE_DATE_EPOCH" {} + # they are packed with their times
  "$(hack/build-tool.sh helm)" package "$work/kubizone" --version "${version#v}" --app-version "${version#v}" --destination "$dist" >/dev/null
fi

(cd "$dist" && sha256sum kubizone-* install*.yaml >SHA256SUMS)
