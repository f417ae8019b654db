// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects translates between objects of the API and package law, which knows no Kubernetes. It makes the law's
// request from a written object (ZoneAsk, DelegationAsk), and writes the decision into the object's status (Placer).
// ObjectCodec encodes objects for etcd.
//
// Guarantees:
//
//  1. A value made from a stored object depends on nothing else: no clock, no other object.
//  2. Each condition written by a Placer has the generation that the Placer observed.
//
// Out of scope: keys, transactions and queues.
//
// Read first: object.go.
package objects
