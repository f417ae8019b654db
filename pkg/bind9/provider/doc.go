// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider delivers zones to a fleet of BIND servers, whose instances come and go.
//
// It promises:
//
//  1. The instances are asked for at each call: one that came gets the zone, one that went has no row any more.
//  2. A serial is confirmed when every instance answers with it, or with a later one that is known here. An agent's
//     answer proves nothing: named is asked by DNS.
//  3. In the mode Catalog instances follow the catalog zone of the class, and no agent is asked for anything. In the
//     mode Transfer the agent of an instance that lacks the zone makes it a secondary; where all have it no agent is
//     asked.
//     In the mode Update every instance is a primary of its own: its agent makes a zone that it lacks, and dynamic
//     updates write what is in it. Its name servers at the apex stay those that it was made with.
//  4. An instance that is slow, or does not answer, delays no other one: it has a row that says so.
//  5. In the modes Transfer and Update a zone is removed from every instance, those that leave the class included,
//     before it is removed.
//
// The package knows nothing of Kubernetes: instances come from a function, agents are spoken to by
// pkg/bind9/agent/client, and what is shown to them and asked of them by DNS is pkg/delivery/transfer's work.
//
// Read provider.go, then updates.go.
package provider
