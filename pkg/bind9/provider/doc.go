// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider delivers the zones of a DNSClass to a fleet of BIND servers (instances) that may change at any time.
//
// Guarantees:
//
//  1. The list of instances is read at each call: a new instance gets the zone, a removed instance has no row in the
//     status.
//  2. A serial is confirmed when each instance answers with this serial by DNS, or with a later known serial. An answer
//     of its agent (the HTTP server beside BIND) is no proof.
//  3. In mode Catalog instances follow the catalog zone of the class, without agents. In mode Transfer agents create
//     missing secondaries. In mode Update each primary has a zone of its own, created by the agent and written by
//     dynamic updates; the name servers at the apex never change.
//  4. A slow instance delays no other instance, and its row has an error.
//  5. In modes Transfer and Update a zone is removed from every instance before its removal from the class.
//
// Out of scope: Kubernetes, the HTTP calls of agents, and the transfer and query of zones by DNS.
//
// Read provider.go, then updates.go.
package provider
