// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class delivers Zones by their DNSClasses: it tells a schedule.Loop which classes and zones there are, keeps
// the states of the Loop in Delivery objects, and says of Zones, Records and classes how far they are.
//
// It promises: (1) The classes in force are those that the zone names, else the default ones; a class that is not for
// the zone's namespace is not in force, however the reference came to be. (2) A state is written under the
// resourceVersion it was read at, so of two workers one writes and the other learns that it is late (F22). (3) Before
// anything is written outside, finalizers hold the Zone and the class; they go when the Loop has let go (S8.3). (4) A
// Record is Ready while every class in force has confirmed a serial at or after its own, where it delivers now, and
// says else what it waits for (S6.13). It is written once for each change of its own; what a change of classes makes
// of many Records is written at a bounded rate. Where nothing changes nothing is written but what the health checks
// found. (5) Secrets are read by name, never listed; what changes in one is a reason to try again at once.
//
// It does not know providers: they come in by the name of their block in a DNSClass. Nor does it elect a leader: the
// caller calls Run in the process that leads.
//
// Informers put what changed into one queue, and the Loop what it has done (controller.go). A worker takes an object
// from there and goes through three steps:
//
//	read    what the informers have (index.go), the Loop reported (reports.go) and cannot be proven (frozen.go)
//	decide  which classes are in force (inforce.go), what Ready of a Zone, a Record or a class says (judge.go,
//	        standing.go), whether a secondary is ahead (behind.go): pure functions. stalled.go decides whether an
//	        object waits for a person, and remembers since when
//	write   tell the Loop (zone.go, classes.go), the status of Zones, Records and classes (status.go), Events
//	        (announce.go)
//
// zone.go, records.go and classes.go carry the steps out for one kind of object each, and remember what they wrote.
// store.go keeps Deliveries and finalizers, in the form of state.go.
package class
