// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peercert is kubizone peer-certificate, which creates the certificates of etcd members in API servers, in a
// Secret.
//
// Guarantees:
//
//	K1. All members have certificates of one authority, also if several start at once.
//	K2. A leaf is renewed after two thirds of its validity or for a new host. An authority is never renewed by itself:
//	    running members would not trust the new one.
//	K3. Files are replaced atomically, and only their owner can read keys.
//
// Out of scope: etcd.
//
// Read peercert.go.
package peercert
