// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/google/btree"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

// Zone identifies a Zone object. Its fields never change for a UID.
type Zone struct {
	UID       string
	View      string
	Namespace string
	Name      string
}

// Snapshot is the content of a zone at a serial, immutable and safe for concurrent use.
type Snapshot struct {
	zone   Zone
	header content.Header
	serial serial.Serial
	// n is the number of the last step (change of serial), and state the multiset hash of the rows (values) and
	// explicit TTLs.
	n        uint64
	state    sethash.State
	nsRRsets []content.RRset // derived from spec.nameServers
	rows     int             // number of values in sets

	// cloning serializes sets.Clone. Readers need no lock, because Clone writes nothing that they read.
	cloning sync.Mutex
	sets    *btree.BTreeG[*content.RRset]
}

// With this degree of the B-tree, a step copies up to 31 pointers at each level to change an RRset.
const degree = 16

func newTree() *btree.BTreeG[*content.RRset] {
	// A free list would waste 256 octets per zone.
	return btree.NewWithFreeListG(degree, func(one, other *content.RRset) bool { return one.Compare(*other) < 0 },
		btree.NewFreeListG[*content.RRset](0))
}

// ErrMisfit means that a step does not fit a snapshot, or a snapshot's content does not match its state.
var ErrMisfit = errors.New("the step does not fit the zone")

func (s *Snapshot) misfitError(n uint64, format string, args ...any) error {
	return fmt.Errorf("%s, step %d: %w: %s", s, n, ErrMisfit, fmt.Sprintf(format, args...))
}

// NewSnapshot returns the snapshot of a zone that was read as a whole, at the serial sn, after n steps (changes of one
// serial). The RRsets may be in any order, but must not repeat an owner and type. Only Prove verifies the hash, state.
func NewSnapshot(z Zone, h content.Header, sn serial.Serial, n uint64, state sethash.State, sets iter.Seq[content.RRset]) *Snapshot {
	snapshot := &Snapshot{zone: z, header: h, serial: sn, n: n, state: state, nsRRsets: h.NameServerRRsets(), sets: newTree()}
	for set := range sets {
		// A source may list values in any order, but Apply searches sorted data.
		if !slices.IsSorted(set.Data) {
			set.Data = slices.Sorted(slices.Values(set.Data))
		}
		snapshot.rows += len(set.Data)
		// A repeated owner and type is a fault of the source. The last one counts.
		if old, replaced := snapshot.sets.ReplaceOrInsert(&set); replaced {
			snapshot.rows -= len(old.Data)
		}
	}
	return snapshot
}

func (s *Snapshot) Zone() Zone { return s.zone }

// Header returns the zone's header. Callers must not modify the result.
func (s *Snapshot) Header() content.Header { return s.header }

func (s *Snapshot) FQDN() name.Name { return s.header.FQDN }

func (s *Snapshot) Serial() serial.Serial { return s.serial }

func (s *Snapshot) N() uint64 { return s.n }

// State returns the content state, a multiset hash. Apply and Prove verify it.
func (s *Snapshot) State() sethash.State { return s.state }

func (s *Snapshot) Hash() string { return s.header.Hash(s.state) }

// HasVersionOf reports whether both snapshots are of the same step of a zone, and so have the same content.
func (s *Snapshot) HasVersionOf(other *Snapshot) bool {
	return s.n == other.n && s.serial == other.serial && s.Hash() == other.Hash()
}

func (s *Snapshot) Len() int { return s.rows }

func (s *Snapshot) EntryCount() int { return content.EntryCount(s.nsRRsets, s.rows) }

const proveChunk = 1024

// Prove hashes all rows and explicit TTLs in parallel, and returns an error unless the result is the snapshot's state.
func (s *Snapshot) Prove() error {
	chunks := make(chan []sethash.Element)
	states := make([]sethash.State, min(runtime.GOMAXPROCS(0), 1+s.rows/proveChunk))
	errs := make([]error, len(states))
	var workers sync.WaitGroup

	// Each worker has a state and an error of its own, so none needs a lock.
	for i := range states {
		workers.Go(func() {
			for elements := range chunks {
				// Go on receiving after an error, because the sender must not block.
				if errs[i] == nil {
					states[i], errs[i] = states[i].Update(nil, elements)
				}
			}
		})
	}

	// The hash is of a multiset, so the order has no effect.
	var elements []sethash.Element
	for set := range s.RRsets() {
		if elements = set.Elements(elements); len(elements) >= proveChunk {
			chunks <- elements
			elements = make([]sethash.Element, 0, len(elements))
		}
	}

	chunks <- elements
	close(chunks)
	workers.Wait()

	proven, err := sethash.Sum(states...)
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	if proven != s.state {
		return s.misfitError(s.n, "the content of %d rows has state %s, the zone claims %s", s.rows, proven, s.state)
	}
	return nil
}

// RRsets iterates over the RRsets in canonical order, without those derived from the header's name servers. The caller
// must not modify them.
func (s *Snapshot) RRsets() iter.Seq[content.RRset] { return s.rrsetsFrom(name.Apex) }

const maxPrefetch = 32

// rrsetsFrom iterates over the RRsets from owner on, in canonical order, and prefetches up to maxPrefetch of them.
func (s *Snapshot) rrsetsFrom(owner name.Rel) iter.Seq[content.RRset] {
	return func(yield func(content.RRset) bool) {
		// Begin with a single RRset, because a reader of a single name must not pay for more.
		var upcoming [maxPrefetch]*content.RRset
		n, most, going := 0, 1, true

		// hand yields the RRsets collected so far, and doubles the number for the next time.
		hand := func() bool {
			prefetchRRsets(upcoming[:n])
			for _, set := range upcoming[:n] {
				if going = yield(*set); !going {
					return false
				}
			}
			n, most = 0, min(2*most, maxPrefetch)
			return true
		}

		s.sets.AscendGreaterOrEqual(&content.RRset{Owner: owner}, func(set *content.RRset) bool {
			upcoming[n] = set
			n++
			return n < most || hand()
		})
		if going {
			hand()
		}
	}
}

// prefetchRRsets reads RRsets before they are needed, because the processor can load scattered memory in parallel.
func prefetchRRsets(upcoming []*content.RRset) {
	var octets byte
	for _, set := range upcoming {
		octets += byte(len(set.Data))
	}
	for _, set := range upcoming {
		if len(set.Data) > 0 {
			octets += byte(len(set.Data[0]))
		}
		if owner := set.Owner.String(); owner != "" {
			octets += owner[0]
		}
	}
	for _, set := range upcoming {
		if len(set.Data) > 0 && set.Data[0] != "" {
			octets += set.Data[0][0]
		}
	}
	runtime.KeepAlive(octets) // or the compiler drops the reads
}

func (s *Snapshot) RRset(owner name.Rel, t rdata.Type) (content.RRset, bool) {
	set, ok := s.sets.Get(&content.RRset{Owner: owner, Type: t})
	if !ok {
		return content.RRset{}, false
	}
	return *set, true
}

// mergedRRset returns an RRset as published: values of Records and those of spec.nameServers together, or false for
// none.
func (s *Snapshot) mergedRRset(owner name.Rel, t rdata.Type) (content.RRset, bool) {
	set, ok := s.RRset(owner, t)
	for _, nsRRset := range s.nsRRsets {
		if nsRRset.Owner == owner && nsRRset.Type == t {
			if ok {
				return set.Merge(nsRRset), true
			}
			return nsRRset, true
		}
	}
	return set, ok
}

func (s *Snapshot) Entries() iter.Seq[dns.Entry] {
	return content.Entries(s.header, s.serial, s.RRsets())
}

// EntriesFrom iterates over the entries from the name start on, in canonical order, to continue a listing.
func (s *Snapshot) EntriesFrom(start name.Name) iter.Seq[dns.Entry] {
	if start.IsZero() || start.Compare(s.header.FQDN) <= 0 {
		return s.Entries()
	}
	owner, ok := start.Rel(s.header.FQDN)
	if !ok {
		// Names in the zone are contiguous in canonical order, and start is after them.
		return func(func(dns.Entry) bool) {}
	}
	return content.EntriesFrom(s.header, owner, s.rrsetsFrom(owner))
}

// PackedRRsets iterates over all RRsets in wire format, the SOA first. See content.Pack for their lifetime.
func (s *Snapshot) PackedRRsets() iter.Seq2[content.Packed, error] {
	return content.Pack(s.header, s.serial, s.RRsets())
}

func (s *Snapshot) SOA() dns.Entry { return s.header.SOA(s.serial, s.firstServer()) }

// PackedSOA returns the SOA in wire format. The caller owns its Rdata.
func (s *Snapshot) PackedSOA() (content.Packed, error) {
	return s.header.PackSOA(s.serial, s.firstServer())
}

// PackedRRset returns a published RRset or the SOA in wire format, or false if there is none. The caller owns its
// Rdata.
func (s *Snapshot) PackedRRset(owner name.Rel, t rdata.Type) (content.Packed, bool, error) {
	if t == rdata.SOA && owner.IsApex() {
		soa, err := s.PackedSOA()
		return soa, err == nil, err
	}
	set, ok := s.mergedRRset(owner, t)
	if !ok {
		return content.Packed{}, false, nil
	}
	packed, err := content.PackRRset(s.header, set)
	// An RRset without valid data has nothing to publish.
	return packed, err == nil && len(packed.Rdata) > 0, err
}

// Exists reports whether a name or any name below has an RRset. A name with RRsets only below is an empty non-terminal
// (RFC 8499).
func (s *Snapshot) Exists(owner name.Rel) bool {
	if owner.IsApex() {
		return true
	}
	for _, nsRRset := range s.nsRRsets {
		if owner.Encloses(nsRRset.Owner) {
			return true
		}
	}
	// The first RRset at or after owner decides, because names below owner follow directly.
	exists := false
	s.sets.AscendGreaterOrEqual(&content.RRset{Owner: owner}, func(set *content.RRset) bool {
		exists = owner.Encloses(set.Owner)
		return false
	})
	return exists
}

// TypesAt returns the types at a name, with the SOA at the apex, or none at an empty non-terminal.
func (s *Snapshot) TypesAt(owner name.Rel) []rdata.Type {
	var types []rdata.Type
	if owner.IsApex() {
		types = append(types, rdata.SOA)
	}
	for set := range s.rrsetsFrom(owner) {
		if set.Owner != owner {
			break
		}
		types = append(types, set.Type)
	}
	for _, nsRRset := range s.nsRRsets {
		if nsRRset.Owner == owner && !slices.Contains(types, nsRRset.Type) {
			types = append(types, nsRRset.Type)
		}
	}
	return types
}

func (s *Snapshot) firstServer() string {
	if servers := s.lookup(name.Apex, rdata.NS); len(servers) > 0 {
		return servers[0].Data
	}
	return ""
}

func (s *Snapshot) Lookup(n name.Name, t rdata.Type) []dns.Entry {
	owner, ok := n.Rel(s.header.FQDN)
	if !ok {
		return nil
	}
	if t == rdata.SOA && owner.IsApex() {
		return []dns.Entry{s.SOA()}
	}
	return s.lookup(owner, t)
}

func (s *Snapshot) lookup(owner name.Rel, t rdata.Type) []dns.Entry {
	set, ok := s.mergedRRset(owner, t)
	if !ok {
		return nil
	}
	entries, _ := content.Resolve(s.header, set) // a value without an entry is left out
	return entries
}

func (s *Snapshot) String() string {
	if s.zone.View == "" {
		return fmt.Sprintf("zone %s (uid %s)", s.header.FQDN, s.zone.UID)
	}
	return fmt.Sprintf("zone %s in view %s (uid %s)", s.header.FQDN, s.zone.View, s.zone.UID)
}
