// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deliverytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Subject is an examined provider, with access to its server.
type Subject struct {
	// New returns a provider of the same server, as after a restart.
	New  func(t *testing.T) delivery.Provider
	Zone func(t *testing.T) name.Name
	// Inspect reads a zone's RRsets without the provider, in absolute presentation form.
	Inspect func(t *testing.T, zone name.Name) []delivery.RRset
	// Disturb writes as another client would, or deletes without Data. Nil if none can write.
	Disturb func(t *testing.T, zone name.Name, set delivery.RRset)
	// Offer gets the plan before each Deliver, for a provider that reads content elsewhere. May be nil.
	Offer func(t *testing.T, plan delivery.Plan)
	// Refused is the leftmost label of a TXT RRset that is refused alone; "" for none.
	Refused string
	// Unsupported selects RRsets that the provider counts in Skipped, or its server always refuses. May be nil.
	Unsupported func(set delivery.RRset) bool
	// Keeps is true if foreign data in the zone's RRsets stays and is a Conflict.
	Keeps bool
	// Timeout bounds the server's delay of a change; 0 means 20 s.
	Timeout time.Duration
}

// Run has a subtest for each part of the contract.
func Run(t *testing.T, subject Subject) {
	if subject.Timeout == 0 {
		subject.Timeout = 20 * time.Second
	}
	for _, part := range []struct {
		name string
		run  func(*exam)
	}{
		{"first delivery, change, removal", examineLifecycle},
		{"every value comes out as it went in", examineValues},
		{"the same plan twice", examineRepetition},
		{"the serial alone", examineSerialAlone},
		{"a whole zone over what is there", examineWholeZone},
		{"what the plan has forgotten", examineForgotten},
		{"an empty zone", examineEmptyZone},
		{"withdraw", examineWithdraw},
		{"foreign data stays", examineForeign},
		{"drift is found and repaired", examineDrift},
		{"what others have in our place", examineTaken},
		{"a lost fence stops everything", examineFence},
		{"a lost fence stops half way", examineFenceHalfWay},
		{"a cancelled context", examineCancel},
		{"written and not acknowledged", examineUnacknowledged},
		{"half written, then changed back", examineChangedBack},
		{"a refused RRset is named", examineRefused},
		{"zones at the same time", examineConcurrent},
		{"health", examineHealth},
	} {
		t.Run(part.name, func(t *testing.T) {
			provider := subject.New(t)
			defer func() {
				if err := provider.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}()
			part.run(&exam{T: t, Subject: subject, provider: provider, can: provider.Abilities()})
		})
	}
}

func examineLifecycle(e *exam) {
	zone := e.Zone(e.T)
	www, mail, old := e.makeRRset(zone, "www", rdata.A, "192.0.2.1", "192.0.2.2"), e.makeRRset(zone, "mail", rdata.A, "192.0.2.3"),
		e.makeRRset(zone, "old", rdata.TXT, `"x"`)
	first := e.makeContent(zone, 10, www, mail, old)
	e.deliverPlan(e.provider, makePlan(nil, first))
	e.expectContent(first)

	changed := www
	changed.Data, changed.TTL = []string{"192.0.2.2", "192.0.2.9"}, 60
	more := e.makeRRset(zone, "more", rdata.AAAA, "2001:db8::1")
	second := e.makeContent(zone, 11, changed, mail, old, more)
	e.deliverPlan(e.provider, makePlan(&first, second))
	e.expectContent(second)

	third := removeSets(second, 12, old.Key(), www.Key())
	e.deliverPlan(e.provider, makePlan(&second, third))
	e.expectContent(third, old, www)

	// Several serials at once, by a provider that has seen none.
	fourth := e.makeContent(zone, 40, mail, www)
	e.deliverPlan(e.New(e.T), makePlan(&third, fourth))
	e.expectContent(fourth, more)
}

// examineValues covers attack 26: names and values that end a line, a string, a path or a document.
func examineValues(e *exam) {
	zone := e.Zone(e.T)
	long := `"` + string(slices.Repeat([]byte("a"), 255)) + `" "` + string(slices.Repeat([]byte("b"), 255)) + `" "c"`
	want := e.makeContent(zone, 1,
		e.makeRRset(zone, "*", rdata.A, "192.0.2.1"),
		e.makeRRset(zone, "*.deep", rdata.TXT, `"wildcard"`),
		e.makeRRset(zone, "@", rdata.A, "192.0.2.2"),
		e.makeRRset(zone, "@", rdata.MX, "10 mail."+zone.String(), "20 mx.example.net."),
		e.makeRRset(zone, "@", rdata.TXT, `"v=spf1 -all"`, `"two" "strings"`),
		e.makeRRset(zone, "@", rdata.CAA, `0 issue "ca.example.net; policy=ev"`, `128 iodef "mailto:a@example.net"`),
		e.makeRRset(zone, "_sip._tcp", rdata.SRV, "10 60 5060 sip."+zone.String()),
		e.makeRRset(zone, "_acme-challenge.www", rdata.TXT, `"Keep-CASE_123"`),
		e.makeRRset(zone, "escaped", rdata.TXT, `"quote \" backslash \\ semicolon ; paren ( ) dollar $ at @"`),
		e.makeRRset(zone, "control", rdata.TXT, `"new\010line tab\009 esc\027[31m nul\000 high\200\255"`),
		e.makeRRset(zone, "directive", rdata.TXT, `"$INCLUDE /etc/passwd"`, `"$GENERATE 1-1000000 x A 192.0.2.1"`),
		e.makeRRset(zone, "injection", rdata.TXT, `"x\010send\010update delete `+zone.String()+` ANY"`, `"\",\"values\":[\"y"`,
			`"</a>../../%2e%2e"`),
		e.makeRRset(zone, "empty", rdata.TXT, `""`),
		e.makeRRset(zone, "blank", rdata.TXT, `"  two blanks  "`),
		e.makeRRset(zone, "long", rdata.TXT, long),
		e.makeRRset(zone, "alias", rdata.CNAME, "www.example.net."),
		e.makeRRset(zone, "naptr", rdata.NAPTR, `100 10 "u" "E2U+sip" "!^.*$!sip:info@example.net!" .`),
		e.makeRRset(zone, "4", rdata.PTR, "host.example.net."),
		e.makeRRset(zone, "0/25", rdata.NS, "ns.example.net."),
		e.makeRRset(zone, "a.b.c.d", rdata.AAAA, "2001:db8::a"),
	)
	report := e.deliverPlan(e.provider, makePlan(nil, want))
	skipped, unfit := 0, map[delivery.RRsetKey]bool{}
	for _, set := range want.sets {
		if e.Unsupported != nil && e.Unsupported(set) {
			skipped++
			unfit[set.Key()] = true
		}
	}
	refused := 0
	for _, failure := range report.Failed {
		if failure.Err.Reason == delivery.ReasonValidationFailed && failure.Err.Permanent &&
			unfit[delivery.RRsetKey{Name: failure.Name, Type: failure.Type}] {
			refused++
		}
	}
	if report.Skipped+refused != skipped {
		e.Errorf("Skipped is %d, %d are refused; the provider has no form for %d", report.Skipped, refused, skipped)
	}
	e.expectContent(want)
	want.sets = slices.DeleteFunc(want.sets, func(set delivery.RRset) bool { return unfit[set.Key()] })
	if drift, err := e.provider.Verify(context.Background(), makePlan(nil, want)); err == nil && !drift.Empty() {
		e.Errorf("what was just delivered drifts: %+v", drift)
	}
}

func examineRepetition(e *exam) {
	zone := e.Zone(e.T)
	first := e.makeContent(zone, 1, e.makeRRset(zone, "www", rdata.A, "192.0.2.1"), e.makeRRset(zone, "old", rdata.A, "192.0.2.1"))
	second := e.makeContent(zone, 2, e.makeRRset(zone, "www", rdata.A, "192.0.2.2"), e.makeRRset(zone, "new", rdata.TXT, `"x"`))
	for range 2 {
		e.deliverPlan(e.provider, makePlan(nil, first))
	}
	e.expectContent(first)
	for range 2 {
		e.deliverPlan(e.provider, makePlan(&first, second))
		e.expectContent(second, e.makeRRset(zone, "old", rdata.A))
	}
	e.deliverPlan(e.New(e.T), makePlan(&first, second))
	e.expectContent(second, e.makeRRset(zone, "old", rdata.A))
}

func examineSerialAlone(e *exam) {
	zone := e.Zone(e.T)
	first := e.makeContent(zone, 1, e.makeRRset(zone, "www", rdata.A, "192.0.2.1"))
	e.deliverPlan(e.provider, makePlan(nil, first))
	second := content{zone, 7, first.sets}
	e.deliverPlan(e.provider, makePlan(&first, second))
	e.expectContent(second)
}

func examineWholeZone(e *exam) {
	zone := e.Zone(e.T)
	first := e.makeContent(zone, 1, e.makeRRset(zone, "www", rdata.A, "192.0.2.1"), e.makeRRset(zone, "same", rdata.A, "192.0.2.1"))
	e.deliverPlan(e.provider, makePlan(nil, first))
	second := e.makeContent(zone, 5, e.makeRRset(zone, "www", rdata.A, "192.0.2.5"), e.makeRRset(zone, "same", rdata.A, "192.0.2.1"),
		e.makeRRset(zone, "new", rdata.A, "192.0.2.1"))
	p := makePlan(nil, second)
	p.Delivered = true
	e.deliverPlan(e.New(e.T), p)
	e.expectContent(second)
}

// The plan lacks a removed RRset: the RRset stays, and the report sets Remains (S8.6).
func examineForgotten(e *exam) {
	zone := e.Zone(e.T)
	old := e.makeRRset(zone, "old", rdata.A, "192.0.2.2")
	first := e.makeContent(zone, 1, e.makeRRset(zone, "www", rdata.A, "192.0.2.1"), old)
	if report := e.deliverPlan(e.provider, makePlan(nil, first)); report.Remains {
		e.Error("something is said to remain of a zone that was never delivered")
	}
	second := removeSets(first, 2, old.Key())
	p := makePlan(nil, second)
	p.Delivered, p.Forgotten = true, true
	report := e.deliverPlan(e.New(e.T), p)
	e.expectContent(second)
	exists := slices.ContainsFunc(e.Inspect(e.T, zone), func(set delivery.RRset) bool { return set.Key() == old.Key() })
	if exists != report.Remains && (exists || e.can.Lists || e.can.Fetched) {
		e.Errorf("%s is still there: %t; something may remain: %t", old.Key(), exists, report.Remains)
	}
}

func examineEmptyZone(e *exam) {
	zone := e.Zone(e.T)
	first := e.makeContent(zone, 1, e.makeRRset(zone, "www", rdata.A, "192.0.2.1"))
	e.deliverPlan(e.provider, makePlan(nil, first))
	// In an empty zone without changes, a mistake deletes everything (attack 56).
	nothing := content{zone: zone, serial: 1}
	p := makePlan(nil, nothing)
	p.Changes = []delivery.Change{}
	p.Since = 1
	if e.Offer == nil {
		e.deliverPlan(e.provider, p)
		e.expectContent(first)
	}
	second := e.makeContent(zone, 2)
	e.deliverPlan(e.provider, makePlan(&first, second))
	e.expectContent(second, e.makeRRset(zone, "www", rdata.A))
}

func examineWithdraw(e *exam) {
	zone := e.Zone(e.T)
	www, old := e.makeRRset(zone, "www", rdata.A, "192.0.2.1"), e.makeRRset(zone, "old", rdata.TXT, `"x"`)
	first := e.makeContent(zone, 3, www, old)
	e.deliverPlan(e.provider, makePlan(nil, first))
	p := makePlan(&first, removeSets(first, 3, old.Key()))
	p.Changes = []delivery.Change{{Before: delivery.RRset{Name: old.Name, Type: old.Type}, After: delivery.RRset{Name: old.Name, Type: old.Type}}}
	markPending(&p)
	for _, provider := range []delivery.Provider{e.provider, e.New(e.T)} { // a second Remove is no error
		ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
		if _, err := provider.Remove(ctx, p, openFence); err != nil {
			e.Fatalf("Remove: %v", err)
		}
		cancel()
		if e.Offer == nil {
			e.expectContent(content{zone: zone}, www, old)
		}
	}
	again := e.makeContent(zone, 4, www)
	e.deliverPlan(e.provider, makePlan(nil, again))
	if e.Offer == nil {
		e.expectContent(again, old)
	}
}

func examineForeign(e *exam) {
	if e.Disturb == nil {
		e.Skip("no other client can write there")
	}
	zone := e.Zone(e.T)
	foreign := []delivery.RRset{e.makeRRset(zone, "theirs", rdata.A, "198.51.100.1"), e.makeRRset(zone, "www", rdata.TXT, `"theirs"`)}
	first := e.makeContent(zone, 1, e.makeRRset(zone, "www", rdata.A, "192.0.2.1"), e.makeRRset(zone, "old", rdata.A, "192.0.2.1"))
	e.deliverPlan(e.provider, makePlan(nil, first))
	for _, set := range foreign {
		e.Disturb(e.T, zone, set)
	}
	both := func(c content) content { return content{zone, c.serial, slices.Concat(c.sets, foreign)} }
	second := e.makeContent(zone, 2, e.makeRRset(zone, "www", rdata.A, "192.0.2.2"))
	e.deliverPlan(e.provider, makePlan(&first, second))
	e.expectContent(both(second), e.makeRRset(zone, "old", rdata.A))
	e.deliverPlan(e.New(e.T), makePlan(nil, second))
	e.expectContent(both(second))
	drift, err := e.provider.Verify(context.Background(), makePlan(nil, second))
	switch {
	case errors.Is(err, delivery.ErrCannotList):
	case err != nil:
		e.Errorf("Verify: %v", err)
	case !drift.Empty():
		e.Errorf("foreign data is drift: %+v", drift)
	case !e.can.Lists:
	default:
		for _, set := range foreign {
			if !slices.ContainsFunc(drift.Foreign, func(other delivery.RRset) bool { return other.Key() == set.Key() }) {
				e.Errorf("Verify does not report %s as foreign", set.Key())
			}
		}
	}
	if _, err := e.provider.Remove(context.Background(), makePlan(&second, second), openFence); err != nil {
		e.Fatalf("Remove: %v", err)
	}
	e.expectContent(content{zone: zone, sets: foreign}, e.makeRRset(zone, "www", rdata.A))
}

func examineDrift(e *exam) {
	if e.Disturb == nil {
		e.Skip("no other client can write there")
	}
	zone := e.Zone(e.T)
	www, mail := e.makeRRset(zone, "www", rdata.A, "192.0.2.1"), e.makeRRset(zone, "mail", rdata.A, "192.0.2.2")
	want := e.makeContent(zone, 1, www, mail, e.makeRRset(zone, "same", rdata.A, "192.0.2.3"))
	e.deliverPlan(e.provider, makePlan(nil, want))
	other := www
	other.Data = []string{"198.51.100.7"}
	e.Disturb(e.T, zone, other)
	e.Disturb(e.T, zone, delivery.RRset{Name: mail.Name, Type: mail.Type})
	found, err := e.provider.Verify(context.Background(), makePlan(nil, want))
	if errors.Is(err, delivery.ErrCannotList) {
		e.Skip("the provider cannot list")
	}
	if err != nil {
		e.Fatal(err)
	}
	if len(found.Missing) != 1 || found.Missing[0].Key() != mail.Key() || len(found.Differing) != 1 || found.Differing[0].Key() != www.Key() {
		e.Fatalf("mail is missing, www differs; Verify says %+v", found)
	}
	e.expectContent(content{zone: zone, sets: []delivery.RRset{other}}, mail)
	p := makePlan(&want, want)
	for _, set := range slices.Concat(found.Missing, found.Differing) {
		p.Changes = append(p.Changes, delivery.Change{Before: set, After: set})
	}
	markPending(&p)
	report := e.deliverPlan(e.provider, p)
	if e.Keeps {
		e.expectConflict(report, www.Key())
		e.expectContent(content{zone: zone, sets: []delivery.RRset{mail, other}})
		return
	}
	e.expectContent(want)
}

func (e *exam) expectConflict(report delivery.Report, keys ...delivery.RRsetKey) {
	e.Helper()
	var failed []delivery.RRsetKey
	for _, failure := range report.Failed {
		if failure.Err == nil || failure.Err.Reason != delivery.ReasonConflict {
			e.Errorf("%s %s failed with %v, want a Conflict", failure.Name, failure.Type, failure.Err)
		}
		failed = append(failed, delivery.RRsetKey{Name: failure.Name, Type: failure.Type})
	}
	slices.SortFunc(failed, delivery.RRsetKey.Compare)
	slices.SortFunc(keys, delivery.RRsetKey.Compare)
	if !slices.Equal(failed, keys) {
		e.Errorf("in conflict are %v, want %v", failed, keys)
	}
}

// Foreign data exists before the delivery. If kept, the provider answers the same after a restart, a withdrawal leaves
// the data, and the RRset is delivered once the data is gone.
func examineTaken(e *exam) {
	if e.Disturb == nil {
		e.Skip("no other client can write there")
	}
	zone := e.Zone(e.T)
	foreign, overlap := e.makeRRset(zone, "www", rdata.A, "198.51.100.1"), e.makeRRset(zone, "mail", rdata.A, "192.0.2.2", "198.51.100.2")
	e.Disturb(e.T, zone, foreign)
	e.Disturb(e.T, zone, overlap)
	www, mail := e.makeRRset(zone, "www", rdata.A, "192.0.2.1"), e.makeRRset(zone, "mail", rdata.A, "192.0.2.2")
	first := e.makeContent(zone, 1, www, mail, e.makeRRset(zone, "free", rdata.A, "192.0.2.3"))
	report := e.deliverPlan(e.provider, makePlan(nil, first))
	if !e.Keeps {
		if len(report.Failed) > 0 {
			e.Errorf("%+v", report.Failed)
		}
		e.expectContent(first)
		return
	}
	isPresent := func(c content) content {
		return content{zone, c.serial, append(removeSets(c, c.serial, www.Key(), mail.Key()).sets, foreign, overlap)}
	}
	e.expectConflict(report, www.Key(), mail.Key())
	e.expectContent(isPresent(first))
	// The next process has the undelivered RRsets without the reason.
	p := makePlan(&first, first)
	p.Changes = []delivery.Change{{Before: mail, After: mail}, {Before: www, After: www}}
	markPending(&p)
	e.expectConflict(e.deliverPlan(e.New(e.T), p), www.Key(), mail.Key())
	changed := www
	changed.Data = []string{"192.0.2.9"}
	second := e.makeContent(zone, 2, changed, mail, e.makeRRset(zone, "free", rdata.A, "192.0.2.4"))
	p = makePlan(&first, second)
	p.Changes = append(p.Changes, delivery.Change{Before: mail, After: mail})
	p.Uncertain, p.Unconfirmed = true, []delivery.RRsetKey{mail.Key(), www.Key()}
	e.expectConflict(e.deliverPlan(e.New(e.T), p), www.Key(), mail.Key())
	e.expectContent(isPresent(second))
	e.Disturb(e.T, zone, delivery.RRset{Name: www.Name, Type: www.Type})
	p = makePlan(&second, second)
	p.Changes = []delivery.Change{{Before: mail, After: mail}, {Before: changed, After: changed}}
	markPending(&p)
	e.expectConflict(e.deliverPlan(e.New(e.T), p), mail.Key())
	e.expectContent(content{zone, 2, append(removeSets(second, 2, mail.Key()).sets, overlap)})
	p = makePlan(&second, second)
	p.Uncertain, p.Unconfirmed = true, []delivery.RRsetKey{mail.Key()}
	if _, err := e.New(e.T).Remove(context.Background(), p, openFence); err != nil {
		e.Fatalf("Remove: %v", err)
	}
	e.expectContent(content{zone: zone, sets: []delivery.RRset{overlap}}, www)
}

func examineFence(e *exam) {
	if e.can.Fetched {
		e.Skip("it changes nothing outside")
	}
	zone := e.Zone(e.T)
	first := e.makeContent(zone, 1, e.makeRRset(zone, "www", rdata.A, "192.0.2.1"), e.makeRRset(zone, "old", rdata.A, "192.0.2.1"))
	e.deliverPlan(e.provider, makePlan(nil, first))
	second := e.makeContent(zone, 2, e.makeRRset(zone, "www", rdata.A, "192.0.2.2"), e.makeRRset(zone, "new", rdata.A, "192.0.2.2"))
	lost := fmt.Errorf("lost: %w", delivery.ErrFenced)
	closed := func(context.Context) error { return lost }
	if report, err := e.provider.Deliver(context.Background(), makePlan(&first, second), closed); !errors.Is(err, lost) {
		e.Errorf("Deliver without a fence: %+v, %v; want the fence's error as it is", report, err)
	} else if report.Confirmed == 2 {
		e.Error("Deliver without a fence confirmed the serial")
	}
	e.expectContent(first, e.makeRRset(zone, "new", rdata.A))
	if _, err := e.provider.Remove(context.Background(), makePlan(&first, first), closed); !errors.Is(err, lost) {
		e.Errorf("Withdraw without a fence: %v; want the fence's error as it is", err)
	}
	e.expectContent(first)
}

func (e *exam) makeManyRRsets(zone name.Name, s serial.Serial, data string) content {
	var sets []delivery.RRset
	for i := range 40 {
		sets = append(sets, e.makeRRset(zone, fmt.Sprintf("n%02d", i), rdata.TXT, fmt.Sprintf(`"%s"`, data)))
	}
	return e.makeContent(zone, s, sets...)
}

// fenceAfter returns a fence for n calls, and the count of later calls.
func fenceAfter(n int64) (fence delivery.Fence, after *atomic.Int64) {
	var calls atomic.Int64
	after = &atomic.Int64{}
	return func(context.Context) error {
		if calls.Add(1) > n {
			after.Add(1)
			return delivery.ErrFenced
		}
		return nil
	}, after
}

func examineFenceHalfWay(e *exam) {
	if e.can.Fetched {
		e.Skip("it changes nothing outside")
	}
	zone := e.Zone(e.T)
	first := e.makeManyRRsets(zone, 1, "first")
	e.deliverPlan(e.provider, makePlan(nil, first))
	second := e.makeManyRRsets(zone, 2, "second")
	fence, after := fenceAfter(1)
	_, err := e.provider.Deliver(context.Background(), makePlan(&first, second), fence)
	if after.Load() == 0 {
		if err != nil {
			e.Fatal(err)
		}
		e.expectContent(second)
		return
	}
	if !errors.Is(err, delivery.ErrFenced) {
		e.Errorf("%v; want the fence's error", err)
	}
	written := 0
	for _, set := range e.Inspect(e.T, zone) {
		if set.Type == rdata.TXT && equalRRsets(e.writeCanonically(set), second.findRRset(set.Key())) {
			written++
		}
	}
	if written == 0 || written == 40 {
		e.Errorf("%d of 40 RRsets are written; one call should have been made and no more", written)
	}
}

func examineCancel(e *exam) {
	zone := e.Zone(e.T)
	first := e.makeContent(zone, 1, e.makeRRset(zone, "www", rdata.A, "192.0.2.1"))
	e.deliverPlan(e.provider, makePlan(nil, first))
	second := e.makeManyRRsets(zone, 2, "second")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	if _, err := e.provider.Deliver(ctx, makePlan(&first, second), func(ctx context.Context) error { return ctx.Err() }); err == nil {
		e.Error("Deliver under a cancelled context succeeded")
	}
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	if report, err := e.provider.Deliver(ctx, makePlan(&first, second), func(context.Context) error { cancel(); return nil }); err == nil && report.Confirmed == 2 && !e.can.Fetched {
		e.Log("cancelled within the only call, which went through")
	}
	if elapsed := time.Since(began); elapsed > 3*time.Second {
		e.Errorf("cancelled deliveries took %s", elapsed)
	}
	p := makePlan(&first, second)
	markPending(&p)
	e.deliverPlan(e.provider, p)
	e.expectContent(second)
}

func examineUnacknowledged(e *exam) {
	zone := e.Zone(e.T)
	first := e.makeContent(zone, 1, e.makeRRset(zone, "www", rdata.A, "192.0.2.1"), e.makeRRset(zone, "old", rdata.A, "192.0.2.1"))
	e.deliverPlan(e.provider, makePlan(nil, first))
	second := e.makeContent(zone, 2, e.makeRRset(zone, "www", rdata.A, "192.0.2.2"), e.makeRRset(zone, "new", rdata.A, "192.0.2.2"))
	e.deliverPlan(e.provider, makePlan(&first, second))
	// The process dies before it stores the confirmation (F24).
	p := makePlan(&first, second)
	markPending(&p)
	e.deliverPlan(e.New(e.T), p)
	e.expectContent(second, e.makeRRset(zone, "old", rdata.A))
}

func examineChangedBack(e *exam) {
	zone := e.Zone(e.T)
	first := e.makeManyRRsets(zone, 1, "first")
	e.deliverPlan(e.provider, makePlan(nil, first))
	extra := e.makeRRset(zone, "extra", rdata.TXT, `"short lived"`)
	second := e.makeManyRRsets(zone, 2, "second")
	second.sets = append(second.sets, extra)
	if e.Offer != nil {
		e.Offer(e.T, makePlan(&first, second))
	}
	fence, _ := fenceAfter(1)
	if _, err := e.provider.Deliver(context.Background(), makePlan(&first, second), fence); err != nil && !errors.Is(err, delivery.ErrFenced) {
		e.Fatal(err)
	}
	// The zone has the confirmed content again; the plan keeps the RRsets changed in between.
	third := content{zone, 3, first.sets}
	p := makePlan(&first, third)
	p.History = makeHistory(first, second, third)
	for _, set := range second.sets {
		if set.Type == rdata.TXT {
			after := third.findRRset(set.Key())
			p.Changes = append(p.Changes, delivery.Change{Before: after, After: after})
		}
	}
	markPending(&p)
	e.deliverPlan(e.New(e.T), p)
	e.expectContent(third, extra)
}

func examineRefused(e *exam) {
	if e.Refused == "" {
		e.Skip("the server refuses nothing by itself")
	}
	zone := e.Zone(e.T)
	poison := e.makeRRset(zone, e.Refused, rdata.TXT, `"x"`)
	good := []delivery.RRset{e.makeRRset(zone, "aaa", rdata.A, "192.0.2.1"), e.makeRRset(zone, "zzz", rdata.A, "192.0.2.2")}
	report := e.deliverPlan(e.provider, makePlan(nil, e.makeContent(zone, 1, append(good, poison)...)))
	e.expectContent(e.makeContent(zone, 1, good...), poison)
	if len(report.Failed) != 1 || report.Failed[0].Name != poison.Name || report.Failed[0].Type != poison.Type {
		e.Fatalf("Failed is %+v, want %s", report.Failed, poison.Key())
	}
	if why := report.Failed[0].Err; why == nil || why.Reason == "" || why.Message == "" {
		e.Errorf("the refusal says %+v", why)
	}
}

func examineConcurrent(e *exam) {
	var running sync.WaitGroup
	contents := make([]content, 6)
	failed := make([]error, len(contents))
	for i := range contents {
		zone := e.Zone(e.T)
		contents[i] = e.makeContent(zone, serial.Serial(i+1), e.makeRRset(zone, fmt.Sprintf("www%d", i), rdata.A,
			fmt.Sprintf("192.0.2.%d", i)))
		if e.Offer != nil {
			e.Offer(e.T, makePlan(nil, contents[i]))
		}
	}
	for i, c := range contents {
		running.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
			defer cancel()
			for {
				report, err := e.provider.Deliver(ctx, makePlan(nil, c), openFence)
				if err != nil || report.Confirmed == c.serial {
					failed[i] = err
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	running.Wait()
	for i, c := range contents {
		if failed[i] != nil {
			e.Errorf("%s: %v", c.zone, failed[i])
		}
		e.expectContent(c)
	}
}

func examineHealth(e *exam) {
	ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
	defer cancel()
	if err := e.provider.Health(ctx); err != nil && !errors.Is(err, delivery.ErrNotProven) {
		e.Errorf("Health: %v", err)
	}
}
