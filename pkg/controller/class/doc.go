// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class delivers Zones by their DNSClasses: it tells a schedule.Loop which classes and zones there are, keeps
// the states of the Loop in Delivery objects, and writes Ready of Zones and classes.
//
// It promises: (1) A state is written under the resourceVersion it was read at, so of two workers one writes and the
// other learns that it is late (F22). (2) Before anything is written outside, finalizers hold the Zone and the class;
// they go when the Loop has let go (S8.3). (3) A confirmed serial is one write, of the Delivery, by which the server
// makes Records Ready (S6.18); without a change only the results of health checks are written. (4) Secrets are read by
// name, never listed; a change of a Secret leads to another try at once.
//
// It does not know providers: they come in by the name of their block in a DNSClass. Nor does it elect a leader: the
// caller calls Run in the process that leads.
//
// Informers put what changed into one queue, and the Loop what it has done (controller.go). A worker takes an object
// from there and goes through three steps:
//
//	read    the informers (ready.Index) and the reports of the Loop (reports.go)
//	decide  the classes in force and Ready of a Zone (package ready), Ready of a class (health.go), and whether a
//	        secondary is ahead (behind.go)
//	write   tell the Loop (zone.go, classes.go), the status of Zones and classes (status.go), Events (announce.go)
//
// zone.go and classes.go perform the steps for one kind of object each, and remember the last writes. store.go keeps
// Deliveries and finalizers.
package class
