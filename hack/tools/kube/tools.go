// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package kube pins the kubectl that the tests drive, for hack/build-kubectl.sh.
package kube

import (
	_ "k8s.io/kubernetes/cmd/kubectl"
)
