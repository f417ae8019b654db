// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/test/must"
)

// waitForFault waits until the primary has an answer of a target to the NOTIFYs for a zone; "" for the confirmation.
func waitForFault(t *testing.T, p *Primary, class *Class, at *secondary, want string) (fault *NotifyFault) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		fault, known := p.NotifyFaults(class, "u")[Target{Addr: at.addressOf()}]
		switch {
		case known && fault == nil && want == "", fault != nil && fault.Answer == want:
			return fault
		case time.Now().After(deadline):
			t.Fatalf("the fault is %+v, known: %v; want %q", fault, known, want)
		}
	}
}

// A refused NOTIFY is a fault from its second try on, with the answer and the address that the target saw, though the
// zone changes before the attempts for a serial are over. It ends with the first confirmation. The log has one line for
// each.
func TestNotify_refusalIsAFaultUntilConfirmed_S7_12(t *testing.T) {
	var rcode atomic.Int64
	rcode.Store(mdns.RcodeRefused)
	target := newSecondary(t, func(_ int, m *mdns.Msg) *mdns.Msg { return new(mdns.Msg).SetRcode(m, int(rcode.Load())) })
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 1))
	var mu sync.Mutex
	var log []string
	p := startPrimary(t, Config{Zones: set, NotifyInterval: time.Millisecond, NotifyBackoff: 10 * time.Millisecond,
		NotifyFaultAfter: 20 * time.Millisecond, Logger: funcr.New(func(_, text string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(text, "NOTIFY") {
				log = append(log, text)
			}
		}, funcr.Options{})})
	class := must.Get(p.AddClass(ClassConfig{Name: "red", Allow: Rules(local, nil), Notify: []Target{{Addr: target.addressOf()}}},
		Membership{Members: []Member{{UID: "u", Zone: name.MustParse("example.org.")}}}))(t)

	changing := make(chan struct{})
	go func() {
		defer close(changing)
		for n := uint32(2); n < 100; n++ {
			set.Put(makeSnapshot(t, "u", "", "example.org.", serialOf(n)), true)
			time.Sleep(5 * time.Millisecond)
		}
	}()
	fault := waitForFault(t, p, class, target, "REFUSED")
	if fault.From != loopback || fault.Zone != name.MustParse("example.org.") || time.Since(fault.Since) < 20*time.Millisecond {
		t.Errorf("the fault is %+v", fault)
	}
	<-changing
	if got := p.Stats().NotifyFaults[NotifyAnswer{target.addressOf().String(), "REFUSED"}]; got != 1 {
		t.Errorf("%d zones wait in the metric", got)
	}
	rcode.Store(mdns.RcodeSuccess)
	set.Put(makeSnapshot(t, "u", "", "example.org.", 100), true)
	waitForFault(t, p, class, target, "")
	if got := p.Stats().NotifyFaults; len(got) > 0 {
		t.Errorf("in the metric stays %v", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(log) != 2 || !strings.Contains(log[0], "does not confirm NOTIFY") || !strings.Contains(log[0], `"from"="127.0.0.1"`) ||
		!strings.Contains(log[1], "confirms NOTIFY again") {
		t.Errorf("the log has\n%s", strings.Join(log, "\n"))
	}
}

// A server learns of a new zone from the catalog, so the catalog's refusal is the fault, although the server answers
// NOTAUTH for the zone that it lacks. A silent target has the fault NoAnswer.
func TestNotify_faultOfTheCatalogPrecedes(t *testing.T) {
	refuses := newSecondary(t, func(_ int, m *mdns.Msg) *mdns.Msg {
		rcode := mdns.RcodeNotAuth
		if m.Question[0].Name == "catalog.example." {
			rcode = mdns.RcodeRefused
		}
		return new(mdns.Msg).SetRcode(m, rcode)
	})
	silent := newSecondary(t, func(int, *mdns.Msg) *mdns.Msg { return nil })
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 1)), NotifyInterval: time.Millisecond,
		NotifyBackoff: 10 * time.Millisecond, NotifyTimeout: 10 * time.Millisecond, NotifyFaultAfter: 20 * time.Millisecond})
	class := must.Get(p.AddClass(ClassConfig{Name: "red", Catalog: name.MustParse("catalog.example."), Allow: Rules(local, nil),
		Notify: []Target{{Addr: refuses.addressOf()}, {Addr: silent.addressOf()}}},
		Membership{Members: []Member{{UID: "u", Zone: name.MustParse("example.org.")}}, Serial: 1}))(t)
	if fault := waitForFault(t, p, class, refuses, "REFUSED"); fault.Zone != name.MustParse("catalog.example.") {
		t.Errorf("the fault is of %s", fault.Zone)
	}
	waitForFault(t, p, class, silent, "NoAnswer")
	class.Close()
	if faults := p.NotifyFaults(class, "u"); len(faults) > 0 {
		t.Errorf("after the class: %v", faults)
	}
}

// A target that refuses and is silent by turns, as one of two servers behind an address does, confirms nothing: the
// whole series is a fault, and the log has one line.
func TestNotify_alternatingAnswersAreAFault_S7_12(t *testing.T) {
	target := newSecondary(t, func(n int, m *mdns.Msg) *mdns.Msg {
		if n%2 == 0 {
			return nil
		}
		return new(mdns.Msg).SetRcode(m, mdns.RcodeRefused)
	})
	var lines atomic.Int64
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 1)), NotifyInterval: time.Millisecond,
		NotifyBackoff: 10 * time.Millisecond, NotifyTimeout: 10 * time.Millisecond, NotifyFaultAfter: 20 * time.Millisecond,
		NotifyAttempts: 7, Logger: funcr.New(func(_, text string) {
			if strings.Contains(text, "does not confirm NOTIFY") {
				lines.Add(1)
			}
		}, funcr.Options{})})
	class := must.Get(p.AddClass(ClassConfig{Name: "red", Allow: Rules(local, nil), Notify: []Target{{Addr: target.addressOf()}}},
		Membership{Members: []Member{{UID: "u", Zone: name.MustParse("example.org.")}}}))(t)
	target.waitForNotifies(t, 7)
	waitForFault(t, p, class, target, "REFUSED")
	if got := p.Stats().NotifyFaults[NotifyAnswer{target.addressOf().String(), "REFUSED"}]; got != 1 {
		t.Errorf("%d zones wait in the metric", got)
	}
	if got := lines.Load(); got != 1 {
		t.Errorf("the log has %d lines", got)
	}
}

// A NOTIFY that was not confirmed long ago, and one that is lost now, are no series.
func TestNoteAnswer_beginsAnotherSeriesAfterAPause_S7_12(t *testing.T) {
	n := &notifier{config: &Config{NotifyFaultAfter: time.Minute}, failing: map[pendingKey]failing{}, down: map[Target]bool{}}
	waits := &pendingNotify{notification: &notification{}}
	for age, isSeries := range map[time.Duration]bool{time.Hour: false, 2 * time.Minute: true} {
		before := time.Now().Add(-age)
		n.failing[pendingKey{}] = failing{answer: "REFUSED", since: before, last: before}
		n.noteAnswer(logr.Discard(), pendingKey{}, waits, loopback, errors.New("lost"))
		if got := n.countFaults()[NotifyAnswer{Target{}.Addr.String(), "Error"}] == 1; got != isSeries {
			t.Errorf("after %s it is a fault: %v", age, got)
		}
	}
}

// Each scrape counts the same servers, although more fail than the metric names.
func TestCountFaults_choosesTheSameServers(t *testing.T) {
	n, now := &notifier{config: &Config{NotifyFaultAfter: time.Second}, failing: map[pendingKey]failing{}}, time.Now()
	for port := range 2 * maxFaultServers {
		at := Target{Addr: netip.AddrPortFrom(loopback, uint16(10000+port))}
		for _, zone := range []string{"example.org.", "example.net."} {
			key := pendingKey{servedName{nil, name.MustParse(zone)}, at}
			n.failing[key] = failing{answer: "REFUSED", since: now.Add(-time.Minute), last: now}
		}
	}
	counts := n.countFaults()
	for port := range maxFaultServers {
		at := NotifyAnswer{netip.AddrPortFrom(loopback, uint16(10000+port)).String(), "REFUSED"}
		if counts[at] != 2 {
			t.Errorf("%d zones of %s", counts[at], at.Server)
		}
	}
	if len(counts) != maxFaultServers {
		t.Errorf("%d servers", len(counts))
	}
}

// A transfer that is refused counts by itself, so that an operator finds a secondary with a wrong key or address.
func TestTransfer_refusalIsCounted(t *testing.T) {
	key, other := testKey(t, "transfer.example.", tsig.HMACSHA256), testKey(t, "other.example.", tsig.HMACSHA256)
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 1)), Keys: []tsig.Key{key},
		Allow: Rules(nil, []tsig.Key{key})})
	for _, test := range []struct {
		zone string
		key  *tsig.Key
	}{{"example.org.", nil}, {"example.org.", &other}, {"example.net.", &key}, {"example.org.", &key}} {
		m := new(mdns.Msg)
		m.SetAxfr(test.zone)
		transfer := &mdns.Transfer{}
		if test.key != nil {
			m.SetTsig(test.key.Name, string(test.key.Algorithm), 300, time.Now().Unix())
			transfer.TsigProvider = macBy{*test.key}
		}
		for range must.Get(transfer.In(m, p.Addr().String()))(t) {
		}
	}
	m := makeQuery("example.org.", mdns.TypeSOA)
	must.Get(mdns.Exchange(m, p.Addr().String()))(t)
	of := p.Stats().Transfers
	if got := of[TransferKind{KindAXFR, ResultRefused}]; got != 3 || of[TransferKind{KindIXFR, ResultRefused}] != 0 {
		t.Errorf("%v", of)
	}
}
