// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet runs pkg/bind9/fleet against a real kube-apiserver, with Kubernetes' workload controllers and `kubizone
// apiserver`. The node of package noderig runs pods, or a test sets their status.
//
// Guarantees:
//
//  1. Tests share the servers and the node, not namespaces.
//  2. A test never waits for a time.
//
// Read fleet_test.go.
package fleet
