// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command delivery measures how a change leaves: the time from a client's write to the answer of a secondary or the
// call of a webhook. `make bench-delivery` runs it.
//
// It promises:
//
//	(1) The compared ways alternate within every round of one run on one machine, and a ratio is of two figures of
//	    one round: kubizone's secondaries beside those of a Knot that takes dynamic updates.
//	(2) A change counts from the moment at which it was due to the first answer that has it. One that is never
//	    answered ends the run.
//	(3) Every server is the one that is shipped, kubizone's as cmd/kubizone builds it.
//	(4) The measurements are kept as JSON lines, compared with the last kept run, and printed as Markdown.
//
// It does not know how deliveries work.
//
// Read run.go (what is measured, in order), then change.go, then docs/performance.md for the figures.
package main
