// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loopback lets the clients of an API server's own process in.
//
// Guarantees:
//
//  1. Key and token are in the memory of the process alone, and do not expire while it runs.
//  2. Other clients see the certificates of the options alone, unless they ask for the name of the loopback client.
package loopback
