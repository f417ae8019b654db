// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is the admission plugin KubizoneDelegation. It refuses Records without an allowing rule before
// webhooks and the write, and writes the rule into the audit event.
//
// Guarantees: (1) each refusal is proven in etcd, and has the text of the write's refusal; in doubt the Record passes;
// (2) the commit decides again, so stale facts only delay a refusal; (3) deletions, status, and updates without a
// change of spec pass (S2.4); (4) no object is changed.
//
// Out of scope: decisions, and Zones (S4.15).
//
// Read plugin.go.
package delegation
