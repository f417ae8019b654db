// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noderig simulates a cluster node without containers: a kubelet, a proxy of Services and cluster DNS. A pod is
// a network namespace, and each container a process with a root over this machine's. It needs root and Linux.
//
// Guarantees, beside those of package rig:
//
//  1. Tests run in their own namespaces (Main), which end with all processes, mounts and files, however the test ended.
//  2. A pod has the properties of its spec: user and groups, no capability, a read-only root, bound ServiceAccount
//     tokens, volumes updated atomically, probes, preStop and grace.
//  3. A Service has a name, and an address that leads to ready pods. NetworkPolicies, resource limits and seccomp
//     profiles are not enforced.
//
// Read main.go, then node.go and pod.go.
package noderig
