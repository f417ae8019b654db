// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig gives a sub-command that is a client of the API the flags every Kubernetes client has: which
// kubeconfig, context, user, namespace, and whom to impersonate.
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
