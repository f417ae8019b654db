// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peercert is the command kubizone peer-certificate. It creates the certificate by which etcd members in API
// servers trust each other, stores it in a Secret for all members, and writes it to files.
//
// Guarantees:
//
//	K1. All members have certificates of the same authority, even if several start at once.
//	K2. The certificate is renewed after two thirds of its validity, or for a new host. The authority is never renewed
//	    automatically, because running members would not trust another.
//	K3. Files are replaced atomically, and only their owner can read keys.
package peercert
