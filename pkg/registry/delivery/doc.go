// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery is the REST storage of deliveries.kubi.zone, written by the controller and read by tenants, and the
// subresource status.
//
// Guarantees: (1) a zone has a single Delivery in a class (DNSClass or Bind9Cluster), named after both, with an
// immutable spec; (2) a write of status with an old resourceVersion, or a PUT without any, is refused, so that a
// replaced controller stops; (3) a write of status needs the right to confirm for the class, and has no serial ahead of
// the zone's settledSerial (S6.18).
//
// Out of scope: the delivery of zones, and Ready of Records.
//
// Read storage.go first.
package delivery
