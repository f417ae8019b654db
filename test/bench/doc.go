// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the cost of the ledger: writes through the ledger against the same server without it. `make
// bench` runs the command.
//
// It promises:
//
// (1) Ratios are of pairs: arms alternate within every round of a run, each with a separate etcd on the same disk,
// and the medians of the rounds are reported. A time alone describes only the machine.
//
// (2) Counts that other processes do not disturb accompany times: transactions, fsyncs, log bytes, allocations and
// CPU time for each write.
//
// (3) The server is a separate process that client-go reaches over HTTPS in JSON; etcd is another process.
//
// (4) The measurements are kept as JSON lines and compared with the last kept run.
//
// It does not know how the ledger works.
//
// Read first: run.go (the measurements, in order), then arm.go (the compared arms), then docs/performance.md for the
// figures.
package main
