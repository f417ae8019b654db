// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command minimal is a typical controller for a custom resource with DNS records: an informer, a workqueue, a signed
// dynamic update (RFC 2136) for each object, and a status after the answer. Eight workers, no limit of requests and no
// finalizer make it faster than controller-runtime's defaults.
//
// Guarantees:
//
//  1. Ready with the generation is True only after the server has answered the update.
//  2. A failed update is retried with a growing delay.
//  3. The name of a deleted object, or the former name of a changed object, leaves the zone.
//
// Read controller.go first, then record.go.
package main
