// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package hack keeps in go.mod and vendor/ the code generators, at the versions of the libraries, and gogo.proto, which
// the generated .proto imports.
package hack

import (
	_ "github.com/gogo/protobuf/gogoproto"
	_ "golang.org/x/tools/cmd/goimports"
	_ "k8s.io/code-generator/cmd/applyconfiguration-gen"
	_ "k8s.io/code-generator/cmd/client-gen"
	_ "k8s.io/code-generator/cmd/deepcopy-gen"
	_ "k8s.io/code-generator/cmd/defaulter-gen"
	_ "k8s.io/code-generator/cmd/go-to-protobuf"
	_ "k8s.io/code-generator/cmd/go-to-protobuf/protoc-gen-gogo"
	_ "k8s.io/code-generator/cmd/informer-gen"
	_ "k8s.io/code-generator/cmd/lister-gen"
	_ "k8s.io/kube-openapi/cmd/openapi-gen"
)
