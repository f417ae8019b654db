// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class delivers Zones to the name servers of their DNSClasses. The Controller passes classes and zones to a
// schedule.Loop (scheduler), saves the states of the Loop in Deliveries, and writes the condition Ready of Zones and
// classes.
//
// Guarantees:
//
//  1. A state is written with the resourceVersion read before, so the second of two workers gets a conflict (F22).
//  2. Zone and class have finalizers before any write to a provider, until the Loop has released the zone (S8.3).
//  3. A confirmed serial takes a single write, of the Delivery, by which the server makes Records Ready (S6.18).
//  4. Without a change, only results of health checks are written.
//
// Read controller.go first, then zone.go, classes.go and status.go.
package class
