// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// do is what an action does.
type do string

const (
	doWait     do = "wait"
	doLoad     do = "load"      // the state, from the Store
	doLookUp   do = "look up"   // what a zone without a view left under its names
	doInherit  do = "inherit"   // where a class that the zone leaves has brought it at the same place
	doTakeOver do = "take over" // what another worker may have under way
	doClaim    do = "claim"     // the zone's name in the class
	doWithdraw do = "withdraw"  // the zone, from the provider
	doForget   do = "forget"    // a delivery of which nothing has to leave the provider
	doFail     do = "fail"      // without asking the provider
	doDeliver  do = "deliver"
	doVerify   do = "verify" // compare provider and zone
)

// action is what is done next for a delivery, and why, in a sentence for people.
type action struct {
	do  do
	why string
	// until is when doWait ends if nothing changes before; zero where it does not end by itself.
	until time.Time
	// repeat says that doDeliver writes once more what was written when an intent was taken over. quiet says that
	// nothing of the worker that doTakeOver takes over is on its way.
	repeat, quiet bool
	// err is that of doFail.
	err *delivery.Error
	// settled says that nothing is left to deliver, and notable that doWait may have to be looked into.
	settled, notable bool
}

// view is what of a zone is to be delivered.
type view struct {
	fqdn   name.Name
	serial serial.Serial
	hash   func() string
}

// claims are what a delivery has beside the others of its class and its zone.
type claims struct {
	// awaited says that another one waits for its name; given that another one has the name of its state first: what
	// stands under that is not this zone's to take away.
	awaited, given bool
	// leaving are the classes that the zone is to be withdrawn from.
	leaving []string
	// replaced says that every class in force has the zone, and handedOver that one of them has it at the same place.
	replaced, handedOver bool
}

// facts are what a decision knows beside the memory of the delivery. An attempt adds its findings to them.
type facts struct {
	// began is when the attempt began, now when its last call ended.
	began, now time.Time
	// random is a number below n, 0 in stories.
	random func(n int64) int64
	config *Config

	zone  delivery.Zone
	class delivery.Class
	// revision is that of the class. woken says that something that it waited for has come.
	revision int
	woken    bool
	// changed is when the oldest change that is not delivered was seen.
	changed time.Time
	// withdrawn says that nothing of the zone is there.
	withdrawn bool
	view      *view // nil: none
	claims    claims

	// What this attempt did so far. inherited says that it has looked at other classes for what to inherit, claimed
	// that it has claimed the name, and taken that another zone has the name; lookedUp that left is what a zone
	// without a view left, nil where that is not known; compared says that it has asked what the provider holds, and
	// repair that this is to be mended.
	inherited, claimed, taken bool
	lookedUp                  bool
	left                      []delivery.RRsetKey
	compared, repair          bool
	owed                      map[delivery.RRsetKey]bool

	// The result. settled says that nothing is left to deliver, worked that the provider did what it was asked,
	// and again that there is more to do right after this attempt. pause is why every zone of the class is to wait.
	settled, worked, again bool
	pause                  *delivery.Error
	counts                 counts
}

// counts are what metrics are told of an attempt.
type counts struct {
	// arrived says that a serial is confirmed that was not before, lag how long after it was seen.
	arrived bool
	lag     time.Duration
	// missing, differing and others are RRsets that a comparison found and none before it.
	missing, differing, others int
}

// wanted reports whether the class is to have the zone.
func (f *facts) wanted() bool {
	return slices.Contains(f.zone.Classes, f.class.Name) && !f.zone.Withdraw
}

// retains reports whether what the zone leaves behind may stay at the provider (S8.4).
func (f *facts) retains() bool { return f.zone.Retain && f.class.AllowRetain }

func (f *facts) jitter(d time.Duration) time.Duration { return delivery.Jitter(d, f.random) }

// serial is that of the zone, or what the provider has of one that is to go.
func (f *facts) serial(m *memory) serial.Serial {
	if f.wanted() {
		return f.view.serial
	}
	return m.state.Serial
}

// requested reports whether a comparison was asked for that has not been made.
func (m *memory) requested(f *facts) bool {
	return f.zone.Request != "" && f.zone.Request != m.state.Request
}
