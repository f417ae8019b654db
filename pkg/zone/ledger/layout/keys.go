// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
)

type Keys struct {
	// Prefix is the prefix of all keys without a trailing slash, such as "/registry/kubizone".
	Prefix string
}

// defaultView replaces the empty view, since "@" is no RFC 1123 label.
const defaultView = "@"

const byReference = "@ref"

func (k Keys) Object(resource, namespace, object string) string {
	return k.Prefix + "/kubi.zone/" + resource + "/" + namespace + "/" + object
}

func (k Keys) Delegation(namespace, object string) string {
	return k.Object("delegations", namespace, object)
}

func (k Keys) Zone(namespace, object string) string { return k.Object("zones", namespace, object) }

func (k Keys) Record(namespace, object string) string {
	return k.Object("records", namespace, object)
}

// Objects returns the prefix of a resource's objects. Resources of other groups include the group:
// "bind9clusters.bind9.kubi.zone".
func (k Keys) Objects(resource string) string {
	resource, group, ok := strings.Cut(resource, ".")
	if !ok {
		group = "kubi.zone"
	}
	return k.Prefix + "/" + group + "/" + resource + "/"
}

// ObjectName returns namespace and name of an object's key. For an object without a namespace, such as a DNSClass, the
// namespace is the last part of the prefix.
func (k Keys) ObjectName(key string) (namespace, object string, ok bool) {
	rest := key[strings.LastIndexByte(key, '/')+1:]
	head := strings.TrimSuffix(key, "/"+rest)
	i := strings.LastIndexByte(head, '/')
	if i < 0 || rest == "" {
		return "", "", false
	}
	return head[i+1:], rest, true
}

// Resources lists the store's resources, each with its own versions (package subrev). A new kind must be listed before
// its first object is written.
var Resources = append([]string{"zones", "records", "delegations", "deliveries", "dnsclasses", "updatekeys"}, FleetResources...)

var FleetResources = []string{"bind9clusters.bind9.kubi.zone", "bind9instances.bind9.kubi.zone", "clusterbind9providers.bind9.kubi.zone"}

func (k Keys) Internal() string { return k.Prefix + "/ledger/" }

func (k Keys) Room(room string) string { return k.Internal() + room + "/" }

func (k Keys) Config() string { return k.Internal() + "config" }

// YieldRequest returns the key by which a server asks the others for the next commit at a zone.
func (k Keys) YieldRequest() string { return k.Internal() + "asked" }

func viewKey(view string) string {
	if view == "" {
		return defaultView
	}
	return view
}

// Key returns the key of a fact (a value read by decisions), or the prefix of a range.
func (k Keys) Key(f law.Key) string {
	switch f.Kind {
	case law.KindHolding, law.KindZonesBelow:
		return k.Room("names") + viewKey(f.View) + "/" + f.Name.Key()
	case law.KindLastSerial:
		if f.Name.IsZero() {
			return k.Room("serials") + "@floor" // no view has this name: there is no "/"
		}
		return k.Room("serials") + viewKey(f.View) + "/" + f.Name.Key()
	case law.KindZone:
		return k.Zone(f.Namespace, f.Object)
	case law.KindOwner, law.KindOwnersBelow:
		return k.Room("owners") + f.Zone + "/" + f.Owner.Key()
	case law.KindCut:
		return k.Cut(f.Zone, f.Object)
	case law.KindAddressed:
		return k.Room("addressed") + f.Zone + "/" + f.Object + "/" + f.Owner.Key()
	case law.KindReverseLinks:
		return k.Room("reverse") + f.Namespace + "/" + f.Object
	case law.KindRules:
		return k.Room("rules") + f.Zone + "/" + f.Namespace
	case law.KindWork:
		return k.Outbox(f.Object)
	case law.KindWithdrawal:
		return k.Room("withdrawn") + f.Object + "/" + f.Namespace
	case law.KindAwaited:
		// Records of the namespace that wait at the name, or Delegations that wait for the Zone.
		if !f.Name.IsZero() {
			return k.WaitingAt(f.View, f.Name, true) + WaitingRecord + "/" + f.Namespace + "/"
		}
		return k.WaitingFor(&law.Ref{Namespace: f.Namespace, Name: f.Object}) + WaitingDelegation + "/"
	case law.KindTouched:
		// The set fields choose the question, as listed at law.KindTouched.
		switch {
		case f.Zone != "":
			return k.Key(law.OwnersBelowKey(f.Zone, f.Owner))
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
	case law.KindDue:
		return k.DueUntil(f.At) + "/" + f.Namespace + "/" + f.Object
	case law.KindForeign:
		// The set fields choose the question, as listed at law.KindForeign.
		switch {
		case f.Zone == "":
			return k.Key(law.Key{Kind: law.KindZonesBelow, View: f.View, Name: f.Name})
		case !f.Owner.IsZero():
			return k.MembersBelow(f.Zone, f.Owner) + "/"
		case f.Name.IsZero():
			return k.Room("counts") + f.Zone + "/"
		}
		return k.Room("members") + f.Zone + "/"
	}

	panic(fmt.Sprintf("no key for a fact of kind %d", f.Kind))
}

// IsRange reports whether a fact covers all keys under a prefix.
func IsRange(k law.Key) bool {
	return k.Kind == law.KindZonesBelow || k.Kind == law.KindOwnersBelow || k.Kind == law.KindForeign || k.Kind == law.KindAwaited ||
		k.Kind == law.KindTouched
}

// MostKeys bounds the keys read for a range; 0 means all. No refusal depends on the owners below an apex.
func MostKeys(k law.Key) int64 {
	switch k.Kind {
	case law.KindTouched:
		if k.Zone != "" {
			return law.FirstOwners
		}
		return 1
	case law.KindAwaited:
		if !k.Name.IsZero() {
			return law.MaxWaiting
		}
		return 1
	case law.KindForeign:
		isOfCounts := k.Name.IsZero() && k.Owner.IsZero()
		if !isOfCounts {
			return law.FirstKeys
		}
	case law.KindOwnersBelow:
		if k.Owner.IsApex() {
			return law.FirstKeys
		}
	}
	return 0
}

// Rooms lists the rooms in key order. The keys asked and config are in none.
var Rooms = []string{"addressed", "archived", "before", "condensed", "counts", "cuts", "debts", "due", "history", "journal", "members",
	"names", "orphans", "outbox", "owners", "reverse", "rules", "serials", "shares", "withdrawn"}

// ZoneRooms lists the rooms purged with a zone, in order, once its Records are released. The last name the RRsets to
// withdraw from providers that cannot list them.
var ZoneRooms = []string{"members", "counts", "addressed", "cuts", "debts", "rules", "withdrawn",
	"owners", "journal", "condensed"}

// OwnRooms is how many of the first ZoneRooms are purged while providers still have an ended zone.
const OwnRooms = 7

// Journal returns the prefix journal/<uid>/. Step returns the key of a transaction, given its last step.
func (k Keys) Journal(zone string) string { return k.Room("journal") + zone + "/" }

func (k Keys) Step(zone string, n uint64) string {
	return k.Journal(zone) + fmt.Sprintf("%016x", n)
}

// StepSettled returns the key of a change of Settled after step n, without a step.
func (k Keys) StepSettled(zone string, n uint64) string { return k.Step(zone, n) + ".settled" }

// ParseStep returns zone and number of a journal key, of a step or a mark such as ".settled". Other keys are not ok.
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

// DueUntil returns the end of the due keys of earlier times than a time in Unix seconds, and the beginning of later
// ones. The digits of a time from 1970 to 9999 sort like the time.
func (k Keys) DueUntil(at int64) string { return k.Room("due") + fmt.Sprintf("%012d", at) }

// ParseDue returns the time in Unix seconds, the namespace and the Record of a due key.
func (k Keys) ParseDue(key string) (law.Key, error) {
	parts := strings.Split(strings.TrimPrefix(key, k.Room("due")), "/")
	at, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || len(parts) != 3 {
		return law.Key{}, fmt.Errorf("%q is no key of due/", key)
	}
	return law.DueKey(at, parts[1], parts[2]), nil
}

func (k Keys) Cut(parent, child string) string { return k.Room("cuts") + parent + "/" + child }
func (k Keys) Outbox(id string) string         { return k.Room("outbox") + id }

func (k Keys) Derivation(d law.Derivation) string {
	key := k.Room("debts") + d.Into.UID + "/" + d.From.UID
	switch {
	case !d.PTR:
		return key
	case d.Owner.IsZero(): // of all names; no key of an owner begins with "@"
		return key + "/@"
	}
	return key + "/" + d.Owner.Key()
}

const (
	WaitingDelegation = "d"
	WaitingRecord     = "r"
	WaitingZone       = "z"
)

func WaitingLetter(resource string) string {
	switch resource {
	case "zones":
		return WaitingZone
	case "delegations":
		return WaitingDelegation
	}
	return WaitingRecord
}

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

// WaitingAt returns the prefix of objects waiting at a name or, unless exact, at and below.
func (k Keys) WaitingAt(view string, n name.Name, exact bool) string {
	p := k.Room("orphans") + viewKey(view) + "/" + n.Key()
	if exact {
		p += "/"
	}
	return p
}

// WaitingFor returns the prefix of objects waiting for a Zone object.
func (k Keys) WaitingFor(target *law.Ref) string {
	return k.Room("orphans") + byReference + "/" + target.Namespace + "/" + target.Name + "/"
}

func WaitingObject(key string) (letter, namespace, object string, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) < 3 {
		return "", "", "", false
	}
	t := parts[len(parts)-3:]
	return t[0], t[1], t[2], true
}

// Waiter is a value of orphans/. Created is in Unix seconds.
type Waiter struct {
	UID     string `json:"uid"`
	Created int64  `json:"t"`
	Moves   bool   `json:"m,omitempty"`
	KeptOut string `json:"k,omitempty"`
}

func (k Keys) MembersBelow(zone string, owner name.Rel) string {
	return k.Room("members") + zone + "/" + owner.Key()
}

// ParseMember returns zone, name, namespace and Record of a key of members/. The name is empty at the apex, so the
// parts are split off from both ends.
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

// ParseName returns view and FQDN of a key of the rooms names or serials.
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

func (k Keys) ParseWithdrawal(key string) (law.Key, error) {
	zone, namespace, ok := strings.Cut(strings.TrimPrefix(key, k.Room("withdrawn")), "/")
	if !ok {
		return law.Key{}, fmt.Errorf("%q is no key of withdrawn/", key)
	}
	return law.WithdrawalKey(zone, namespace), nil
}

func (k Keys) ParseOwner(key string) (zone string, owner name.Rel, err error) {
	rest, _ := strings.CutPrefix(key, k.Room("owners"))
	zone, rest, _ = strings.Cut(rest, "/")
	owner, err = name.RelFromKey(rest)
	return zone, owner, err
}

// namesOctets estimates the internal keys of a Record or Zone with its name, stepsOctets a journal of small changes.
const (
	namesOctets = 1 << 10
	stepsOctets = 16 << 10
	// dataOctets estimates a value in the owner fact.
	dataOctets = 80
)

// StoredOctets estimates, for budgets, the space in etcd of an object with a number of octets. The object's internal
// keys are included. They grow with the number of a Record's values, or of a Delegation's namespaces.
func (k Keys) StoredOctets(key string, octets, values int) int64 {
	stored := int64(len(key)+octets) + namesOctets + int64(values)*dataOctets
	switch {
	case strings.HasPrefix(key, k.Objects("zones")): // with a journal
		stored += stepsOctets
	case strings.HasPrefix(key, k.Objects("delegations")): // repeated under rules/ for each namespace
		stored += int64(values) * int64(octets)
	}
	return stored
}

// Condensed returns the key of the header of a zone's condensed step, CondensedPart the key of a part.
func (k Keys) Condensed(zone string) string { return k.Room("condensed") + zone + "/" }

func (k Keys) CondensedPart(zone string, n uint64, part int) string {
	return k.Condensed(zone) + fmt.Sprintf("%016x/%08x", n, part)
}

// MigrationLock returns the key of the migrations' lock, never encrypted.
func (k Keys) MigrationLock() string { return k.Prefix + "/migrating" }

// LeaderLock returns the key of the lock of the server that confirms Records, never encrypted.
func (k Keys) LeaderLock() string { return k.Prefix + "/confirming" }

func WaitingValue(uid string, created int64, moves bool) string {
	return string(Encode(Waiter{UID: uid, Created: created, Moves: moves}))
}
