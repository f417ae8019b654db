// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

type fixed struct {
	header  content.Header
	serial  serial.Serial
	entries []dns.Entry
	sets    []content.RRset
}

func (f *fixed) Header() content.Header { return f.header }
func (f *fixed) Serial() serial.Serial  { return f.serial }
func (f *fixed) N() uint64              { return uint64(f.serial) + 1000 }
func (f *fixed) State() sethash.State   { return sethash.State{} }
func (f *fixed) Hash() string           { return fmt.Sprintf("hash-of-%d", f.serial) }
func (f *fixed) RRsets() iter.Seq[content.RRset] {
	return slices.Values(f.sets)
}

func (f *fixed) EntriesFrom(from name.Name) iter.Seq[dns.Entry] {
	return func(yield func(dns.Entry) bool) {
		for _, entry := range f.entries {
			if !from.IsZero() && (entry.Name.Compare(from) < 0 || (entry.Name == f.header.FQDN && entry.Type == rdata.SOA)) {
				continue
			}
			if !yield(entry) {
				return
			}
		}
	}
}

// makeExample returns example.org.: an apex of three, www with three values, then n hosts.
func makeExample(at serial.Serial, n int) *fixed {
	apex := name.MustParse("example.org.")
	f := &fixed{
		header: content.Header{FQDN: apex, TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360,
			NameServers: []content.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}},
		serial: at,
	}
	add := func(owner name.Name, t rdata.Type, data string) {
		f.entries = append(f.entries, dns.Entry{Name: owner, Type: t, TTL: 360, Data: data})
	}
	add(apex, rdata.SOA, fmt.Sprintf("ns1.example.org. hostmaster.example.org. %d 86400 7200 3600000 360", at))
	add(apex, rdata.NS, "ns1.example.org.")
	add(apex, rdata.MX, "10 mail.example.org.")
	for i := range n {
		add(name.MustParse(fmt.Sprintf("host%06d.example.org.", i)), rdata.A, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
	}
	www := name.MustParse("www.example.org.")
	for _, last := range []int{1, 2, 3} {
		add(www, rdata.A, fmt.Sprintf("192.0.2.%d", last))
	}
	f.sets = []content.RRset{
		{Owner: name.MustRel("@"), Type: rdata.MX, TTL: content.InheritTTL(), Data: []string{"10 mail"}},
		{Owner: name.MustRel("www"), Type: rdata.A, TTL: content.ExplicitTTL(60), Data: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}},
	}
	return f
}

type held struct {
	mu        sync.Mutex
	snapshots []*fixed // oldest first
	steps     []content.Step
	changes   []dns.Change
	left      dns.Change
	block     bool // never reaches any serial
}

func (h *held) putSnapshot(s *fixed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.snapshots = append(h.snapshots, s)
}

func (h *held) dropSnapshot(at serial.Serial) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.snapshots = slices.DeleteFunc(h.snapshots, func(s *fixed) bool { return s.serial == at })
}

func (h *held) Snapshot(ctx context.Context, zone *v1alpha1.Zone) (Snapshot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.block {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for int64(h.snapshots[len(h.snapshots)-1].N()) < zone.Status.ContentGeneration {
		h.mu.Unlock()
		select {
		case <-ctx.Done():
			h.mu.Lock()
			return nil, ctx.Err()
		case <-time.After(time.Millisecond):
		}
		h.mu.Lock()
	}
	last := h.snapshots[len(h.snapshots)-1]
	if int64(last.serial) < zone.Status.Serial {
		return nil, fmt.Errorf("the newest snapshot is of %d", last.serial)
	}
	return last, nil
}

func (h *held) SnapshotAt(_ context.Context, _ *v1alpha1.Zone, at serial.Serial) (Snapshot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.snapshots {
		if s.serial == at {
			return s, nil
		}
	}
	return nil, fmt.Errorf("looking for %d: %w", at, ErrNotHeld)
}

// The caller holds the lock.
func (h *held) findSpan(since, until serial.Serial) (first, last int, err error) {
	if len(h.steps) == 0 || since < h.steps[0].Serial-1 || until > h.steps[len(h.steps)-1].Serial {
		return 0, 0, ErrNotHeld
	}
	return int(since - (h.steps[0].Serial - 1)), int(until - (h.steps[0].Serial - 1)), nil
}

func (h *held) Oldest(_ context.Context, _ *v1alpha1.Zone) (serial.Serial, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.steps) == 0 {
		return 0, ErrNotHeld
	}
	return h.steps[0].Serial - 1, nil
}

func (h *held) Steps(_ context.Context, _ *v1alpha1.Zone, since, until serial.Serial, _ bool) ([]content.Step, []dns.Change, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first, last, err := h.findSpan(since, until)
	if err != nil {
		return nil, nil, err
	}
	return h.steps[first:last], h.changes[first:last], nil
}

func (h *held) EndedZone(_ context.Context, _ *v1alpha1.Zone, since serial.Serial) (name.Name, dns.Change, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left.From != since {
		return name.Name{}, dns.Change{}, ErrNotHeld
	}
	return name.MustParse("example.org."), h.left, nil
}

type recordsAt map[name.Name][]*v1alpha1.Record

func (r recordsAt) RecordsAt(_ context.Context, _ *v1alpha1.Zone, owner name.Name) ([]*v1alpha1.Record, error) {
	return r[owner], nil
}

const exampleUID = types.UID("5f1b")

func exampleZone(at int64) *v1alpha1.Zone {
	zone := &v1alpha1.Zone{}
	zone.Name, zone.Namespace, zone.UID = "example-org", "dns", exampleUID
	zone.Status.FQDN, zone.Status.Serial = "example.org.", at
	return zone
}
