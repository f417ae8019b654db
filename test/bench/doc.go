// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench (`make bench`) measures the cost of the ledger: writes through it against the same server without.
//
// Guarantees:
//
// (1) Ratios are of pairs: arms alternate within every round, each with a separate etcd on the same disk, and the
// medians of rounds are reported. A time alone describes only the machine.
//
// (2) Counts undisturbed by other processes accompany times: transactions, fsyncs, log bytes, allocations and CPU
// time for each write.
//
// (3) The server is a separate process, reached by client-go over HTTPS in JSON; etcd is another.
//
// (4) Measurements are kept as JSON lines and compared with the last kept run.
//
// Out of scope: how the ledger works.
//
// Read first: run.go (the measurements, in order), then arm.go (the compared arms), then docs/performance.md for the
// figures.
package main
