// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kit has the parts of a program that know no zone: slots and terminal (limits of connections, safe texts),
// samples and topten (metrics), traces, pki (certificates of kubizone up), version, memory, inprocess (requests to a
// handler), and heartbeat, the Lease by which a process shows that it works.
//
// For: every program of this repository.
//
// Guarantees:
//  1. A package here imports no other house, so that a change of DNS or of the API cannot break one.
//  2. Memory that a user or tenant fills is bounded, here or by an argument of the caller.
//
// Read first: heartbeat/doc.go, slots/doc.go.
package kit
