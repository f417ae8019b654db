// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ready decides the classes in force for a zone (its delivery targets), and the condition Ready of Zones and
// Records from the confirmations of these classes. The class controller and the API server share it.
//
// Guarantees: (1) A class is in force if the class is for the zone's namespace and view, and if the zone names the
// class, or names none and the class is a default class. (2) Ready is a function of the objects: a confirmation of
// another target, or of a class not in force, makes nothing Ready (S6.13). (3) Tenants read the kind of a class's
// fault, no words of its provider (S6.17).
//
// Out of scope: the delivery of zones, and writes of conditions.
//
// Read first: lag.go counts for a dead controller, index.go finds the objects, progress.go decides Ready of Records and
// judge.go that of their Zone, cause.go why it is Pending, stalled.go since when an object waits for a person; state.go
// has the form of a Delivery, public.go words for tenants, inforce.go the classes in force, frozen.go the zones with
// content that does not match their hash.
package ready
