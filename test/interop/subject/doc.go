// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subject is the server under test in test/interop: the hidden primary over a zoneview.Set, with zones from
// master files.
//
// It promises:
//
//  1. A zone from a master file has exactly the file's records.
//  2. A server from Start ends before the test.
//
// It does not know right answers: these come from the servers of test/rig, which share no code with this package.
//
// Read subject.go.
package subject
