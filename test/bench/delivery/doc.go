// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command delivery measures how a change leaves: the time from a client's write to the answer of a secondary or the
// call of a webhook, what a transfer of a big zone costs, what the primary weighs, and what delivering writes. `make
// bench-delivery` runs it.
//
// It promises:
//
//	(1) The compared ways alternate within every round of one run on one machine, and a ratio is of two figures of
//	    one round: kubizone's secondaries beside those of a Knot that takes dynamic updates, transfers beside the
//	    same octets from memory, a class alone beside the same class with another that times out.
//	(2) A change counts from the moment at which it was due to the first answer that has it. One that is never
//	    answered ends the run, and so does a transfer that is not whole.
//	(3) Every server is the one that is shipped, kubizone's as cmd/kubizone builds it; but the primary of the
//	    biggest zone is pkg/primary in a process of its own, because filling it through an API would take an hour.
//	(4) The measurements are kept as JSON lines, compared with the last kept run, and printed as Markdown.
//
// It does not know how deliveries work; it counts requests by what the server says of itself.
//
// Read run.go (what is measured, in order), then change.go, then docs/performance.md for the figures.
package main
