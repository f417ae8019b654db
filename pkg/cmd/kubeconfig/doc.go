// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig has the usual flags of Kubernetes clients: kubeconfig, context, user, namespace, impersonation.
//
// Guarantees:
//
//	K1. Precedence is kubectl's: flags, --kubeconfig, $KUBECONFIG, ~/.kube/config, the pod's ServiceAccount.
//	K2. The namespace of -n is distinguished from that of the context.
//	K3. A command reports a silent API within seconds; its reads then end with the next step.
//
// Out of scope: requests.
//
// Read kubeconfig.go.
package kubeconfig
