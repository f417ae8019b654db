// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what truth costs: writes through the ledger against the
// same server without it. `make bench` runs it.
//
// It promises:
//
//	(1) Ratios are of pairs: arms alternate within every round of one run, on one machine,
//	    each with an etcd of its own on the same disk, and the medians of the rounds are
//	    reported. A time by itself says something of the machine only.
//	(2) Beside times stand counts that no neighbour disturbs: transactions, fsyncs,
//	    bytes of the log, allocations and CPU time of the server, for each write.
//	(3) The server is a process of its own, spoken to over HTTPS in JSON by client-go,
//	    as any client does; etcd is another.
//	(4) The measurements are kept as JSON lines and compared with the last kept run.
//
// It does not know how the ledger works.
//
// Read first: run.go (what is measured, in order), then arm.go (what is compared),
// then docs/performance.md for the figures.
package main
