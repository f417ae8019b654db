// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ready decides the classes in force for a zone (its delivery targets), and from their confirmations the
// condition Ready of Zones and Records, for the class controller and the API server.
//
// Guarantees: (1) A class is in force if the class is for the zone's namespace and view, and the zone names the class,
// or names none and the class is a default class. (2) Ready is a function of the objects: a confirmation of another
// target, of a class not in force, or lost by a server, makes nothing Ready (S6.13). (3) Tenants read the kind of a
// class's fault, no words of its provider (S6.17).
//
// Out of scope: the delivery of zones, and writes of conditions.
//
// Read first: lag.go, index.go, progress.go, judge.go, cause.go, stalled.go, state.go, public.go, inforce.go and
// frozen.go.
package ready
