// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects finds the classes and Deliveries of zones in the caches of informers, and converts the state of a
// delivery to a Delivery and back. A class (DNSClass or Bind9Cluster) has name servers that receive zones.
//
// Guarantees:
//
//  1. A class is in force if it is for the zone's namespace and view, and the zone names it. If a zone names none, its
//     default classes are in force.
//  2. Tenants read the kind of a class's fault, but no text of its provider (S6.17).
//
// Read first: index.go, state.go, stalled.go, public.go.
package objects
