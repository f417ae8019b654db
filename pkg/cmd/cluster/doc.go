// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster has clients of Kubernetes' own API groups for the commands of the client.
//
// Guarantees: (1) a clientset has only the groups of Interface: in a program with templates the linker keeps every
// method, so more groups would make it large; (2) a kubernetes.Interface is an Interface.
//
// Out of scope: requests, and clients of kubi.zone (module api).
//
// Read cluster.go.
package cluster
