// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods installs what the charts have on a cluster with pods, and follows zones through the life of a fleet:
// every part of Kubizone runs with the ServiceAccount, the rights, the user and the volumes of its manifest, in
// namespaces that enforce Pod Security "restricted", and people have the roles of the chart. The administrator's
// kubeconfig, with which other tests start these parts, allows what their own rights do not.
//
// It promises:
//
//  1. The objects are those of `helm template`, unchanged.
//  2. No part is refused a request, and none ends, while zones are delivered, signed and taken back.
//
// It does not know what the parts ask one another.
//
// Read story_test.go first, then testdata.
package pods
