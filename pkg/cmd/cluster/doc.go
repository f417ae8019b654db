// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster has clients for Kubernetes' own API groups, used by kubectl-kubizone.
//
// Guarantees: (1) a clientset has only the API groups of Interface, which keeps the program small: html/template calls
// methods by name, so the linker keeps all methods of every group; (2) a kubernetes.Interface can replace an Interface,
// as in tests.
//
// Out of scope: clients of the group kubi.zone (module api).
//
// Read cluster.go.
package cluster
