// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subject is the server under test in test/interop: the hidden primary over a zoneview.Set from master files.
//
// Guarantees:
//
//  1. A zone has exactly its master file's records.
//  2. A server from Start ends before the test.
//
// Out of scope: right answers: the servers of test/rig give them, and share no code with this package.
//
// Read subject.go.
package subject
