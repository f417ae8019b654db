// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
)

// Kind says what a Key asks for and which Go type its fact has.
type Kind uint8

const (
	// KindHolding asks which zone holds (View, Name): *Holding.
	KindHolding Kind = iota + 1
	// KindZone asks for the zone object (Namespace, Object): *Zone.
	KindZone
	// KindOwner asks what stands at Owner in the zone with uid Zone: *Owner.
	KindOwner
	// KindCount asks how many records Namespace has in the zone with uid Zone: *Count.
	KindCount
	// KindMember asks how the record (Namespace, Object) was admitted at Owner in the zone with uid Zone: *Member.
	KindMember
	// KindOwnersBelow asks what stands strictly below Owner in the zone with uid Zone: *OwnersBelow.
	KindOwnersBelow
	// KindZonesBelow asks which zones stand at or below (View, Name): *ZonesBelow.
	KindZonesBelow
	// KindLastSerial asks for the last serial served under (View, Name) by a zone that is gone: *LastSerial. Without a
	// name it is the one that names begin with after a restore, where the store remembers none of theirs.
	KindLastSerial
	// KindCut asks what the zone with uid Zone counts for the delegated child with uid Object: *CountedCut.
	KindCut
	// KindRules asks which rules Delegations give Namespace in the zone with uid Zone: *NamespaceRules.
	KindRules
	// KindWork asks for the outbox item with the id Object: *Work.
	KindWork
	// KindWithdrawal asks for the time that Namespace has left in the zone with uid Object: *Withdrawal.
	KindWithdrawal
	// KindForeignRecords asks how many records other namespaces than Namespace have in the zone with uid Zone:
	// *Foreign.
	KindForeignRecords
	// KindForeignNames asks at which names these are, as far as the first FirstKeys of all records show it: *Foreign.
	// Name is that of the zone.
	KindForeignNames
	// KindForeignZones asks which of the first FirstKeys zones below (View, Name) the zone with uid Object delegates to
	// other namespaces than Namespace: *Foreign.
	KindForeignZones
)

// Key names one fact. The fields a Kind does not use are zero, so that equal
// questions are equal keys.
type Key struct {
	Kind      Kind
	Zone      string
	View      string
	Name      name.Name
	Owner     name.Rel
	Namespace string
	Object    string
}

// There is one constructor for each kind.
func HoldingKey(view string, fqdn name.Name) Key {
	return Key{Kind: KindHolding, View: view, Name: fqdn}
}
func ZoneKey(namespace, object string) Key {
	return Key{Kind: KindZone, Namespace: namespace, Object: object}
}
func OwnerKey(zone string, owner name.Rel) Key { return Key{Kind: KindOwner, Zone: zone, Owner: owner} }
func OwnersBelowKey(zone string, owner name.Rel) Key {
	return Key{Kind: KindOwnersBelow, Zone: zone, Owner: owner}
}
func ZonesBelowKey(view string, n name.Name) Key {
	return Key{Kind: KindZonesBelow, View: view, Name: n}
}
func LastSerialKey(view string, fqdn name.Name) Key {
	return Key{Kind: KindLastSerial, View: view, Name: fqdn}
}
func CutKey(parent, child string) Key { return Key{Kind: KindCut, Zone: parent, Object: child} }
func CountKey(zone, namespace string) Key {
	return Key{Kind: KindCount, Zone: zone, Namespace: namespace}
}
func MemberKey(zone string, owner name.Rel, namespace, object string) Key {
	return Key{Kind: KindMember, Zone: zone, Owner: owner, Namespace: namespace, Object: object}
}

// FloorKey asks for the serial that names begin with after a restore.
var FloorKey = Key{Kind: KindLastSerial}

// Seen holds the facts that a decision knows so far. A nil value is a fact, too: nothing stands there. A decision
// knows some ten facts, so they are a list. A name of 120 labels, or hosts of such names, take hundreds of facts:
// beyond FewKeys an index finds them.
type Seen struct {
	// Look puts a fact that is at hand into Seen, and reports whether it was at hand. With it a decision goes on
	// until it lacks a fact that has to be read. It may be nil.
	Look func(Key) bool

	facts []fact
	index map[Key]int
}

// FewKeys is the number of keys up to which a search through a list is cheapest.
const FewKeys = 32

type fact struct {
	key   Key
	value any
	// used says that the last decision rests on the fact.
	used bool
}

// NewSeen returns a Seen with room for the facts of an ordinary decision.
func NewSeen() *Seen { return &Seen{facts: make([]fact, 0, 12)} }

// Forget removes all facts and keeps the room.
func (s *Seen) Forget() {
	clear(s.facts)
	s.facts, s.index = s.facts[:0], nil
}

func (s *Seen) findFact(k Key) *fact {
	if s.index != nil {
		if i, ok := s.index[k]; ok {
			return &s.facts[i]
		}
		return nil
	}
	for i := range s.facts {
		if s.facts[i].key == k {
			return &s.facts[i]
		}
	}
	return nil
}

// lookUp finds a fact for a decision, which takes what is at hand.
func (s *Seen) lookUp(k Key) *fact {
	f := s.findFact(k)
	if f == nil && s.Look != nil && s.Look(k) {
		f = s.findFact(k)
	}
	return f
}

// Get returns a fact; false: it is not known.
func (s *Seen) Get(k Key) (any, bool) {
	if f := s.findFact(k); f != nil {
		return f.value, true
	}
	return nil, false
}

// Put adds or replaces a fact.
func (s *Seen) Put(k Key, v any) {
	if f := s.findFact(k); f != nil {
		f.value = v
		return
	}
	s.facts = append(s.facts, fact{key: k, value: v})
	switch n := len(s.facts); {
	case s.index != nil:
		s.index[k] = n - 1
	case n > FewKeys:
		s.index = make(map[Key]int, 4*n)
		for i := range s.facts {
			s.index[s.facts[i].key] = i
		}
	}
}

// Used reports whether the last decision rests on the fact. Other facts were at hand and made no difference.
func (s *Seen) Used(k Key) bool {
	f := s.findFact(k)
	return f != nil && f.used
}

// All lists the facts in the order in which they became known.
func (s *Seen) All() iter.Seq2[Key, any] {
	return func(yield func(Key, any) bool) {
		for i := range s.facts {
			if !yield(s.facts[i].key, s.facts[i].value) {
				return
			}
		}
	}
}

// Ref names a zone object.
type Ref struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// Holding is what the store has at (view, fqdn): the zone that has the name, and the little about that zone that
// changes rarely. Every write of the zone compares it, so each decision about the zone knows it.
//
// It is stored as one flat JSON object. The embedded structs say what each field is for.
type Holding struct {
	Ref
	// Target is the zone object that the zone's zoneRef names; nil: none. When that is made anew, the zone is told
	// (sayRenamed).
	Target *Ref `json:"target,omitempty"`
	Ancestry
	ApexNames
	SerialMarks
	Outstanding
	Deliverable
	// Delegations is how many Delegations are in force here (S4.3).
	Delegations int `json:"delegations,omitempty"`
}

// Ancestry says where a zone stands among the zones above it. A write that delegates the zone or makes it standalone
// sets all of it (setParent).
type Ancestry struct {
	// Parent is the enclosing zone that lists the name servers of this one; nil: standalone or not delegated.
	Parent *Ref `json:"parent,omitempty"`
	// Established says that the zone came to its name by the right to establish it, so no zone above ends it (S3.5).
	Established bool `json:"established,omitempty"`
	// Withdrawn is the uid of the zone above whose rules allow this zone no more, while its period runs; "": none
	// (S3.5). That zone is the Parent until then.
	Withdrawn string `json:"withdrawn,omitempty"`
	// Enclosed is the uid of the enclosing zone, whether that delegates this one or not; "": no zone encloses it.
	Enclosed string `json:"enclosed,omitempty"`
	// DS says that a rule of the enclosing zone which delegates this one has that zone contain its DS (S6.16).
	DS bool `json:"ds,omitempty"`
}

// ApexNames are the names in the data of records at the apex: they follow from these records alone (apexNames).
type ApexNames struct {
	// ApexNS are the values of the apex NS records as defined, sorted: they make
	// the cut in the parent, the SOA's mname (S6.5) and Servable.
	ApexNS []string `json:"apexNS,omitempty"`
	// ApexHosts are the hosts that MX, SVCB and HTTPS records of the zone's own namespace
	// at the apex name, as defined, each with the number of values that name it: those
	// and ApexNS are that namespace's (S4.10).
	ApexHosts map[string]int `json:"ownHosts,omitempty"`
}

// SerialMarks say which demands on the serial were met.
type SerialMarks struct {
	// MinimumConsumed is the spec.minimumSerial that was last used (S6.8).
	MinimumConsumed *uint32 `json:"minimumConsumed,omitempty"`
	// Repaired is when (unix seconds) the serial was last raised after a secondary (S6.11), 0 for never.
	Repaired int64 `json:"repaired,omitempty"`
}

// Outstanding is what later transactions have still to do here: each work is an outbox item.
type Outstanding struct {
	// Works are the cascades that stand against this zone: while there are any the zone is unsettled (S7.2).
	Works []StandingWork `json:"works,omitempty"`
}

// Deliverable says whether and since when the zone's content may be delivered (Settled).
type Deliverable struct {
	// Unsettled is since when some cascade has stood without a break: one after
	// the other must not hold the zone back longer than one alone (S7.2).
	Unsettled int64 `json:"unsettled,omitempty"`
	// Waived says until when (unix seconds) the cascades of other namespaces do not
	// unsettle this zone, because one of them took too long (S7.2).
	Waived int64 `json:"waived,omitempty"`
	// Overdue says that the standing works took too long: the zone is delivered as it is until they are through.
	Overdue bool `json:"overdue,omitempty"`
	// Held is set while the zone is not delivered because its own namespace removed too much of it; else nil (S7.5).
	Held *Held `json:"held,omitempty"`
}

// StandingWork marks a cascade at a zone it touches.
type StandingWork struct {
	ID string `json:"id"`
	// Losing is the uid of the zone that records come from; "": they come from none.
	Losing string `json:"losing,omitempty"`
	// Locks is the name at which they stand, and below which, until all have come (S2.10); zero: none is left.
	Locks name.Name `json:"locks,omitzero"`
	Since int64     `json:"since"`
	// By is the namespace that caused the cascade.
	By string `json:"by,omitempty"`
	// Own says that the zone's own namespace caused the cascade.
	Own bool `json:"own,omitempty"`
}

// Settled reports whether what the zone contains may be delivered.
func (h *Holding) Settled() bool { return h.Held == nil && (len(h.Works) == 0 || h.Overdue) }

// ZoneSettings is what a zone's object asks for and the standing zone has as it is asked for.
type ZoneSettings struct {
	ZoneRules
	MinimumSerial *uint32
	Terminating   bool
	// Grace is the number of seconds that a child stands after its rule went (S3.6).
	Grace int64
	// HasClass says that a class delivers it, so Ready waits for that.
	HasClass bool
	// MaxDeletePercent is the share of the zone's RRsets that its own namespace may remove at once. Publish is the
	// serial that the annotation names: what was removed since then is delivered; nil: none is named (S7.5).
	MaxDeletePercent int64
	Publish          *uint32
	// ReleaseNow are the namespaces for which the zone's own namespace ends the period of what the rules allow no more
	// (S3.6).
	ReleaseNow []string
	// DS are the data of the DS that its parent is to contain, sorted (S6.16). They are of the name that the zone has
	// in its object.
	DS []string
}

// ZoneRules is all by which a zone decides which records and zones it takes in. Where any of it changes, what stands is
// decided anew (changedRules, S2.5): so a setting that a decision about a record reads belongs here.
type ZoneRules struct {
	Rules []Rule
	// RecordsPerNamespace bounds what a namespace other than the zone's own may have in it; 0: no bound.
	RecordsPerNamespace int64
}

// Zone is a zone as its object says it is.
type Zone struct {
	Ref
	View   string
	Header content.Header
	// Made are the RRsets that spec.nameServers makes and MadeNames its hosts at or
	// below the apex, which are the zone's own namespace's (S6.2). Complete fills them.
	Made      []content.RRset
	MadeNames []name.Rel
	ZoneSettings
	// Pending says that the zone waits for the target of its zoneRef, or for a rule after it ended, and holds no name
	// (S3.2). ZoneRef is that target. Without one, Wanted is the name that the zone waits for.
	Pending bool
	ZoneRef *Ref
	Wanted  name.Name
	// Ending says that the zone is pending because it ended, and that what it had is not released yet. The zone is
	// not made anew until then, since its uid names the keys that go.
	Ending bool
	// Served says that the zone is delegated and servable, and that no class has anything of it. Where no class
	// delivers it, what is settled of it is Ready (S6.13).
	Served bool

	Serial serial.Serial
	// SettledSerial is the serial that was delivered when the zone was last written.
	SettledSerial serial.Serial
	N             uint64
	State         [32]byte
	// Rows and RRsets count what records and cuts give the zone.
	Rows, RRsets int
	Deletions    Deletions

	// given are the rules that Delegations add for one namespace, in a decision that has asked for them.
	given []Rule
}

// FQDN is the zone's name.
func (z *Zone) FQDN() name.Name { return z.Header.FQDN }

// Complete computes what follows from the header.
func (z *Zone) Complete() {
	z.Made, z.MadeNames = z.Header.NameServerRRsets(), nil
	for _, ns := range z.Header.NameServers {
		text, err := content.HostName(ns.Name, z.FQDN())
		if err != nil {
			continue
		}
		if n, err := name.Parse(text); err == nil {
			if rel, ok := n.Rel(z.FQDN()); ok {
				z.MadeNames = append(z.MadeNames, rel)
			}
		}
	}
}

func (z *Zone) madeAt(owner name.Rel) []content.RRset {
	var out []content.RRset
	for _, s := range z.Made {
		if s.Owner == owner {
			out = append(out, s)
		}
	}
	return out
}

// Digest identifies the rdata of a value as defined.
type Digest [sha256.Size]byte

// MarshalText writes raw base64, 43 characters, because the digest is in every owner key.
func (d Digest) MarshalText() ([]byte, error) {
	return base64.RawStdEncoding.AppendEncode(nil, d[:]), nil
}

// UnmarshalText reads what MarshalText writes.
func (d *Digest) UnmarshalText(text []byte) error {
	b, err := base64.RawStdEncoding.DecodeString(string(text))
	if err != nil || len(b) != len(d) {
		return fmt.Errorf("%q is no digest", text)
	}
	copy(d[:], b)
	return nil
}

// DigestOf hashes an rdata as defined.
func DigestOf(data string) Digest { return sha256.Sum256([]byte(data)) }

// OwnerValue is one distinct (type, rdata, ttl) at an owner. Count is the number of objects that give it.
type OwnerValue struct {
	Type   rdata.Type `json:"t"`
	Digest Digest     `json:"d"`
	// TTL is nil when it is inherited from the zone.
	TTL   *uint32 `json:"l,omitempty"`
	Count int     `json:"c"`
	// Size is the rdata's length on the wire in octets.
	Size int `json:"s"`
}

// Owner is what the records of a zone put at one name.
type Owner struct {
	Values []OwnerValue `json:"v,omitempty"`
	// Cut are the values that the cuts of delegated children add here (S6.1), without sizes. While records pass to or
	// from a child, the child and its records may give the same RRset, which the definition has once.
	Cut []OwnerValue `json:"x,omitempty"`
	// Claims count the records of which this is the base name, by namespace (S4.7). They are here because every
	// decision looks at the owners above its name.
	Claims []Claim `json:"k,omitempty"`
}

// Claim is what one namespace has at a base name: the number of its records by the rule that admitted them (S4.17).
// Records of tenants that an underscore rule admitted claim nothing, and are not counted (S4.14).
type Claim struct {
	Namespace  string `json:"n"`
	Plain      int    `json:"p,omitempty"`
	Literal    int    `json:"l,omitempty"`
	Shared     int    `json:"s,omitempty"`
	Underscore int    `json:"u,omitempty"`
}

// Count is the number of records that a namespace has in a zone.
type Count struct {
	Records int64 `json:"c"`
}

// Admission says by which kind of rule a record was admitted.
type Admission string

const (
	// AdmittedUnderscore is by a rule that names every underscore label literally. A record of the zone's own namespace
	// at such a name is so, too.
	AdmittedUnderscore Admission = "underscore"
	// AdmittedShared is by a rule with shared: true.
	AdmittedShared Admission = "shared"
	// AdmittedLiteral is by a rule that names the very name.
	AdmittedLiteral Admission = "literal"
	// AdmittedPlain is by any other rule. All other records of the zone's own namespace are so, too.
	AdmittedPlain Admission = "plain"
)

// Member is a record's place in a zone.
type Member struct {
	UID       string    `json:"uid"`
	Admission Admission `json:"a"`
	// Created is the object's creation time, unix seconds: the order of S2.7.
	Created int64 `json:"t"`
}

// OwnersBelow is what records put strictly below a name.
type OwnersBelow struct {
	// Names is the number of names with data of records.
	Names int
	// Claims sums up the claims there, by namespace.
	Claims []Claim
}

// Add counts one owner.
func (b *OwnersBelow) Add(o *Owner) {
	if len(o.Values) > 0 {
		b.Names++
	}
	for _, c := range o.Claims {
		i := slices.IndexFunc(b.Claims, func(x Claim) bool { return x.Namespace == c.Namespace })
		if i < 0 {
			b.Claims = append(b.Claims, c)
			continue
		}
		x := &b.Claims[i]
		x.Plain, x.Literal, x.Shared, x.Underscore = x.Plain+c.Plain, x.Literal+c.Literal, x.Shared+c.Shared, x.Underscore+c.Underscore
	}
}

// ZoneBelow is one zone of ZonesBelow.
type ZoneBelow struct {
	FQDN name.Name
	Holding
}

// ZonesBelow lists the zones at or below a name, in key order.
type ZonesBelow struct{ Zones []ZoneBelow }

// LastSerial is the last serial a name had, kept for expire seconds, 60 days at most (S6.8).
type LastSerial struct {
	Serial serial.Serial `json:"serial"`
	// Left is the number of seconds for which it is still kept.
	Left int64 `json:"left,omitempty"`
	// Jump is the number by which the restores that left this floor raised serials, at least; 0 for the serial of a
	// name.
	Jump uint32 `json:"jump,omitempty"`
	// By is the namespace of the zone that had the name.
	By string `json:"by,omitempty"`
	// Zone is the uid of the zone that was removed there, or ended. While the cascade of
	// that zone stands, a zone that is made anew at the name takes in what stood there (S2.10).
	Zone string `json:"zone,omitempty"`
}

// Foreign is what other namespaces have in a zone (S8.1).
type Foreign struct {
	Count      int64
	Namespaces []string
	// Names are the first of them.
	Names []name.Name
	// More says that not all was looked at.
	More bool
}

// FirstKeys bounds how much is looked at for Foreign, and FirstNames how many names it has.
const (
	FirstKeys  = 1000
	FirstNames = 5
)

// Add counts what a namespace has at a name, in a zone of own.
func (f *Foreign) Add(own, namespace string, count int64, at name.Name) {
	if namespace == own {
		return
	}
	f.Count += count
	if !slices.Contains(f.Namespaces, namespace) {
		f.Namespaces = append(f.Namespaces, namespace)
	}
	if !at.IsZero() && len(f.Names) < FirstNames && !slices.Contains(f.Names, at) {
		f.Names = append(f.Names, at)
	}
}

// AddZone counts a zone below for a fact of KindForeignZones, if the zone of that delegates it, or has withdrawn the
// rule for it.
func (f *Foreign) AddZone(k Key, at name.Name, h *Holding) {
	if h.Parent != nil && h.Parent.UID == k.Object {
		f.Add(k.Namespace, h.Namespace, 1, at)
	}
}
