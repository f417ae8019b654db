// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet runs pkg/bind9/fleet against a real kube-apiserver, with the controllers of Kubernetes that make pods
// of Deployments, and `kubizone apiserver` behind it. There is no kubelet: what a test says of a pod stands in its
// place, or processes that the test starts of what the pod says.
//
// It promises:
//  1. Nothing of a pod is assumed: commands, files and keys are read from the objects in the cluster.
//  2. A test has namespaces of its own; nothing else is shared but the servers.
//  3. A test waits for facts that it can ask for, and never for a time.
//
// It does not know how objects are rendered: golden files of pkg/bind9/fleet/render say that.
//
// Read fleet_test.go for what runs, kubelet_test.go for how a pod becomes processes.
package fleet
