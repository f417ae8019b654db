// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Do is what an action does.
type Do string

const (
	DoWait     Do = "wait"
	DoLoad     Do = "load"      // the state, from the Store
	DoLookUp   Do = "look up"   // what a zone without a view left under its names
	DoInherit  Do = "inherit"   // where a class that the zone leaves has brought it at the same place
	DoTakeOver Do = "take over" // what another worker may have under way
	DoClaim    Do = "claim"     // the zone's name in the class
	DoRemove   Do = "withdraw"  // the zone, from the provider
	DoForget   Do = "forget"    // a delivery of which nothing has to leave the provider
	DoFail     Do = "fail"      // without asking the provider
	DoDeliver  Do = "deliver"
	DoVerify   Do = "verify" // compare provider and zone
)

// Action is what is done next for a delivery, and why, in a sentence for people.
type Action struct {
	Do  Do
	Why string
	// Until is when DoWait ends if nothing changes before; zero where it does not end by itself.
	Until time.Time
	// Repeat says that DoDeliver writes once more what was written when an intent was taken over. Quiet says that
	// nothing of the worker that DoTakeOver takes over is on its way.
	Repeat, Quiet bool
	// Err is that of DoFail.
	Err *delivery.Error
	// Settled says that nothing is left to deliver, and Notable that DoWait may have to be looked into.
	Settled, Notable bool
}

// View is what of a zone is to be delivered.
type View struct {
	FQDN   name.Name
	Serial serial.Serial
	Hash   func() string
}

// Claims are what a delivery has beside the others of its class and its zone.
type Claims struct {
	// Awaited says that another one waits for its name; Given that another one has the name of its state first: what
	// stands under that is not this zone's to take away.
	Awaited, Given bool
	// Leaving are the classes that the zone is to be removed from.
	Leaving []string
	// Replaced says that every class in force has the zone, and HandedOver that one of them has it at the same place.
	Replaced, HandedOver bool
}

// Facts are what a decision knows beside the memory of the delivery. An attempt adds its findings to them.
type Facts struct {
	// Began is when the attempt began, Now when its last call ended.
	Began, Now time.Time
	// Random is a number below n, 0 in stories.
	Random func(n int64) int64
	// Identity of this process, never used by another one.
	Identity string
	Backoff  delivery.Backoff
	// RepeatAfter is when nothing of a worker that lost its intent can arrive any more.
	RepeatAfter time.Duration

	Zone  delivery.Zone
	Class delivery.Class
	// Revision is that of the class. Woken says that something that it waited for has come.
	Revision int
	Woken    bool
	// Changed is when the oldest change that is not delivered was seen.
	Changed time.Time
	// Removed says that nothing of the zone is there.
	Removed bool
	// Lost is the time at which a server of the class was last found to have lost a zone: this zone is compared then.
	Lost   time.Time
	View   *View // nil: none
	Claims Claims

	// What this attempt did so far. Inherited says that it has looked at other classes for what to inherit, Claimed
	// that it has claimed the name, and Taken that another zone has the name; LookedUp that Left is what a zone
	// without a view left, nil where that is not known; compared says that it has asked what the provider holds, and
	// Repair that this is to be mended.
	Inherited, Claimed, Taken bool
	LookedUp                  bool
	Left                      []delivery.RRsetKey
	compared, Repair          bool
	owed                      map[delivery.RRsetKey]bool

	// The result. Settled says that nothing is left to deliver, Worked that the provider did what it was asked,
	// and Again that there is more to do right after this attempt. Pause is why every zone of the class is to wait.
	Settled, Worked, Again bool
	Pause                  *delivery.Error
	// Missing, Differing and Others count RRsets that a comparison found and none before it.
	Missing, Differing, Others int
}

// Wanted reports whether the class is to have the zone.
func (f *Facts) Wanted() bool {
	return slices.Contains(f.Zone.Classes, f.Class.Name) && !f.Zone.Remove
}

// retains reports whether what the zone leaves behind may stay at the provider (S8.4).
func (f *Facts) retains() bool { return f.Zone.Retain && f.Class.AllowRetain }

func (f *Facts) jitter(d time.Duration) time.Duration { return delivery.Jitter(d, f.Random) }

// Serial is that of the zone, or what the provider has of one that is to go.
func (f *Facts) Serial(m *Memory) serial.Serial {
	if f.Wanted() {
		return f.View.Serial
	}
	return m.State.Serial
}

// requested reports whether a comparison was asked for that has not been made.
func (m *Memory) requested(f *Facts) bool {
	return f.Zone.Request != "" && f.Zone.Request != m.State.Request
}
