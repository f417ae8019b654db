// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery delivers zones to name servers. A class (DNSClass) is a provider, the client of name servers, with
// its settings. A delivery is one zone in one class.
//
// Callers pass classes and zones to schedule.Loop, by SetClass and SetZone. Loop.Run keeps every delivery at its zone's
// settled serial, the newest serial without unfinished changes. The Loop uses the packages below:
//
//	decision decides the next action of a delivery, without side effects
//	plan computes the RRsets to write and to remove
//	lease lets one worker write at a time
//	schedule runs the attempts
//
// rfc2136, transfer and webhook are providers, and dial connects them to servers. controller turns classes, zones and
// UpdateKeys into deliveries and settings of a primary, by objects (Deliveries and their classes) and secrets.
//
// Guarantees of all together:
//
//  1. A provider gets one plan of a zone at a time, and never an older plan after a later one.
//  2. Data written by others is never removed.
//  3. A failed delivery is retried at a known time or after a change.
//  4. A slow or broken zone, class or record delays no other.
//  5. After a crash the next worker overwrites the RRsets that may be half written.
//  6. Without changes, nothing is written, and only scheduled checks ask providers.
//  7. A zone that changes classes is delivered to the new class before its removal from the old.
//
// For: the controller, and authors of providers. Imports: kit, dns, apis, primary (for classes of secondaries), views
// of zone.
//
// Read provider.go first, then class.go, state.go and event.go.
package delivery
