// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kuberig starts etcd, control planes with kube-apiserver, and replicas of `kubizone apiserver` for tests. It
// is apart from package rig because it links Kubernetes' clients and etcd, which costs seconds of each test binary.
//
// It promises, beside what package rig promises:
//
//  1. Start functions return when what they start is ready.
//  2. A tenant has the rights that a test grants, and no others.
//
// It does not know what is tested with it: it imports no package whose behaviour a test
// judges with its help, so subject and judge share no code.
//
// Read kube.go first, then server.go.
package kuberig
