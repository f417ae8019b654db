// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider delivers the zones of a DNSClass to BIND servers of Kubizone's fleet, called instances. Instances
// may come and go at any time, so each call reads their list.
//
// A class has one of three modes:
//   - Catalog: a catalog zone (RFC 9432) lists the zones that instances transfer.
//   - Transfer: the agent, a program beside each BIND, creates missing secondary zones.
//   - Update: agents create the zone on each primary, and dynamic updates write it.
//
// Guarantees:
//  1. A serial counts as delivered when each instance answers DNS queries with this serial, or with a later known
//     serial. An agent's answer is no proof.
//  2. A slow instance delays no other instance. Its row in the Delivery's status has the error.
//  3. In modes Transfer and Update, a zone is removed from every instance before it leaves the class.
//
// Out of scope: HTTP and DNS (packages agent/client and delivery/transfer).
//
// Read provider.go, then updates.go.
package provider
