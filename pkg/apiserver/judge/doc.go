// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package judge decides and writes the conditions Ready and Stalled of Zones and Records, from objects alone: Zones,
// their Deliveries (a Delivery is the progress of a zone at a class), classes, and the Leases of processes. A class
// (DNSClass or Bind9Cluster) has name servers that receive zones. A class in force must deliver the zone.
//
// Guarantees:
//
//  1. A Zone or Record is Ready while every class in force has confirmed its serial at the present servers
//     (status.target). Otherwise the condition has the reason (S6.13).
//  2. An object is written only if unchanged since the decision, so no Ready is older than its content.
//  3. In a zone, Records that are wrongly Ready come first, then the latest changes, in pages of alternating
//     namespaces.
//  4. Writes of unchanged objects have a bounded rate, and the server pauses while clients write.
//  5. A single server writes, elected by a lease in etcd. If the server dies, another continues within 20 seconds.
//  6. Only the Zone and the latest Records of each namespace get the cause of a pending Ready (S7.12).
//
// Read first: run.go, leader.go, write.go, zone.go, secondary.go, tracker.go, facts.go, progress.go, lag.go, judge.go,
// cause.go.
package judge
