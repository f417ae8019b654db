// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider delivers the zones of a DNSClass to BIND servers of Kubizone's fleet, called instances. A class has
// one of three modes. In mode Catalog, a catalog zone (RFC 9432) lists the zones that instances transfer. In mode
// Transfer, the agent, a program beside each BIND, creates missing secondary zones. In mode Update, agents create the
// zone on each primary, and dynamic updates write it.
//
// Guarantees:
//  1. Each call reads the list of instances, since they may come and go at any time. The status has a row for each
//     instance, and a removed instance leaves the status.
//  2. A serial counts as delivered when each instance answers DNS queries with this serial, or with a later known
//     serial. The answer of an agent is no proof.
//  3. A slow instance delays no other instance. Its row has the error.
//  4. In modes Transfer and Update, a zone is removed from every instance before it leaves the class.
//
// Read provider.go, then updates.go.
package provider
