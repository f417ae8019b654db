// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery is the REST storage of deliveries.kubi.zone and its subresource status. The controller writes
// Deliveries, tenants read them.
//
// It promises: (1) a zone has one Delivery with a class, whose name follows from both, and whose spec never changes;
// (2) a write of status with an old resourceVersion is refused, and so is a PUT without one: a worker with an old plan
// learns that it has been replaced; (3) a write of status changes only the status.
//
// It does not know zones, classes or how they are delivered.
//
// Read storage.go first.
package delivery
