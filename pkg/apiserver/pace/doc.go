// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pace ends HTTP requests of clients that send or read too slowly. A request occupies a seat of API priority
// and fairness until its response is sent, so stalled clients could otherwise take all seats.
//
// Guarantees:
//  1. A request ends if its client stalls for five seconds, or needs five seconds more than a transfer at 64 KiB a
//     second.
//  2. The time of the server's own work does not count.
package pace
