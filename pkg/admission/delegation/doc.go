// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is the admission plugin KubizoneDelegation. It refuses Records that no rule allows, before
// webhooks and the write, and annotates the audit event with the rule.
//
// Guarantees: (1) each refusal is proven, with the text of the write's; in doubt the Record passes; (2) the commit
// decides again, so a server with stale facts refuses late, never wrongly; (3) deletions, status, and updates without a
// change of spec pass (S2.4); (4) no object is changed, and no right is needed.
//
// Out of scope: rules, facts, and decisions about Zones (S4.15).
//
// Read plugin.go.
package delegation
