// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pace ends requests of clients that neither send nor read.
//
// Guarantees: (1) a client that stalls for five seconds, or then is slower than 64 KiB a second, holds no seat of
// priority and fairness; (2) a handler's time does not count against the client; (3) no response is cut while the
// client reads.
//
// Out of scope: requests: the server's configuration names long-running ones.
//
// Read pace.go.
package pace
