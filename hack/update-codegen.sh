#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Generates deepcopy, defaults, protobuf, model names, apply configurations, clients, listers, informers and OpenAPI.
# Needs Go, the modules of go.work, from vendor/ where GOFLAGS says so, and protoc (Debian: protobuf-compiler, libprotobuf-dev).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

module=kubi.zone/kubizone
# Every package of API types: its import path below the module. Code is generated for each of them.
types=(api/kubizone/v1alpha1 api/bind9/v1alpha1)
# Types of an API that is another project's, without clients and stored nowhere.
foreign=kubi.zone/kubizone/pkg/apis/acme
# Every package of the server that sets defaults of such types, as its doc.go says.
defaults=(pkg/apis/kubizone/install pkg/apis/bind9/install)

if ! command -v protoc >/dev/null; then
  echo 'protoc is not in PATH; Debian has it: apt-get install protobuf-compiler libprotobuf-dev' >&2
  exit 1
fi

bin=${XDG_CACHE_HOME:-$HOME/.cache}/kubizone/codegen
mkdir -p "$bin"
go build -o "$bin/" \
  k8s.io/code-generator/cmd/{applyconfiguration-gen,client-gen,deepcopy-gen,defaulter-gen,informer-gen,lister-gen} \
  k8s.io/code-generator/cmd/go-to-protobuf{,/protoc-gen-gogo} golang.org/x/tools/cmd/goimports \
  k8s.io/kube-openapi/cmd/openapi-gen

inputs=("${types[@]/#/$module/}")
groups=()
for dir in "${types[@]}"; do
  groups+=(--input "${dir#api/}")
  rm -f "$dir"/zz_generated.*.go "$dir"/generated.{pb,protomessage.pb}.go "$dir"/generated.proto
done
client=api/client openapi=pkg/apis/openapi
rm -rf $client $openapi
header=(--go-header-file hack/boilerplate.go.txt)

# protoc wants one tree of import paths: ours to write to, apimachinery's to read from.
tree=$(mktemp -d)
violations=$(mktemp)
trap 'rm -rf "$tree" "$violations"' EXIT
mkdir -p "$tree/kubi.zone" "$tree/k8s.io" "$tree/github.com/gogo/protobuf"
ln -s "$PWD" "$tree/$module"
machinery=$(go list -f '{{.Dir}}' k8s.io/apimachinery/pkg/runtime)
ln -s "${machinery%/pkg/runtime}" "$tree/k8s.io/apimachinery"
ln -s "$(go list -f '{{.Dir}}' github.com/gogo/protobuf/gogoproto)" "$tree/github.com/gogo/protobuf/gogoproto"
PATH=$bin:$PATH "$bin/go-to-protobuf" "${header[@]}" --output-dir "$tree" --packages "$(IFS=,; echo "${inputs[*]}")" \
  --apimachinery-packages "$(printf -- '-k8s.io/apimachinery/pkg/%s,' \
    util/intstr api/resource runtime/schema runtime apis/meta/v1 | sed 's/,$//')"

"$bin/deepcopy-gen" "${header[@]}" --output-file zz_generated.deepcopy.go "${inputs[@]}" $foreign
rm -f "${defaults[@]/%//zz_generated.defaults.go}"
"$bin/defaulter-gen" "${header[@]}" --output-file zz_generated.defaults.go "${defaults[@]/#/$module/}"

# The meta types are models of our OpenAPI too, without which the generic server does not start, and so are the reviews that a
# standalone server answers, and the Scale of a Bind9Cluster.
meta=(k8s.io/apimachinery/pkg/{apis/meta/v1,runtime,version,api/resource} k8s.io/api/{authentication,authorization,autoscaling}/v1)
readonly_meta=()
for package in "${meta[@]}"; do readonly_meta+=(--readonly-pkg "$package"); done
"$bin/openapi-gen" "${header[@]}" \
  --output-dir $openapi --output-pkg $module/$openapi --output-file zz_generated.openapi.go \
  --output-model-name-file zz_generated.model_name.go --report-filename "$violations" \
  "${readonly_meta[@]}" "${meta[@]}" "${inputs[@]}" $foreign
# names_match is left out: it wants Rdata, Rrsets and Ttls where DNS writes RData, RRsets and TTLs.
if grep -F "$module" "$violations" | grep -v ': names_match,' >&2; then
  echo 'the fields above break a rule of Kubernetes API types (a list without list type, a reference to what is no model)' >&2
  exit 1
fi

"$bin/applyconfiguration-gen" "${header[@]}" \
  --output-dir $client/applyconfiguration --output-pkg $module/$client/applyconfiguration "${inputs[@]}"
"$bin/client-gen" "${header[@]}" --clientset-name versioned --input-base $module/api "${groups[@]}" \
  --apply-configuration-package $module/$client/applyconfiguration \
  --output-dir $client/clientset --output-pkg $module/$client/clientset
"$bin/lister-gen" "${header[@]}" \
  --output-dir $client/listers --output-pkg $module/$client/listers "${inputs[@]}"
"$bin/informer-gen" "${header[@]}" \
  --versioned-clientset-package $module/$client/clientset/versioned --listers-package $module/$client/listers \
  --output-dir $client/informers --output-pkg $module/$client/informers "${inputs[@]}"
gofmt -w $client $openapi "${types[@]}" "${defaults[@]}"
