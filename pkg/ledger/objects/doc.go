// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects is the way between the API's objects and the law: what a Zone, a Record or a Delegation asks for
// (LawRecord, LawZone, DelegationRule), how objects stand in etcd (ObjectCodec), and how a decision is written into
// their status (Placer).
//
// Promises. (1) A value made of a stored object is a function of it: no clock, no other object. (2) A status that a
// Placer has written says of each condition with which generation it was observed. (3) The law gets every field of a
// spec, or fields_test.go says why it does not read it.
//
// It does not know keys, transactions or queues.
//
// Read first: object.go.
package objects
