// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig gives sub-commands that are clients of the API the flags of every Kubernetes client: kubeconfig,
// context, user, namespace, and the user to impersonate.
//
// It promises:
//
//	K1. The same precedence as kubectl: flags, then --kubeconfig, then $KUBECONFIG, then ~/.kube/config, then the
//	    ServiceAccount of the pod it runs in.
//	K2. Whether a namespace was asked for or is only the context's is told apart.
//
// It does not know what is asked of the server.
//
// Read kubeconfig.go.
package kubeconfig
