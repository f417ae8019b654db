// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subject starts the server under test of test/interop: the hidden primary, with zones from master files.
//
// Guarantees:
//
//  1. A zone has exactly its master file's records.
//  2. A server from Start ends before the test.
package subject
