// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods installs the charts on a cluster with pods, and follows zones through a fleet's life. Every part of
// Kubizone runs as in its manifest, in namespaces with Pod Security "restricted"; users have the chart's roles.
//
// Guarantees:
//
//  1. The objects are those of `helm template`, unchanged.
//  2. While zones are delivered, signed and unsigned, no request of a part is refused, and no part ends.
//
// Read story_test.go first, then testdata.
package pods
