// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"kubi.zone/kubizone/pkg/dns/name"
)

// Kind is the kind of a fact. Each comment gives the fields of the key and, after the colon, the type of the value.
type Kind uint8

const (
	// KindHolding is the zone named (View, Name): *Holding.
	KindHolding Kind = iota + 1
	// KindZone is the zone object (Namespace, Object): *Zone.
	KindZone
	KindOwner
	// KindCount is the number of Namespace's records in Zone: *Count.
	KindCount
	// KindMember is a record of Zone (MemberKey): *Member. Only cascades read it.
	KindMember
	// KindOwnersBelow sums up the owners strictly below Owner in Zone: *OwnersBelow. Below the apex, only the first
	// FirstKeys count.
	KindOwnersBelow
	// KindZonesBelow lists the zones at or below (View, Name): *ZonesBelow.
	KindZonesBelow
	// KindLastSerial is the last serial of a removed zone at (View, Name): *LastSerial. Without a name: FloorKey.
	KindLastSerial
	// KindCut is the cut in Zone of the delegated child with uid Object, or the PTR at PTRObject: *CountedCut.
	KindCut
	// KindAddressed are the addresses in Zone of the name Owner in the zone with uid Object: *Addressed.
	KindAddressed
	// KindReverseLinks are the reverse zones of the zone object (Namespace, Object): *ReverseLinks.
	KindReverseLinks
	// KindRules are the rules of Delegations for Namespace in Zone: *NamespaceRules.
	KindRules
	// KindWork is the outbox item with id Object: *Work.
	KindWork
	// KindWithdrawal is the withdrawal of Namespace in the zone with uid Object: *Withdrawal.
	KindWithdrawal
	// KindForeign is data of namespaces other than Namespace: *Foreign.
	//   - Zone: the number of records
	//   - Zone, Name: names of records, among the first FirstKeys
	//   - Zone, Owner: records at this name, among the first FirstKeys, without Names
	//   - View, Name, Object (the zone's uid): delegated zones, among the first FirstKeys below
	KindForeign
	// KindAwaited reports whether Delegations wait for the zone object (Namespace, Object), or Records of Namespace at
	// (View, Name): *Awaited.
	KindAwaited
	// KindTouched reports whether a new zone or record affects anything: *Awaited. The value may be stale: no refusal
	// depends on it, and a cascade scans again.
	//   - Namespace, Object: objects that wait for this zone object, or zones elsewhere that refer to it
	//   - View, Name: objects that wait at or below the name
	//   - all four: names of zones there
	//   - Zone, Owner: names with data at or below the owner, among the first FirstOwners
	KindTouched
	// KindDue is the time At at which the Record (Namespace, Object) expires: *Due. No decision reads it.
	KindDue
)

// Key names a fact. Zone is a uid. Fields that the Kind does not use are zero.
type Key struct {
	Kind      Kind
	Zone      string
	View      string
	Name      name.Name
	Owner     name.Rel
	Namespace string
	Object    string
	At        int64
}

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
func AddressedKey(zone, from string, owner name.Rel) Key {
	return Key{Kind: KindAddressed, Zone: zone, Object: from, Owner: owner}
}
func ReverseLinksKey(namespace, object string) Key {
	return Key{Kind: KindReverseLinks, Namespace: namespace, Object: object}
}
func CountKey(zone, namespace string) Key {
	return Key{Kind: KindCount, Zone: zone, Namespace: namespace}
}

func MemberKey(zone string, owner name.Rel, namespace, object string) Key {
	return Key{Kind: KindMember, Zone: zone, Owner: owner, Namespace: namespace, Object: object}
}

func ForeignRecordsKey(z *Zone) Key {
	return Key{Kind: KindForeign, Zone: z.UID, Namespace: z.Namespace}
}
func ForeignNamesKey(z *Zone) Key {
	return Key{Kind: KindForeign, Zone: z.UID, Name: z.FQDN(), Namespace: z.Namespace}
}
func ForeignAtKey(zone string, owner name.Rel, namespace string) Key {
	return Key{Kind: KindForeign, Zone: zone, Owner: owner, Namespace: namespace}
}
func ForeignZonesKey(z *Zone) Key {
	return Key{Kind: KindForeign, View: z.View, Name: z.FQDN(), Namespace: z.Namespace, Object: z.UID}
}

func AwaitedKey(namespace, object string) Key {
	return Key{Kind: KindAwaited, Namespace: namespace, Object: object}
}

func RecordsAwaitKey(view string, fqdn name.Name, namespace string) Key {
	return Key{Kind: KindAwaited, View: view, Name: fqdn, Namespace: namespace}
}

func TouchedKeys(namespace, object, view string, fqdn name.Name) []Key {
	return []Key{{Kind: KindTouched, Namespace: namespace, Object: object}, {Kind: KindTouched, View: view, Name: fqdn},
		{Kind: KindTouched, View: view, Name: fqdn, Namespace: namespace, Object: object}}
}

// DataBelowKey returns the key of whether records or cuts exist at or below an owner.
func DataBelowKey(zone string, owner name.Rel) Key {
	return Key{Kind: KindTouched, Zone: zone, Owner: owner}
}

// Awaited reports whether there are objects. Count is for Records that wait at a name, up to MaxWaiting.
type Awaited struct {
	Any   bool
	Count int
}

// FirstOwners bounds the names read for a DataBelowKey: more than a Delegation reserves. If none of so many has data,
// further ones are taken to have some, because a write must not read 100,000 names for a Warning.
const FirstOwners = 64

// MaxWaiting bounds the Records of a namespace that a client lets wait at a name of a zone, and those whose keys a
// deletion there reads. More may wait since before the zone.
const MaxWaiting = 16

// FloorKey is the key of the least serial after a restore. A zone without a last serial continues from it.
var FloorKey = Key{Kind: KindLastSerial}

// WithdrawalKey returns the key of a Withdrawal. A transaction compares the revision of this key itself, because writes
// of zones below change it.
func WithdrawalKey(zone, namespace string) Key {
	return Key{Kind: KindWithdrawal, Object: zone, Namespace: namespace}
}

func RulesKey(zone, namespace string) Key {
	return Key{Kind: KindRules, Zone: zone, Namespace: namespace}
}

func WorkKey(id string) Key { return Key{Kind: KindWork, Object: id} }

// DueKey returns the key of a Record that expires at a time in Unix seconds.
func DueKey(at int64, namespace, object string) Key {
	return Key{Kind: KindDue, At: at, Namespace: namespace, Object: object}
}
