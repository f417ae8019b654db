// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package confirm writes the condition Ready of Records from the Deliveries of their zones (a Delivery is a zone's
// progress at a DNSClass), in large transactions.
//
// Guarantees:
//
//  1. A Record is Ready while every class that delivers its zone has confirmed its serial at the present servers
//     (status.target). Otherwise the condition has the reason (S6.13).
//  2. A Record is written only if unchanged since the decision, so no Ready is older than its content.
//  3. In a zone, Records that are wrongly Ready come first, then the latest changes, in pages of alternating
//     namespaces.
//  4. Writes of unchanged Records have a bounded rate, and the server pauses while clients write.
//  5. A single server writes. If it dies, another continues.
//  6. Only the Zone and the latest Records of each namespace get the cause of a pending Ready. The server writes a Zone
//     only while no controller works (S7.12).
//
// Read confirm.go first.
package confirm
