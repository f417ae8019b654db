// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command minimal is the controller that people write for a custom resource with DNS records: an informer, a
// workqueue, a signed dynamic update (RFC 2136) for each object, and a status after the answer. The benchmark peers
// runs it beside Kubizone.
//
// It has advantages over the defaults of controller-runtime: eight workers for one, no limit of requests for 20 a
// second, and no finalizer, which saves a write for each object, but leaves names in the zone if an object is deleted
// while the controller is down. It detects no conflict, no second owner of a name, and no change in the zone.
//
// Guarantees:
//
//  1. Ready with the generation is True only after the server has answered the update.
//  2. A failed update is tried again, with a growing delay.
//  3. A deleted object's name, or an object's former name, leaves the zone.
//
// Out of scope: measurement.
//
// Read controller.go first, then record.go.
package main
