#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Generates deepcopy, defaults, model names, apply configurations, clients, listers, informers and OpenAPI.
# Needs nothing but Go and the modules of go.mod, from vendor/ where GOFLAGS says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

module=kubi.zone/kubizone
# Every package of API types: its import path below the module. What is added here is generated for.
types=(pkg/apis/kubizone/v1alpha1)

bin=${XDG_CACHE_HOME:-$HOME/.cache}/kubizone/codegen
mkdir -p "$bin"
go build -o "$bin/" \
  k8s.io/code-generator/cmd/{applyconfiguration-gen,client-gen,deepcopy-gen,defaulter-gen,informer-gen,lister-gen} \
  k8s.io/kube-openapi/cmd/openapi-gen

inputs=("${types[@]/#/$module/}")
groups=()
for dir in "${types[@]}"; do
  groups+=(--input "${dir#pkg/apis/}")
  rm -f "$dir"/zz_generated.*.go
done
generated=pkg/generated
rm -rf "${generated:?}"
header=(--go-header-file hack/boilerplate.go.txt)

"$bin/deepcopy-gen" "${header[@]}" --output-file zz_generated.deepcopy.go "${inputs[@]}"
"$bin/defaulter-gen" "${header[@]}" --output-file zz_generated.defaults.go "${inputs[@]}"

# The meta types are models of our OpenAPI too; the generic server does not start without them.
meta=(k8s.io/apimachinery/pkg/{apis/meta/v1,runtime,version,api/resource})
readonly_meta=()
for package in "${meta[@]}"; do readonly_meta+=(--readonly-pkg "$package"); done
violations=$(mktemp)
trap 'rm -f "$violations"' EXIT
"$bin/openapi-gen" "${header[@]}" \
  --output-dir $generated/openapi --output-pkg $module/$generated/openapi --output-file zz_generated.openapi.go \
  --output-model-name-file zz_generated.model_name.go --report-filename "$violations" \
  "${readonly_meta[@]}" "${meta[@]}" "${inputs[@]}"
# names_match is left out: it wants Rdata, Rrsets and Ttls where DNS writes RData, RRsets and TTLs.
if grep -F "$module" "$violations" | grep -v ': names_match,' >&2; then
  echo 'the fields above break a rule of Kubernetes API types (a list without list type, a reference to what is no model)' >&2
  exit 1
fi

"$bin/applyconfiguration-gen" "${header[@]}" \
  --output-dir $generated/applyconfiguration --output-pkg $module/$generated/applyconfiguration "${inputs[@]}"
"$bin/client-gen" "${header[@]}" --clientset-name versioned --input-base $module/pkg/apis "${groups[@]}" \
  --apply-configuration-package $module/$generated/applyconfiguration \
  --output-dir $generated/clientset --output-pkg $module/$generated/clientset
"$bin/lister-gen" "${header[@]}" \
  --output-dir $generated/listers --output-pkg $module/$generated/listers "${inputs[@]}"
"$bin/informer-gen" "${header[@]}" \
  --versioned-clientset-package $module/$generated/clientset/versioned --listers-package $module/$generated/listers \
  --output-dir $generated/informers --output-pkg $module/$generated/informers "${inputs[@]}"
gofmt -w $generated "${types[@]}"
