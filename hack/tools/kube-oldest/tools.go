// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package kubeoldest pins the Kubernetes programs that the tests run, for hack/build-kube.sh.
package kubeoldest

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
