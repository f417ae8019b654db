// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster has clients of Kubernetes' own API groups for the commands of the client.
//
// Guarantees: (1) a Clientset has only the groups of Interface, so that a program with templates, whose linker keeps
// every method, stays small; (2) a kubernetes.Interface is an Interface.
//
// Out of scope: requests, and clients of kubi.zone, which the module api has.
//
// Read cluster.go.
package cluster
