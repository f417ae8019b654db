// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command publish gives a name its addresses, and returns when every name server of its zone has them. It is the
// example of docs/clients.md: the typed client, server-side apply, and an informer.
//
// It promises: (1) it writes one Record, and of that the fields that it applies; (2) a refusal ends it with the
// message of the server.
//
// It does not know zones: the server says which zone has the name and whether the namespace may write it.
//
// Read main.go.
package main
