// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class delivers Zones by their DNSClasses, with a schedule.Loop (scheduler). It saves the states of the Loop
// in Deliveries, and writes the condition Ready of Zones and classes.
//
// Guarantees: (1) A state is written with the resourceVersion read before, so of two workers one gets a conflict (F22).
// (2) Zone and class have finalizers before any write to a provider, until the Loop has released the zone (S8.3). (3) A
// confirmed serial takes a single write, of the Delivery, by which the server makes Records Ready (S6.18); without a
// change only results of health checks are written.
//
// A task of the queue (controller.go) has three steps:
//
//	read the informers (ready.Index) and the reports of the Loop (reports.go)
//	decide classes in force and Ready of a Zone (package ready), Ready of a class (health.go), whether a secondary
//	 is ahead (behind.go)
//	write to the Loop (zone.go, classes.go), status (status.go), Events (announce.go)
package class
