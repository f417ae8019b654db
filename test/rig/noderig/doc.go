// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noderig is a node of a cluster without containers: a kubelet, a proxy of Services and cluster DNS in one. A
// pod is a network namespace, and each of its containers a process in it, with a root of its own over that of this
// machine. So manifests run as they are shipped: with their ServiceAccounts and rights, users, volumes, probes and
// Services. It is apart from package kuberig because it takes root and Linux. The kubelet of test/fleet takes neither:
// its pods have the loopback interface in common, with ports and directories that their specs do not have.
//
// It promises, beside what package rig promises:
//
//  1. Tests run in namespaces of their own (Main): with the first process of them all others end, and mounts, network
//     namespaces, rules of nftables and files go, however the test ended. No name outside is taken, so any number of
//     packages run at the same time.
//  2. A pod has what its spec says: user and groups, no capability, a read-only root, tokens of its ServiceAccount that
//     are bound to it, volumes that change as one when their objects change, probes, preStop and grace. A spec that
//     asks for something else that its processes would see fails the test.
//  3. A Service has an address that is translated to pods that are ready, and a name. NetworkPolicies, limits of
//     resources and seccomp profiles are not enforced.
//
// It does not know what runs in the pods.
//
// Read main.go first, then node.go and pod.go.
package noderig
