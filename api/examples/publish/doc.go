// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command publish sets the addresses of a name, and returns when every name server of the zone serves them. It is the
// example of docs/clients.md for the typed client, server-side apply, and an informer.
//
// Guarantees: (1) it writes a single Record, and only the applied fields; (2) it ends with the server's message if the
// write is refused.
//
// Read main.go.
package main
