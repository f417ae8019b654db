// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kuberig starts etcd, control planes with kube-apiserver, and replicas of `kubizone apiserver`. Linking
// Kubernetes' clients and etcd costs a test binary seconds, so rig is apart.
//
// Guarantees, beside those of package rig:
//
//  1. Start functions return when the server is ready.
//  2. A tenant has exactly the rights that a test grants.
//
// Read kube.go, then server.go.
package kuberig
