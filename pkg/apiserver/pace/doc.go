// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pace ends requests of clients that send or read too slowly.
//
// Guarantees: (1) a client holds no seat of API priority and fairness after a stall of five seconds, or if then slower
// than 64 KiB a second; (2) the time of the handler does not count; (3) no response is cut while the client reads.
//
// Out of scope: long-running requests, named by the server's configuration.
//
// Read pace.go.
package pace
