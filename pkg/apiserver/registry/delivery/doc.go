// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery serves Deliveries (REST storage of deliveries.kubi.zone). A Delivery shows the progress of a zone at
// the name servers of a class (DNSClass or Bind9Cluster).
//
// Guarantees:
//
//  1. A zone has a single Delivery in a class, named after both, with an immutable spec.
//  2. A write of status with an old resourceVersion, or a PUT without any, is refused, so that a replaced controller
//     stops.
//  3. A write of status makes Records Ready. So the writer needs the right to confirm for the class, and the serial is
//     at most the zone's settledSerial, the newest that name servers may have (S6.18).
package delivery
