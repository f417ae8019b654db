// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kuberig starts etcd, control planes with kube-apiserver, and replicas of `kubizone apiserver` for tests.
// The package is separate from rig because linking Kubernetes' clients and etcd costs seconds for each test binary.
//
// It promises, beside the promises of package rig:
//
//  1. Start functions return when the server is ready.
//  2. A tenant has exactly the rights that a test grants.
//
// It does not know the code under test, and imports none of its packages: subject and judge share no code.
//
// Read kube.go first, then server.go.
package kuberig
