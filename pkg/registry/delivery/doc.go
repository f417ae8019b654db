// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery is the door of Deliveries: the REST storage of deliveries.kubi.zone and its subresource status.
// The controller writes them, tenants read.
//
// It promises: (1) a zone has one Delivery with a class, whose name follows from both, and whose spec never changes;
// (2) a write of status with a resourceVersion that is no longer the present one changes nothing, and a PUT without
// one is refused: a worker that wakes with an old plan finds that it is not the last; (3) a write of status changes
// nothing but status.
//
// It does not know zones, classes or how they are delivered.
//
// Read storage.go first.
package delivery
