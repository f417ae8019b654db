// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package hack keeps the code generators in go.mod and vendor/, at the versions of the libraries they generate for.
package hack

import (
	_ "k8s.io/code-generator/cmd/applyconfiguration-gen"
	_ "k8s.io/code-generator/cmd/client-gen"
	_ "k8s.io/code-generator/cmd/deepcopy-gen"
	_ "k8s.io/code-generator/cmd/defaulter-gen"
	_ "k8s.io/code-generator/cmd/informer-gen"
	_ "k8s.io/code-generator/cmd/lister-gen"
	_ "k8s.io/kube-openapi/cmd/openapi-gen"
)
