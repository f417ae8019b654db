// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pace ends requests of clients that send or read too slowly.
//
// Guarantees: (1) a request ends, and frees its seat of API priority and fairness, if the client stalls for five
// seconds, or takes five seconds longer than at 64 KiB a second; (2) the handler's time does not count; (3) no response
// is cut while the client reads.
//
// Out of scope: long-running requests, such as watches.
//
// Read pace.go.
package pace
