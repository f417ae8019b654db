// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster makes clients for Kubernetes' own API groups, such as Events and RBAC, for the commands of
// kubectl-kubizone. A full clientset of client-go makes the program much larger, because html/template calls methods by
// reflection, so that the linker keeps all methods.
//
// Guarantees: (1) A clientset has only the API groups of Interface.
package cluster
