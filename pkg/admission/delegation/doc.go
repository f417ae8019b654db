// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is the admission plugin KubizoneDelegation. It refuses Records that no rule allows, before
// webhooks and before the write begins, and annotates the audit event with the rule that allowed a Record.
//
// It promises: (1) A refusal has the words of the write, and is correct: the Decider proves a refusal or leaves the
// Record to the write. (2) The commit decides again. So the annotation describes the time of the request, and a
// server with stale facts refuses late, but never wrongly. (3) Deletions, status, and updates without a change of
// spec always pass (S2.4). (4) The plugin changes no object and needs no rights.
//
// It does not know rules or facts, which the Decider has. It does not decide Zones: they depend on ranges of names,
// which take a read (S4.15).
//
// Read plugin.go.
package delegation
