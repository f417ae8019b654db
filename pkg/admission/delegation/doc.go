// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is the admission plugin KubizoneDelegation. It refuses Records without an allowing rule, before
// webhooks and the write, and annotates the audit event with the rule.
//
// Guarantees: (1) each refusal is proven in etcd, and has the text of the write's refusal; in doubt the Record passes;
// (2) the commit decides again, so a server with stale facts refuses late, never wrongly; (3) deletions, status, and
// updates without a change of spec pass (S2.4); (4) no object is changed, and no RBAC permission is needed.
//
// Out of scope: rules, facts, and decisions about Zones (S4.15).
//
// Read plugin.go.
package delegation
