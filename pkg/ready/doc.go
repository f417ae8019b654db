// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ready decides the condition Ready of Zones and Records, for the class controller and the API server. A class
// (DNSClass or Bind9Cluster) has name servers that receive zones. A Record is Ready when every class in force, which
// must deliver the zone, has confirmed the data.
//
// Guarantees:
//
//  1. A class is in force if it is for the zone's namespace and view, and the zone names it. If a zone names none, its
//     default classes are in force.
//  2. Ready follows from the objects alone. A confirmation makes nothing Ready if the class is not in force, if its
//     target has changed since, or if a server lost the data (S6.13).
//  3. Tenants read the kind of a class's fault, but no text of its provider (S6.17).
//
// Read first: lag.go, index.go.
package ready
