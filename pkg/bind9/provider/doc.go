// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider delivers the zones of a DNSClass to a fleet of BIND servers (instances) that may change at any time.
//
// Guarantees:
//
//  1. Each call reads the list of instances: a new instance gets the zone, a removed instance has no row in the status.
//  2. A serial is confirmed when each instance answers with this or a later known serial by DNS. An answer of its agent
//     is no proof.
//  3. In mode Catalog instances follow the class's catalog zone, without agents. In mode Transfer agents create missing
//     secondaries. In mode Update each primary has its own zone, created by the agent and written by dynamic updates.
//  4. A slow instance delays no other instance; the row has an error.
//  5. In modes Transfer and Update a zone leaves every instance before the class.
//
// Out of scope: Kubernetes, the HTTP calls of agents, and the transfer and query of zones by DNS.
//
// Read provider.go, then updates.go.
package provider
