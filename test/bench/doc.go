// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench (`make bench`) compares writes to the ledger with those to a server without a ledger.
//
// Guarantees:
//
// (1) The compared servers (arms) alternate within every round, each with a separate etcd on the same disk. A reported
// ratio is the median of the rounds' ratios.
//
// (2) Beside times there are counts that other processes cannot disturb: transactions, fsyncs, log bytes, allocations
// and CPU time for each write.
//
// (3) Server and etcd are separate processes; client-go uses HTTPS and JSON.
//
// (4) Results are JSON lines, compared with the last kept run.
//
// Out of scope: the working of the ledger.
//
// Read first: run.go (the measurements, in order), then arm.go (the compared arms), then docs/performance.md for the
// figures.
package main
