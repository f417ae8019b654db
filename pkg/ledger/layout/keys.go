// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
)

// Keys makes and reads the keys in etcd. The internal keys stand outside every prefix that an API watch follows.
// Names are written label-reversed, so that a name and all names below it are one range (name.Name.Key).
type Keys struct {
	// Prefix is that of the whole server, without a trailing slash: "/registry/kubizone".
	Prefix string
}

// defaultView stands for the empty view in keys; no RFC 1123 label looks like it.
const defaultView = "@"

// byReference stands in a view's place for objects that wait for a zone object, not for a name.
const byReference = "@ref"

// Object is the key of an object of the group.
func (k Keys) Object(resource, namespace, object string) string {
	return k.Prefix + "/kubi.zone/" + resource + "/" + namespace + "/" + object
}

// Delegation is the key of a Delegation object.
func (k Keys) Delegation(namespace, object string) string {
	return k.Object("delegations", namespace, object)
}

// Zone is the key of a Zone object.
func (k Keys) Zone(namespace, object string) string { return k.Object("zones", namespace, object) }

// Record is the key of a Record object.
func (k Keys) Record(namespace, object string) string {
	return k.Object("records", namespace, object)
}

// Objects is the prefix of all objects of a resource: "zones" of kubi.zone, or one of another group with that, as
// "bind9clusters.bind9.kubi.zone".
func (k Keys) Objects(resource string) string {
	resource, group, ok := strings.Cut(resource, ".")
	if !ok {
		group = "kubi.zone"
	}
	return k.Prefix + "/" + group + "/" + resource + "/"
}

// ObjectName splits an object's key.
func (k Keys) ObjectName(key string) (namespace, object string, ok bool) {
	rest := key[strings.LastIndexByte(key, '/')+1:]
	head := strings.TrimSuffix(key, "/"+rest)
	i := strings.LastIndexByte(head, '/')
	if i < 0 || rest == "" {
		return "", "", false
	}
	return head[i+1:], rest, true
}

// Resources are those whose objects stand here. Each counts the versions of its objects for itself (subrev), so a new
// kind is named here before one of it is written.
var Resources = append([]string{"zones", "records", "delegations", "deliveries", "dnsclasses", "updatekeys"}, FleetResources...)

// FleetResources are those of the servers that zones are delivered to. No decision reads them.
var FleetResources = []string{"bind9clusters.bind9.kubi.zone", "bind9instances.bind9.kubi.zone", "clusterbind9providers.bind9.kubi.zone"}

// Internal is the prefix of every key that is the ledger's own.
func (k Keys) Internal() string { return k.Prefix + "/ledger/" }

// Room is the prefix of one kind of internal keys.
func (k Keys) Room(room string) string { return k.Internal() + room + "/" }

// Config is the key of the store's format.
func (k Keys) Config() string { return k.Internal() + "config" }

// Asked is the key by which a server asks the others for the next commit at a zone. It is overwritten each time, and
// only time rests on it.
func (k Keys) Asked() string { return k.Internal() + "asked" }

func viewKey(view string) string {
	if view == "" {
		return defaultView
	}
	return view
}

// Key is the key, or for the kinds that ask about a range the prefix, of a fact.
func (k Keys) Key(f law.Key) string {
	switch f.Kind {
	case law.KindHolding, law.KindZonesBelow:
		return k.Room("names") + viewKey(f.View) + "/" + f.Name.Key()
	case law.KindLastSerial:
		if f.Name.IsZero() {
			return k.Room("serials") + "@floor" // no view is called so: it has no "/"
		}
		return k.Room("serials") + viewKey(f.View) + "/" + f.Name.Key()
	case law.KindZone:
		return k.Zone(f.Namespace, f.Object)
	case law.KindOwner, law.KindOwnersBelow:
		return k.Room("owners") + f.Zone + "/" + f.Owner.Key()
	case law.KindCut:
		return k.Cut(f.Zone, f.Object)
	case law.KindRules:
		return k.Room("rules") + f.Zone + "/" + f.Namespace
	case law.KindWork:
		return k.Outbox(f.Object)
	case law.KindWithdrawal:
		return k.Room("withdrawn") + f.Object + "/" + f.Namespace
	case law.KindAwaited:
		if !f.Name.IsZero() {
			return k.WaitingAt(f.View, f.Name, true) + WaitingRecord + "/" + f.Namespace + "/"
		}
		return k.WaitingFor(&law.Ref{Namespace: f.Namespace, Name: f.Object}) + WaitingDelegation + "/"
	case law.KindTouched:
		switch {
		case f.Name.IsZero():
			return k.WaitingFor(&law.Ref{Namespace: f.Namespace, Name: f.Object})
		case f.Object == "":
			return k.WaitingAt(f.View, f.Name, false)
		}
		return k.Key(law.ZonesBelowKey(f.View, f.Name))
	case law.KindCount:
		return k.Room("counts") + f.Zone + "/" + f.Namespace
	case law.KindMember:
		return k.Room("members") + f.Zone + "/" + f.Owner.Key() + "/" + f.Namespace + "/" + f.Object
	case law.KindForeign:
		switch {
		case f.Zone == "":
			return k.Key(law.Key{Kind: law.KindZonesBelow, View: f.View, Name: f.Name})
		case f.Name.IsZero():
			return k.Room("counts") + f.Zone + "/"
		}
		return k.Room("members") + f.Zone + "/"
	}
	panic(fmt.Sprintf("no key for a fact of kind %d", f.Kind)) // a new kind without a key is a bug of this package
}

// IsRange reports whether a fact is about everything under its key.
func IsRange(k law.Key) bool {
	return k.Kind == law.KindZonesBelow || k.Kind == law.KindOwnersBelow || k.Kind == law.KindForeign || k.Kind == law.KindAwaited ||
		k.Kind == law.KindTouched
}

// MostKeys is the number of keys that are read for a fact about a range; 0: all. No refusal rests on what stands below
// the apex of a zone, which are all of its owners.
func MostKeys(k law.Key) int64 {
	if k.Kind == law.KindForeign && !k.Name.IsZero() || k.Kind == law.KindOwnersBelow && k.Owner.IsApex() {
		return law.FirstKeys
	} else if k.Kind == law.KindAwaited || k.Kind == law.KindTouched {
		return 1
	}
	return 0
}

// Rooms are the kinds of internal keys, in key order; beside them there are only asked and config.
var Rooms = []string{"condensed", "counts", "cuts", "debts", "journal", "members", "names",
	"orphans", "outbox", "owners", "rules", "serials", "withdrawn"}

// ZoneRooms are the kinds of keys of a zone that are purged with it, in this order. A zone that is made at the name
// meanwhile reads members of the earlier zone (law.LastSerial.Zone); once the records of that are released they have
// no reader (S2.10). The last kinds say what of a zone is to be withdrawn from a provider that
// cannot list what it has.
var ZoneRooms = []string{"members", "counts", "cuts", "debts", "rules", "withdrawn",
	"owners", "journal", "condensed"}

// OwnRooms is the number of the first ZoneRooms that are purged of an ended zone while it is still delivered.
const OwnRooms = 6

// Journal is the prefix of a zone's journal, Step the key of the transaction that ended with step n.
func (k Keys) Journal(zone string) string { return k.Room("journal") + zone + "/" }

func (k Keys) Step(zone string, n uint64) string {
	return k.Journal(zone) + fmt.Sprintf("%016x", n)
}

// StepSettled marks a change of Settled without a step: it stands behind the step
// it follows and is written anew each time.
func (k Keys) StepSettled(zone string, n uint64) string { return k.Step(zone, n) + ".settled" }

// ParseStep reads zone and step from a journal key.
func (k Keys) ParseStep(key string) (zone string, n uint64, ok bool) {
	rest, ok := strings.CutPrefix(key, k.Room("journal"))
	if !ok {
		return "", 0, false
	}
	zone, count, ok := strings.Cut(rest, "/")
	if !ok {
		return "", 0, false
	}
	count, _, _ = strings.Cut(count, ".")
	n, err := strconv.ParseUint(count, 16, 64)
	return zone, n, err == nil
}

// Cut is the key of what a parent counts of a child (law.CountedCut), PendingCut that of what it has to count yet
// (law.PendingCut), and Outbox that of a work item.
func (k Keys) Cut(parent, child string) string        { return k.Room("cuts") + parent + "/" + child }
func (k Keys) PendingCut(parent, child string) string { return k.Room("debts") + parent + "/" + child }
func (k Keys) Outbox(id string) string                { return k.Room("outbox") + id }

// Objects of the three resources that wait are told apart in orphans/ by one letter.
const (
	WaitingDelegation = "d"
	WaitingRecord     = "r"
	WaitingZone       = "z"
)

// WaitingLetter is that of a resource.
func WaitingLetter(resource string) string {
	switch resource {
	case "zones":
		return WaitingZone
	case "delegations":
		return WaitingDelegation
	}
	return WaitingRecord
}

// Waiting returns the keys under which something that waits is found again. resource is "records", "zones" or
// "delegations".
func (k Keys) Waiting(w *law.Waiting, resource, namespace, object string) []string {
	var keys []string
	suffix := "/" + WaitingLetter(resource) + "/" + namespace + "/" + object
	if !w.FQDN.IsZero() {
		keys = append(keys, k.Room("orphans")+viewKey(w.View)+"/"+w.FQDN.Key()+suffix)
	}
	if w.Zone != nil {
		keys = append(keys, k.Room("orphans")+byReference+"/"+w.Zone.Namespace+"/"+w.Zone.Name+suffix)
	}
	return keys
}

// WaitingAt is the prefix of what waits at a name, or at and below it.
func (k Keys) WaitingAt(view string, n name.Name, exact bool) string {
	p := k.Room("orphans") + viewKey(view) + "/" + n.Key()
	if exact {
		p += "/"
	}
	return p
}

// WaitingFor is the prefix of what waits for a Zone object.
func (k Keys) WaitingFor(target *law.Ref) string {
	return k.Room("orphans") + byReference + "/" + target.Namespace + "/" + target.Name + "/"
}

// WaitingObject reads letter, namespace and object from the end of a waiting key.
func WaitingObject(key string) (letter, namespace, object string, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) < 3 {
		return "", "", "", false
	}
	t := parts[len(parts)-3:]
	return t[0], t[1], t[2], true
}

// Waiter is the value of a waiting key.
type Waiter struct {
	UID     string `json:"uid"`
	Created int64  `json:"t"`
	// Moves says that the record has left a zone for another one, see law.Waiting.
	Moves bool `json:"m,omitempty"`
	// KeptOut is the namespace that held the name, see law.Waiting.
	KeptOut string `json:"k,omitempty"`
}

// MembersBelow is the prefix of the members at and below an owner.
func (k Keys) MembersBelow(zone string, owner name.Rel) string {
	return k.Room("members") + zone + "/" + owner.Key()
}

// ParseMember reads zone, owner, namespace and object from a member key.
func (k Keys) ParseMember(key string) (zone string, owner name.Rel, namespace, object string, err error) {
	rest, _ := strings.CutPrefix(key, k.Room("members"))
	zone, rest, _ = strings.Cut(rest, "/")
	j := strings.LastIndexByte(rest, '/')
	if j < 0 {
		return "", owner, "", "", fmt.Errorf("%q is no member key", key)
	}
	rest, object = rest[:j], rest[j+1:]
	i := strings.LastIndexByte(rest, '/')
	if i < 0 {
		return "", owner, "", "", fmt.Errorf("%q is no member key", key)
	}
	rest, namespace = rest[:i], rest[i+1:]
	owner, err = name.RelFromKey(rest)
	return zone, owner, namespace, object, err
}

// ParseName reads view and fqdn from a names/ or serials/ key.
func (k Keys) ParseName(room, key string) (view string, fqdn name.Name, err error) {
	rest, _ := strings.CutPrefix(key, k.Room(room))
	view, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return "", name.Name{}, fmt.Errorf("%q is no key of %s/", key, room)
	}
	if view == defaultView {
		view = ""
	}
	fqdn, err = name.FromKey(rest)
	return view, fqdn, err
}

// ParseWithdrawal reads a key of withdrawn/.
func (k Keys) ParseWithdrawal(key string) (law.Key, error) {
	zone, namespace, ok := strings.Cut(strings.TrimPrefix(key, k.Room("withdrawn")), "/")
	if !ok {
		return law.Key{}, fmt.Errorf("%q is no key of withdrawn/", key)
	}
	return law.WithdrawalKey(zone, namespace), nil
}

// ParseOwner reads zone and owner from a key of owners/.
func (k Keys) ParseOwner(key string) (zone string, owner name.Rel, err error) {
	rest, _ := strings.CutPrefix(key, k.Room("owners"))
	zone, rest, _ = strings.Cut(rest, "/")
	owner, err = name.RelFromKey(rest)
	return zone, owner, err
}

// These are estimates of what the ledger's own keys take: those of a Record or Zone that have its name in them, and
// the journal of a zone with small changes. JournalSteps and JournalOctets of package journal bound the journal of a
// zone.
const (
	namesOctets = 1 << 10
	stepsOctets = 16 << 10
	// dataOctets are those of one value of a Record in the fact of its name, however short it is.
	dataOctets = 80
)

// StoredOctets is what an object takes in etcd: its key, its form of so many octets and, as an
// estimate, the ledger's own keys. values are a Record's, or the namespaces of a Delegation, each of which has its
// rule in a key of its own.
func (k Keys) StoredOctets(key string, octets, values int) int64 {
	stored := int64(len(key)+octets) + namesOctets + int64(values)*dataOctets
	switch {
	case strings.HasPrefix(key, k.Objects("zones")):
		stored += stepsOctets
	case strings.HasPrefix(key, k.Objects("delegations")):
		stored += int64(values) * int64(octets)
	}
	return stored
}

// Condensed is the key that says what is condensed of a zone's journal up to which step, CondensedPart one of its
// parts.
func (k Keys) Condensed(zone string) string { return k.Room("condensed") + zone + "/" }

func (k Keys) CondensedPart(zone string, n uint64, part int) string {
	return k.Condensed(zone) + fmt.Sprintf("%016x/%08x", n, part)
}

// MigrationLock is the key of the lock of migrations; it stands beside the internal keys, and is never encrypted.
func (k Keys) MigrationLock() string { return k.Prefix + "/migrating" }

// WaitingValue is the value under each of the keys of Waiting; moves as in law.Waiting.
func WaitingValue(uid string, created int64, moves bool) string {
	return string(Encode(Waiter{UID: uid, Created: created, Moves: moves}))
}
