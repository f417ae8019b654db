// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig connects a command to a Kubernetes API, with kubectl's flags, such as --context and --as.
//
// Guarantees:
//
//	K1. Precedence is kubectl's: flags, --kubeconfig, $KUBECONFIG, ~/.kube/config, the pod's ServiceAccount.
//	K2. A command can distinguish the namespace of -n from that of the context.
//	K3. If the API does not answer, the command says so within seconds. Its reads then fail, and the error tells
//	    the user what to do.
//
// Read kubeconfig.go.
package kubeconfig
