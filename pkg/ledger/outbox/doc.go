// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outbox carries out what writes owe to other objects (I4): cascades (cascade.go, window.go, steps.go,
// zones.go, delegations.go), cuts that a parent has to count (cuts.go), ends of withdrawn zones (withdrawal.go), and
// sweeps of what no decision looks at any more (forget.go).
//
// Promises. (1) Each step is a write as a client's is: decided by the law, proved by the same compares (package
// commit). So it is worth nothing the second time, and two servers may carry out one item. (2) An item is consumed in
// the transaction that ends what it owes. (3) The cascades of one namespace follow each other; of several namespaces
// at most so many run at once, and each gives its place up after a while (lanes.go). (4) A record that cannot be read
// is left out and named in its item (work.go). (5) A work goes on behind the cursor in its item, whatever
// interrupted it.
//
// A step differs from a client's write in three things. A refusal of the law is no answer but the reason of a
// condition: the record leaves its zone, or waits (records.RecordAsk.Cascade). The step leaves the mark of its work at
// the zone, which is unsettled until the mark is taken away (records.RecordAsk.Work, S7.2). And where records come from
// one zone to another the mark locks their names (S2.10): clients wait, and the step passes.
//
// It does not know the storage of the API, admission or migrations, and answers no client.
//
// Read first: run.go, then cascade.go, waiting.go and zones.go, then steps.go and window.go.
package outbox
