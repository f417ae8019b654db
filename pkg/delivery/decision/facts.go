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

type Do string

const (
	DoWait     Do = "wait"
	DoLoad     Do = "load"
	DoLookUp   Do = "look up" // list the RRsets of a zone without a view
	DoInherit  Do = "inherit" // continue from a class with the same target that the zone leaves
	DoTakeOver Do = "take over"
	DoClaim    Do = "claim"
	DoRemove   Do = "withdraw"
	DoForget   Do = "forget" // delete the state; nothing is at the provider
	DoFail     Do = "fail"
	DoDeliver  Do = "deliver"
	DoVerify   Do = "verify"
)

type Action struct {
	Do  Do
	Why string
	// Until is the end of a DoWait; zero means that only a change ends the wait.
	Until time.Time
	// Repeat makes DoDeliver write a taken-over intent once more. Quiet, with DoTakeOver, means that no call of the
	// other worker is in flight.
	Repeat, Quiet bool
	Err           *delivery.Error
	// Settled is true if nothing is left to deliver, Notable if DoWait may need an operator.
	Settled, Notable bool
}

type View struct {
	FQDN   name.Name
	Serial serial.Serial
	Hash   func() string
}

// Claims relates a delivery (a zone in a class) to other deliveries of the same class or zone, to decide when the
// provider may lose the zone.
type Claims struct {
	// AwaitedByOther is true if another delivery waits for a DNS name of this delivery. NeededByOther is true if the
	// RRsets at the provider must stay for another delivery. That delivery has the first right to the zone's name, or
	// delivers the zone for one of Zone.Classes at the same target.
	AwaitedByOther, NeededByOther bool
	// LeavingClasses are former classes of the zone that may still have it.
	LeavingClasses []string
	// Replaced is true if this class may drop the zone, because all Zone.Classes have it, or the class is in
	// Zone.ExpelledClasses.
	Replaced bool
}

type Facts struct {
	// Began is the start of the attempt, Now the end of the last call.
	Began, Now time.Time
	Random     func(n int64) int64
	Identity   string
	Backoff    delivery.Backoff
	// RepeatAfter is the delay after which no late call of another worker can arrive.
	RepeatAfter time.Duration

	Zone     delivery.Zone
	Class    delivery.Class
	Revision int
	Woken    bool
	// ChangedAt is the time of the oldest undelivered change. Removed is true if the class has nothing of the zone.
	ChangedAt time.Time
	Removed   bool
	// LostAt is when a server last lost a zone. Deliveries confirmed before are compared.
	LostAt time.Time
	View   *View // nil if the zone has no settled content in this process
	Claims Claims

	// Results of this attempt:
	//   - Inherited: the states of other classes were searched
	//   - LookedUp: the RRsets of a zone without a view were looked up, in EndedRRsets; nil if unknown
	Inherited, NameClaimed, NameTaken bool
	LookedUp                          bool
	EndedRRsets                       []delivery.RRsetKey
	compared, Repair                  bool
	unconfirmedBefore                 map[delivery.RRsetKey]bool

	// Results for the Loop:
	//   - Worked: the provider made a change or comparison
	//   - Again: another attempt follows at once
	//   - Pause: the error that pauses the whole class
	//   - Missing, Differing, Foreign: the numbers of newly drifted RRsets
	Settled, Worked, Again      bool
	Pause                       *delivery.Error
	Missing, Differing, Foreign int
}

func (f *Facts) ShouldDeliver() bool {
	return slices.Contains(f.Zone.Classes, f.Class.Name) && !f.Zone.Remove
}

func (f *Facts) retains() bool { return f.Zone.Retain && f.Class.AllowRetain }

func (f *Facts) jitter(d time.Duration) time.Duration { return delivery.Jitter(d, f.Random) }

func (f *Facts) TargetSerial(m *Memory) serial.Serial {
	if f.ShouldDeliver() {
		return f.View.Serial
	}
	return m.State.Serial
}

func (m *Memory) HasNewRequest(f *Facts) bool {
	return f.Zone.Request != "" && f.Zone.Request != m.State.Request
}
