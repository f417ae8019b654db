// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet runs pkg/bind9/fleet against a real kube-apiserver, with Kubernetes' workload controllers and `kubizone
// apiserver`. Instead of a kubelet, a test sets the status of pods, or runs processes from their specs.
//
// Guarantees:
//
//  1. Commands, files and keys of a pod are read from the cluster.
//  2. Tests share the servers, not namespaces.
//  3. A test never waits for a time.
//
// Read fleet_test.go for the setup, kubelet_test.go for pods as processes.
package fleet
