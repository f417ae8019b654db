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
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
)

// Zone says which Zone object a snapshot is of. It never changes for a UID.
type Zone struct {
	UID string
	// View is the effective view (S1.4), empty for the default one.
	View      string
	Namespace string
	Name      string
}

// Snapshot is the definition of one zone at one serial. It is immutable and
// may be used from any number of goroutines.
type Snapshot struct {
	zone   Zone
	header content.Header
	serial serial.Serial
	n      uint64
	state  sethash.State
	// made is header.NameServerRRsets(), shared by all snapshots of a header.
	made []content.RRset
	rows int

	// cloning guards sets.Clone, which must not meet another Clone of the same
	// tree. Reading needs no lock: Clone writes nothing that a reader reads,
	// and once a snapshot exists nothing else is ever written to its tree.
	cloning sync.Mutex
	sets    *btree.BTreeG[*content.RRset]
}

// degree bounds what a step copies: up to 31 pointers a level.
const degree = 16

func newTree() *btree.BTreeG[*content.RRset] {
	// Nodes are shared between snapshots and left to the garbage collector; a
	// free list would be a quarter of a kilobyte a zone for nothing.
	return btree.NewWithFreeListG(degree, func(one, other *content.RRset) bool { return one.Compare(*other) < 0 },
		btree.NewFreeListG[*content.RRset](0))
}

// ErrMisfit is in every error that says that a snapshot and a step, or a
// snapshot and its own state, do not belong together. Nothing was changed; the
// view is to be built anew from a listing.
var ErrMisfit = errors.New("the step does not fit the zone")

func (s *Snapshot) misfitError(n uint64, format string, args ...any) error {
	return fmt.Errorf("%s, step %d: %w: %s", s, n, ErrMisfit, fmt.Sprintf(format, args...))
}

// NewSnapshot takes in a definition from a listing. sets come in any order, one
// for each owner and type; their Data is copied only where it is not sorted. n
// is the N of the last step that the listing contains. Prove checks whether sets make state.
func NewSnapshot(z Zone, h content.Header, s serial.Serial, n uint64, state sethash.State, sets iter.Seq[content.RRset]) *Snapshot {
	snapshot := &Snapshot{zone: z, header: h, serial: s, n: n, state: state, made: h.NameServerRRsets(), sets: newTree()}
	for set := range sets {
		if !slices.IsSorted(set.Data) {
			set.Data = slices.Sorted(slices.Values(set.Data))
		}
		snapshot.rows += len(set.Data)
		if old, replaced := snapshot.sets.ReplaceOrInsert(&set); replaced {
			snapshot.rows -= len(old.Data)
		}
	}
	return snapshot
}

// Zone is the object that this is the definition of.
func (s *Snapshot) Zone() Zone { return s.zone }

// Header is the part of the definition from the Zone object. Read-only.
func (s *Snapshot) Header() content.Header { return s.header }

// FQDN is Header().FQDN.
func (s *Snapshot) FQDN() name.Name { return s.header.FQDN }

// Serial is the serial of this definition (S6.8).
func (s *Snapshot) Serial() serial.Serial { return s.serial }

// N is the number of the step that led here.
func (s *Snapshot) N() uint64 { return s.n }

// State is the content state (S6.7) that this definition claims, checked at
// every step and by Prove.
func (s *Snapshot) State() sethash.State { return s.state }

// Hash is status.hash at this serial (S6.7).
func (s *Snapshot) Hash() string { return s.header.Hash(s.state) }

// Len is the number of rows.
func (s *Snapshot) Len() int { return s.rows }

// EntryCount is status.entryCount (S6.7).
func (s *Snapshot) EntryCount() int { return content.EntryCount(s.header, s.rows) }

// proveChunk is the number of elements that are hashed at once while proving; at 9 µs each the cost of
// a call to Update is lost among so many.
const proveChunk = 1024

// Prove computes the content state anew from all rows and explicit TTLs, 9 µs each, on all processors, and
// reports where it is not State.
func (s *Snapshot) Prove() error {
	chunks := make(chan []sethash.Element)
	states := make([]sethash.State, min(runtime.GOMAXPROCS(0), 1+s.rows/proveChunk))
	errs := make([]error, len(states))
	var workers sync.WaitGroup
	for i := range states {
		workers.Go(func() {
			for elements := range chunks {
				if errs[i] == nil {
					states[i], errs[i] = states[i].Update(nil, elements)
				}
			}
		})
	}
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

// RRsets are the definition's RRsets in canonical order, without what the
// header's nameServers make. Read-only.
func (s *Snapshot) RRsets() iter.Seq[content.RRset] { return s.rrsetsFrom(name.Apex) }

// ahead is how many RRsets are fetched before the first of them is used.
const ahead = 32

func (s *Snapshot) rrsetsFrom(owner name.Rel) iter.Seq[content.RRset] {
	return func(yield func(content.RRset) bool) {
		// A reader that looks at one name only must not pay for a stretch.
		var stretch [ahead]*content.RRset
		n, most, going := 0, 1, true
		hand := func() bool {
			prefetchRRsets(stretch[:n])
			for _, set := range stretch[:n] {
				if going = yield(*set); !going {
					return false
				}
			}
			n, most = 0, min(2*most, ahead)
			return true
		}
		s.sets.AscendGreaterOrEqual(&content.RRset{Owner: owner}, func(set *content.RRset) bool {
			stretch[n] = set
			n++
			return n < most || hand()
		})
		if going {
			hand()
		}
	}
}

// prefetchRRsets touches what the RRsets of a stretch point at. They lie all over the
// memory of a large zone, and one after the other each would be waited for;
// here the processor waits for all of them at once.
func prefetchRRsets(stretch []*content.RRset) {
	var octets byte
	for _, set := range stretch {
		octets += byte(len(set.Data))
	}
	for _, set := range stretch {
		if len(set.Data) > 0 {
			octets += byte(len(set.Data[0]))
		}
		if owner := set.Owner.String(); owner != "" {
			octets += owner[0]
		}
	}
	for _, set := range stretch {
		if len(set.Data) > 0 && set.Data[0] != "" {
			octets += set.Data[0][0]
		}
	}
	runtime.KeepAlive(octets)
}

// RRset is the one of RRsets with this owner and type.
func (s *Snapshot) RRset(owner name.Rel, t rdata.Type) (content.RRset, bool) {
	set, ok := s.sets.Get(&content.RRset{Owner: owner, Type: t})
	if !ok {
		return content.RRset{}, false
	}
	return *set, true
}

// published is RRset with what nameServers make (S6.2).
func (s *Snapshot) published(owner name.Rel, t rdata.Type) (content.RRset, bool) {
	set, ok := s.RRset(owner, t)
	for _, made := range s.made {
		if made.Owner == owner && made.Type == t {
			if ok {
				return set.Merge(made), true
			}
			return made, true
		}
	}
	return set, ok
}

// Entries is all that the zone publishes: the SOA, then canonical order (S6.1).
func (s *Snapshot) Entries() iter.Seq[dns.Entry] {
	return content.Entries(s.header, s.serial, s.RRsets())
}

// EntriesFrom is Entries from the first entry at or after n in canonical order;
// the zero Name, the apex and names before it start with the SOA. It is how a
// listing goes on after its last name.
func (s *Snapshot) EntriesFrom(n name.Name) iter.Seq[dns.Entry] {
	if n.IsZero() || n.Compare(s.header.FQDN) <= 0 {
		return s.Entries()
	}
	from, ok := n.Rel(s.header.FQDN)
	if !ok {
		// Names at and below the apex are one stretch of the canonical order,
		// and n comes after its beginning without being in it.
		return func(func(dns.Entry) bool) {}
	}
	return content.EntriesFrom(s.header, from, s.rrsetsFrom(from))
}

// Packed is Entries in wire form, RRset by RRset: what a transfer sends. See
// content.Pack for what holds how long.
func (s *Snapshot) Packed() iter.Seq2[content.Packed, error] {
	return content.Pack(s.header, s.serial, s.RRsets())
}

// SOA is the first of Entries.
func (s *Snapshot) SOA() dns.Entry { return s.header.SOA(s.serial, s.firstServer()) }

// PackedSOA is the first of Packed; its Rdata belongs to the caller.
func (s *Snapshot) PackedSOA() (content.Packed, error) {
	return s.header.PackSOA(s.serial, s.firstServer())
}

// PackedRRset is the RRset of this owner and type as the zone publishes it, its SOA too; false: there is none. Its
// Rdata belongs to the caller.
func (s *Snapshot) PackedRRset(owner name.Rel, t rdata.Type) (content.Packed, bool, error) {
	if t == rdata.SOA && owner.IsApex() {
		soa, err := s.PackedSOA()
		return soa, err == nil, err
	}
	set, ok := s.published(owner, t)
	if !ok {
		return content.Packed{}, false, nil
	}
	packed, err := content.PackRRset(s.header, set)
	return packed, err == nil && len(packed.Rdata) > 0, err
}

// Exists reports whether something stands at or below owner: a name between two
// labels of another exists without data (RFC 8499, empty non-terminal).
func (s *Snapshot) Exists(owner name.Rel) bool {
	if owner.IsApex() {
		return true
	}
	for _, made := range s.made {
		if owner.Encloses(made.Owner) {
			return true
		}
	}
	exists := false
	s.sets.AscendGreaterOrEqual(&content.RRset{Owner: owner}, func(set *content.RRset) bool {
		exists = owner.Encloses(set.Owner)
		return false // what is below a name follows it in canonical order
	})
	return exists
}

// TypesAt are the types of the RRsets at owner as the zone publishes them.
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
	for _, made := range s.made {
		if made.Owner == owner && !slices.Contains(types, made.Type) {
			types = append(types, made.Type)
		}
	}
	return types
}

// firstServer is the first apex NS in canonical order, empty without one.
func (s *Snapshot) firstServer() string {
	if servers := s.lookup(name.Apex, rdata.NS); len(servers) > 0 {
		return servers[0].Data
	}
	return ""
}

// Lookup is those of Entries with this name and type, in canonical order.
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
	set, ok := s.published(owner, t)
	if !ok {
		return nil
	}
	entries, _ := content.Resolve(s.header, set) // the error is content.Check's to report
	return entries
}

// String is for messages: the fqdn, the view where it has one, and the uid.
func (s *Snapshot) String() string {
	if s.zone.View == "" {
		return fmt.Sprintf("zone %s (uid %s)", s.header.FQDN, s.zone.UID)
	}
	return fmt.Sprintf("zone %s in view %s (uid %s)", s.header.FQDN, s.zone.View, s.zone.UID)
}
