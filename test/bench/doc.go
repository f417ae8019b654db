// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench (`make bench`) compares writes to the ledger with those to a server without a ledger.
//
// Guarantees: (1) The compared servers (arms) alternate within every round, each with its own etcd on the same disk. A
// reported ratio is the median of the rounds' ratios. (2) Beside times there are counts that other processes cannot
// disturb: transactions, fsyncs, log bytes, allocations and CPU time for each write.
//
// Read run.go, then arm.go, then docs/performance.md.
package main
