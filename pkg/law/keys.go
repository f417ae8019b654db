// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"kubi.zone/kubizone/pkg/dns/name"
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
	// KindMember is no question: see MemberKey.
	KindMember
	// KindOwnersBelow asks what stands strictly below Owner in the zone with uid Zone: *OwnersBelow. Below the apex it
	// asks about the first FirstKeys owners.
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
	// KindForeign asks what other namespaces than Namespace have in a zone: *Foreign. With Zone alone, its uid, it asks
	// how many records; with Name, that of the zone, too, at which names these are, as far as the first FirstKeys of
	// all records show it; with View, Name and Object, its uid, which of the first FirstKeys zones below it delegates.
	KindForeign
	// KindAwaited asks whether Delegations wait for the zone object (Namespace, Object), or Records of Namespace at
	// (View, Name): *Awaited.
	KindAwaited
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

// There is one constructor for each question.
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

// MemberKey is where a decision writes that the record (Namespace, Object) stands at Owner in the zone with that uid:
// *Member. Cascades find it there, and no decision asks for it, since the record's own object says all of it.
func MemberKey(zone string, owner name.Rel, namespace, object string) Key {
	return Key{Kind: KindMember, Zone: zone, Owner: owner, Namespace: namespace, Object: object}
}

func ForeignRecordsKey(z *Zone) Key {
	return Key{Kind: KindForeign, Zone: z.UID, Namespace: z.Namespace}
}
func ForeignNamesKey(z *Zone) Key {
	return Key{Kind: KindForeign, Zone: z.UID, Name: z.FQDN(), Namespace: z.Namespace}
}
func ForeignZonesKey(z *Zone) Key {
	return Key{Kind: KindForeign, View: z.View, Name: z.FQDN(), Namespace: z.Namespace, Object: z.UID}
}

// AwaitedKey asks whether Delegations wait for a zone object.
func AwaitedKey(namespace, object string) Key {
	return Key{Kind: KindAwaited, Namespace: namespace, Object: object}
}

// RecordsAwaitKey asks whether Records of a namespace wait at a name.
func RecordsAwaitKey(view string, fqdn name.Name, namespace string) Key {
	return Key{Kind: KindAwaited, View: view, Name: fqdn, Namespace: namespace}
}

// Awaited reports whether anything waits.
type Awaited struct{ Any bool }

// FloorKey asks for the serial that names begin with after a restore.
var FloorKey = Key{Kind: KindLastSerial}

// WithdrawalKey asks for what a namespace has left in the zone with that uid: *Withdrawal. Zones below change it
// together with their own object, so it stands for itself, and is compared by its own revision.
func WithdrawalKey(zone, namespace string) Key {
	return Key{Kind: KindWithdrawal, Object: zone, Namespace: namespace}
}

// RulesKey asks for what Delegations give a namespace in a zone: *NamespaceRules.
func RulesKey(zone, namespace string) Key {
	return Key{Kind: KindRules, Zone: zone, Namespace: namespace}
}

// WorkKey asks for an outbox item: *Work.
func WorkKey(id string) Key { return Key{Kind: KindWork, Object: id} }
