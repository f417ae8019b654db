#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds a release into DIST, and publishes nothing: the programs of each platform with their SBOM; for those of Linux the image; the client of each platform; the
# manifests and the chart, which name the image by its digest; JSON schemas; the same of kubizone-gardener, with the layouts in DIST/gardener; the notes; the checksums.
# Programs that are in DIST/programs/OS-ARCH, DIST/client/programs/OS-ARCH and DIST/gardener/programs/OS-ARCH already are packaged as they are.
#
# $VERSION is the tag, $PLATFORMS are OS/ARCH, of which those of Windows have the client alone, $IMAGE is the repository that the image will be in. GARDENER=no leaves kubizone-gardener out, whose modules are not
# in vendor/. The same tree, flags of go and versions of tools give the same octets: every time is $SOURCE_DATE_EPOCH, the commit's where that is not set.
# `make release-dry-run` runs it, with the flags, and judges what it made.
#   hack/build-release.sh DIST
set -euo pipefail
mkdir -p "$1"
dist=$(realpath "$1")
image=${IMAGE:-ghcr.io/kubi-zone/kubizone}
source=https://github.com/kubi-zone/kubizone
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -n $(find "$dist" -type f ! -path "$dist/programs/*" ! -path "$dist/client/programs/*" ! -path "$dist/gardener/programs/*" -print -quit) ]]; then
  echo "$dist is not empty: name another directory, or empty it but for programs, client/programs and gardener/programs" >&2
  exit 1
fi
tree=v$(sed -n 's/^var number = "\(.*\)-dev"$/\1/p' pkg/kit/version/version.go)
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
  for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}; do
    echo "building $version for $platform" >&2
    build() {
      GOGC=400 GOOS=${platform%/*} GOARCH=${platform#*/} go build -ldflags "-s -w $align -X kubi.zone/kubizone/pkg/kit/version.number=${version#v}" \
        -o "$dist/$1/${platform/\//-}/" "${@:2}"
    }
    # The client has templates, so the linker keeps every method of every type. Without inlined copies and gaps between functions, which
    # amd64 does not need, a person downloads a tenth less.
    align=
    [[ $platform != */amd64 ]] || align=-funcalign=1
    build client/programs -gcflags=all=-l ./cmd/kubectl-kubizone
    align=
    [[ $platform != windows/* ]] || continue
    build programs ./cmd/kubizone ./cmd/bind-agent ./cmd/webhook-server
    [[ $platform == linux/* && ${GARDENER:-} != no ]] || continue
    GOOS=${platform%/*} GOARCH=${platform#*/} hack/gardener.sh build -ldflags '-s -w' -o "$dist/gardener/programs/${platform/\//-}/" .
  done
fi

crane_program=$(hack/build-tool.sh crane)
helm=$(hack/build-tool.sh helm)
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

# copy_licenses copies the licences below directory $1 to directory $2: they ask to go along with programs that their code is in.
copy_licenses() {
  mkdir -p "$2"
  (cd "$1" && find . -type f ! -name '*.go' \( -iname 'license*' -o -iname 'notice*' -o -iname 'copying*' -o -iname 'patents*' \) -exec cp --parents -t "$2" {} +)
  chmod -R u+w "$2" # the module cache is read-only
}

# write_sbom writes the SBOM of the programs in directory $2, with the name $1.
write_sbom() {
  go run ./hack/sbom "$source/releases/download/$version/$1.spdx.json" "$version" "$2"/* >"$dist/$1.spdx.json"
}

# crane makes images in a registry. This one is in memory and ends with the script.
exec {served}< <(exec "$crane_program" registry serve --address 127.0.0.1:0 2>&1)
registry=$!
read -r -u "$served" line
cat <&"$served" >/dev/null &
registry_address=127.0.0.1:${line##* }

# build_image makes the image of program $1 for the platforms of directory $2/programs: the layout $2/image, its archive in DIST, and $2/image.txt with the name and
# digest that it will have in repository $3. The licences are in $work/$1. The program $4, if any, is in directory $5/programs and in the image too.
build_image() {
  local at=$registry_address/$1 manifests=() programs platform digest names
  for programs in "$2"/programs/linux-*; do
    platform=${programs##*/}
    archive "$work/layer.tar" -C "$programs" "$1" ${4:+-C "$5/programs/$platform" "$4"} -C "$work/$1" LICENSE licenses
    crane append --oci-empty-base --new_layer "$work/layer.tar" --new_tag "$at:$platform"
    crane mutate "$at:$platform" --tag "$at:$platform" --set-platform "${platform/-//}" --user 65532:65532 --entrypoint "/$1" \
      --label "org.opencontainers.image.version=$version,org.opencontainers.image.source=$source,org.opencontainers.image.licenses=Apache-2.0"
    manifests+=(--manifest "$at:$platform")
  done
  crane index append "${manifests[@]}" --tag "$at:$version"
  crane pull --format oci "$at:$version" "$2/image"
  crane digest "$at:$version"
  digest=$(<"$work/crane.out")
  # The names under which tools of OCI and containerd take the image out of the layout; crane's own would be that of the registry above.
  names="\"annotations\": {\"org.opencontainers.image.ref.name\": \"$version\", \"io.containerd.image.name\": \"$3:$version\"}"
  sed -i "s|\"digest\": \"$digest\"|&, $names|" "$2/image/index.json"
  archive "$dist/$1-$version-image.tar" -C "$2/image" oci-layout index.json blobs
  echo "$3:$version@$digest" >"$2/image.txt"
}

# package_chart packs the chart of program $1, which names the image of repository $2 with digest $3.
package_chart() {
  cp -r "charts/$1" "$work/chart-$1"
  sed -i -e "s|^  \(# \)\?repository: .*|  repository: $2|" -e "s|^  digest: \"\"$|  digest: $3|" "$work/chart-$1/values.yaml"
  find "$work/chart-$1" -exec touch --date "@$SOURCE_DATE_EPOCH" {} + # they are packed with their times
  "$helm" package "$work/chart-$1" --version "${version#v}" --app-version "${version#v}" --destination "$dist" >/dev/null
}

copy_licenses vendor "$work/kubizone/licenses"
copy_licenses cmd/kubectl-kubizone/console/published "$work/kubizone/licenses/published" # of the console's scripts
cp LICENSE "$work/kubizone"
for programs in "$dist"/programs/*; do
  name=kubizone-$version-${programs##*/}
  write_sbom "$name" "$programs"
  archive "$work/archive.tar" -C "$programs" kubizone bind-agent webhook-server -C "$work/kubizone" LICENSE licenses
  gzip --no-name <"$work/archive.tar" >"$dist/$name.tar.gz"
done

# The client is an archive by itself, of the modules that it has.
mkdir "$work/kubectl-kubizone"
cp LICENSE "$work/kubectl-kubizone"
cp -r "$work/kubizone/licenses" "$work/kubectl-kubizone"
for programs in "$dist"/client/programs/*; do
  name=kubectl-kubizone-$version-${programs##*/}
  write_sbom "$name" "$programs"
  archive "$work/archive.tar" -C "$programs" $(ls "$programs") -C "$work/kubectl-kubizone" LICENSE licenses
  gzip --no-name <"$work/archive.tar" >"$dist/$name.tar.gz"
done

# krew installs the client as the plugin kubizone of kubectl.
{
  printf 'apiVersion: krew.googlecontainertools.github.com/v1alpha2\nkind: Plugin\nmetadata: {name: kubizone}\nspec:\n'
  printf '  version: %s\n  homepage: %s\n  shortDescription: Ask about DNS names, and write and check zones\n' "$version" "$source"
  printf '  description: |\n    Asks Kubizone which names a namespace may use (may, names), which zones there are (tree), which Records have a name or an\n'
  printf '    address (who), and which step keeps a Record from name servers (why); imports, applies, verifies and judges zones.\n  platforms:\n'
  for programs in "$dist"/client/programs/*; do
    name=${programs##*/}
    program=$(ls "$programs")
    printf '  - selector: {matchLabels: {os: %s, arch: %s}}\n' "${name%-*}" "${name#*-}"
    printf '    uri: %s/releases/download/%s/kubectl-kubizone-%s-%s.tar.gz\n' "$source" "$version" "$version" "$name"
    printf '    sha256: %s\n' "$(sha256sum "$dist/kubectl-kubizone-$version-$name.tar.gz" | cut -d' ' -f1)"
    printf '    bin: %s\n    files: [{from: %s, to: .}, {from: LICENSE, to: .}]\n' "$program" "$program"
  done
} >"$dist/krew.yaml"

# JSON schemas of the kinds, as kubeconform and editors take them.
mkdir "$work/schemas"
go run ./hack/schemas "$work/schemas"
archive "$work/archive.tar" -C "$work/schemas" $(ls "$work/schemas")
gzip --no-name <"$work/archive.tar" >"$dist/kubizone-schemas-$version.tar.gz"

build_image kubizone "$dist" "$image" kubectl-kubizone "$dist/client"
digest=$(sed 's/.*@//' "$dist/image.txt")

# Links of the page are relative, and those of a release are not.
sed "s|](\([^):]*\))|]($source/blob/$version/\1)|g" >"$dist/notes.md" <<MARKDOWN
$notes

**Install** ([how](docs/install.md), [check it](RELEASE.md#check-a-release)): \`kubectl apply -f $source/releases/download/$version/install.yaml\`,
or \`helm install kubizone oci://${image%/*}/charts/kubizone --version ${version#v} -n kubizone-system --create-namespace\`.
The image is \`$image:$version@$digest\`.
MARKDOWN

deploy=$(realpath --relative-to "$work" artifacts/deploy) # kustomize knows relative directories alone
for form in embedded ha; do
  controller="$deploy/controller, "
  [[ $form == embedded ]] && controller= # in the pod of the server
  cat >"$work/kustomization.yaml" <<YAML
resources: [$deploy/$form]
components: [$controller$deploy/aggregate-roles]
images: [{name: kubizone, newName: $image, newTag: $version, digest: "$digest"}]
YAML
  "$kubectl" kustomize "$work" >"$dist/install-$form.yaml"
done
mv "$dist/install-embedded.yaml" "$dist/install.yaml"

package_chart kubizone "$image" "$digest"

if [[ -d $dist/gardener/programs ]]; then
  repository=${image%/*}/kubizone-gardener charts=${image%/*}/charts
  mkdir "$work/kubizone-gardener"
  cp LICENSE "$work/kubizone-gardener"
  mkdir "$work/kubizone-gardener/licenses"
  for programs in "$dist"/gardener/programs/*; do
    write_sbom "kubizone-gardener-$version-${programs##*/}" "$programs"
    # Its modules are in the module cache, where each upper-case letter of a name is ! and the lower-case one.
    while read -r module number; do
      copy_licenses "$(go env GOMODCACHE)/$(sed 's/[A-Z]/!\L&/g' <<<"$module@$number")" "$work/kubizone-gardener/licenses/$module"
    done < <(go version -m "$programs/kubizone-gardener" | awk '$1 == "dep" && $4 { print $2, $3 }')
  done
  build_image kubizone-gardener "$dist/gardener" "$repository"
  package_chart kubizone-gardener "$repository" "$(sed 's/.*@//' "$dist/gardener/image.txt")"
  # Gardener takes the chart from a registry. helm writes the time of the file into what it pushes.
  chart=$dist/kubizone-gardener-${version#v}.tgz
  touch --date "@$SOURCE_DATE_EPOCH" "$chart"
  "$helm" push --plain-http "$chart" "oci://$registry_address/charts" 2>/dev/null
  crane pull --format oci "$registry_address/charts/kubizone-gardener:${version#v}" "$dist/gardener/chart"
  for manifest in artifacts/gardener/*.yaml; do
    sed -e "s|registry.example.org/charts|$charts|" -e "s|registry.example.org/kubizone-gardener|$repository|" "$manifest" >"$dist/gardener-${manifest##*/}"
  done
fi

(cd "$dist" && find . -maxdepth 1 -type f \( -name 'kubizone-*' -o -name 'kubectl-kubizone-*' -o -name '*.yaml' \) -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
