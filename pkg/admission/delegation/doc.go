// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is the admission plugin KubizoneDelegation: it refuses a Record that no delegation allows before
// webhooks are called and before the write begins, and notes in the audit event which delegation allowed the others.
//
// It promises: (1) A refusal is the write's own, word for word, and true when it is given: the Decider proves it, or
// leaves the Record to the write. (2) A Record that is let through is decided again where it is committed, so an audit
// annotation says what held when the request came, and a server that knows little refuses late, never wrongly. (3)
// Nothing is asked about deletions, about status, or about updates that leave spec alone: those always pass (S2.4).
// (4) It changes no object and needs no rights in the cluster.
//
// It does not know the rules, nor where facts are kept: both are the Decider's, an interface that the server plugs.
// Zones are not decided here: what forbids one rests on ranges of names that only a read can tell (S4.15).
//
// Read plugin.go.
package delegation
