// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kit has the parts of a program that know nothing of zones: limits of connections, texts for a terminal,
// metrics read at a scrape, traces, certificates, the version, and the Lease by which a process shows that it works.
//
// For: every program of this repository.
//
// Guarantees:
//  1. A package here imports no other house, so that a change of DNS or of the API cannot break one.
//  2. Each bound, of octets, slots or names, is an argument of its caller.
//
// Read first: heartbeat/doc.go, slots/doc.go.
package kit
