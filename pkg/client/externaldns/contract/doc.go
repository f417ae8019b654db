// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract defines the JSON bodies of the HTTP protocol between external-dns and a webhook provider (version 1,
// as of external-dns v0.22). An Endpoint is an RRset in the words of external-dns.
//
// Guarantees:
//
//  1. A body over 32 MiB is an error.
//  2. No input panics.
package contract
