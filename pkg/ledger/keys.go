// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
)

// Layout knows where everything is in etcd. The internal keys stand outside
// every prefix that an API watch follows. Names are written label-reversed, so
// that what is at and below one is one range (name.Name.Key).
type Layout struct {
	// Prefix of the whole server, without a trailing slash: "/registry/kubizone".
	Prefix string
}

// defaultView stands for the empty view in keys; no RFC 1123 label looks like it.
const defaultView = "@"

// byReference stands in a view's place for what waits for a zone object, not for a name.
const byReference = "@ref"

func (l Layout) object(resource, namespace, object string) string {
	return l.Prefix + "/kubi.zone/" + resource + "/" + namespace + "/" + object
}

// Zone is the key of a Zone object.
func (l Layout) Zone(namespace, object string) string { return l.object("zones", namespace, object) }

// Record is the key of a Record object.
func (l Layout) Record(namespace, object string) string {
	return l.object("records", namespace, object)
}

// Objects is the prefix of all objects of a resource.
func (l Layout) Objects(resource string) string { return l.Prefix + "/kubi.zone/" + resource + "/" }

// ObjectName splits an object's key.
func (l Layout) ObjectName(key string) (namespace, object string, ok bool) {
	rest := key[strings.LastIndexByte(key, '/')+1:]
	head := strings.TrimSuffix(key, "/"+rest)
	i := strings.LastIndexByte(head, '/')
	if i < 0 || rest == "" {
		return "", "", false
	}
	return head[i+1:], rest, true
}

// Internal is the prefix of every key that is the ledger's own.
func (l Layout) Internal() string { return l.Prefix + "/ledger/" }

func (l Layout) room(room string) string { return l.Internal() + room + "/" }

func (l Layout) config() string { return l.Internal() + "config" }

// labelsAt is the index in an internal key at which the labels of a name begin,
// -1 where none do (sealed.Layout).
func (l Layout) labelsAt(key string) int {
	room, rest, _ := strings.Cut(strings.TrimPrefix(key, l.Internal()), "/")
	switch room {
	case "names", "serials", "owners", "holders", "members", "orphans", "deleted":
	default:
		return -1
	}
	of, labels, ok := strings.Cut(rest, "/")
	if !ok || of == byReference {
		return -1
	}
	return len(key) - len(labels)
}

func viewKey(view string) string {
	if view == "" {
		return defaultView
	}
	return view
}

// Key is the key, or for the kinds that ask about a range the prefix, of a fact.
func (l Layout) Key(k law.Key) string {
	switch k.Kind {
	case law.KindHolding, law.KindZonesBelow:
		return l.room("names") + viewKey(k.View) + "/" + k.Name.Key()
	case law.KindArriving:
		return l.waitingAt(k.View, k.Name, false)
	case law.KindLastSerial:
		return l.room("serials") + viewKey(k.View) + "/" + k.Name.Key()
	case law.KindFloor:
		return l.room("serials") + "@floor" // no view is called so: it has no "/"
	case law.KindZone:
		return l.Zone(k.Namespace, k.Object)
	case law.KindOwner, law.KindOwnersBelow:
		return l.room("owners") + k.Zone + "/" + k.Owner.Key()
	case law.KindHolders, law.KindHeldBelow:
		return l.room("holders") + k.Zone + "/" + k.Owner.Key()
	case law.KindDeletions:
		return l.room("deletions") + k.Zone + "/"
	case law.KindDeleted:
		return l.room("deleted") + k.Zone + "/" + k.Owner.Key()
	case law.KindCut:
		return l.cut(k.Zone, k.Object)
	case law.KindCount:
		return l.room("counts") + k.Zone + "/" + k.Namespace
	case law.KindMember:
		return l.room("members") + k.Zone + "/" + k.Owner.Key() + "/" + k.Namespace + "/" + k.Object
	case law.KindTenantsBelow:
		return l.room("members") + k.Zone + "/" + k.Owner.Key()
	case law.KindRoster:
		return l.room("members") + k.Zone + "/"
	}
	panic(fmt.Sprintf("ledger: no key for kind %d", k.Kind)) // a new kind without a key is a bug of this package
}

// isRange: the fact is about everything under the key.
func isRange(k law.Key) bool {
	switch k.Kind {
	case law.KindZonesBelow, law.KindOwnersBelow, law.KindTenantsBelow, law.KindRoster, law.KindArriving, law.KindHeldBelow:
		return true
	}
	return false
}

// Rooms of a zone that are purged with it, in this order: a zone that is made at the
// name meanwhile reads holders and members of the one before (law.LastSerial.Zone), and
// once its records are let go they are nobody's (S2.7).
// The last are what a zone is withdrawn by where a provider cannot list what it has.
var zoneRooms = []string{"holders", "members", "counts", "cuts", "debts", "deleted", "deletions", "owners", "journal", "condensed"}

// ownRooms is how many of zoneRooms an ended zone that is still delivered needs no more.
const ownRooms = 7

func (l Layout) journal(zone string) string { return l.room("journal") + zone + "/" }

func (l Layout) journalKey(zone string, n uint64) string {
	return l.journal(zone) + fmt.Sprintf("%016x", n)
}

// settledKey marks a change of Settled without a step: it stands behind the step
// it follows and is written anew each time.
func (l Layout) settledKey(zone string, n uint64) string { return l.journalKey(zone, n) + ".settled" }

// parseJournal splits a journal key.
func (l Layout) parseJournal(key string) (zone string, n uint64, ok bool) {
	rest, ok := strings.CutPrefix(key, l.room("journal"))
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

func (l Layout) cut(parent, child string) string  { return l.room("cuts") + parent + "/" + child }
func (l Layout) debt(parent, child string) string { return l.room("debts") + parent + "/" + child }
func (l Layout) outbox(id string) string          { return l.room("outbox") + id }

// reserved is the key that reserves a record for a redo log: its namespace and name,
// since every write of a record names it.
func (l Layout) reserved(recordKey string) string {
	return l.room("reserved") + strings.TrimPrefix(recordKey, l.Objects("records"))
}

// isReserved: the key is a reservation. Its value, the name of a log, is compared.
func (l Layout) isReserved(key string) bool { return strings.HasPrefix(key, l.room("reserved")) }

// Waiters of the two resources are told apart in orphans/ by one letter.
const (
	waitingRecord = "r"
	waitingZone   = "z"
)

// waiting are the keys under which something unadopted is found again.
func (l Layout) waiting(w *law.Waiting, resource, namespace, object string) []string {
	var keys []string
	who := "/" + resource + "/" + namespace + "/" + object
	if !w.FQDN.IsZero() {
		keys = append(keys, l.room("orphans")+viewKey(w.View)+"/"+w.FQDN.Key()+who)
	}
	if w.Zone != nil {
		keys = append(keys, l.room("orphans")+byReference+"/"+w.Zone.Namespace+"/"+w.Zone.Name+who)
	}
	return keys
}

// waitingAt is the prefix of what waits at a name, or at and below it.
func (l Layout) waitingAt(view string, n name.Name, exact bool) string {
	p := l.room("orphans") + viewKey(view) + "/" + n.Key()
	if exact {
		p += "/"
	}
	return p
}

func (l Layout) waitingFor(target *law.Ref) string {
	return l.room("orphans") + "@ref/" + target.Namespace + "/" + target.Name + "/"
}

// who reads resource, namespace and object from the end of a waiting key.
func who(key string) (resource, namespace, object string, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) < 3 {
		return "", "", "", false
	}
	t := parts[len(parts)-3:]
	return t[0], t[1], t[2], true
}

// waitsAt reads the name from a waiting key that has one.
func (l Layout) waitsAt(key string) (name.Name, error) {
	rest, _ := strings.CutPrefix(key, l.room("orphans"))
	_, rest, ok := strings.Cut(rest, "/")
	for range 3 { // resource, namespace and object
		i := strings.LastIndexByte(rest, '/')
		if !ok || i < 0 {
			return name.Name{}, fmt.Errorf("ledger: %q is no waiting key", key)
		}
		rest = rest[:i]
	}
	return name.FromKey(rest)
}

// waiter is the value of a waiting key.
type waiter struct {
	UID     string `json:"uid"`
	Created int64  `json:"t"`
	// Held: see law.Waiting.
	Held bool `json:"h,omitempty"`
}

// memberOf reads zone, owner, namespace and object from a member key.
func (l Layout) memberOf(key string) (zone string, owner name.Rel, namespace, object string, err error) {
	rest, _ := strings.CutPrefix(key, l.room("members"))
	zone, rest, _ = strings.Cut(rest, "/")
	j := strings.LastIndexByte(rest, '/')
	if j < 0 {
		return "", owner, "", "", fmt.Errorf("ledger: %q is no member key", key)
	}
	rest, object = rest[:j], rest[j+1:]
	i := strings.LastIndexByte(rest, '/')
	if i < 0 {
		return "", owner, "", "", fmt.Errorf("ledger: %q is no member key", key)
	}
	rest, namespace = rest[:i], rest[i+1:]
	owner, err = name.RelFromKey(rest)
	return zone, owner, namespace, object, err
}

// nameOf reads view and fqdn from a names/ or serials/ key.
func (l Layout) nameOf(room, key string) (view string, fqdn name.Name, err error) {
	rest, _ := strings.CutPrefix(key, l.room(room))
	view, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return "", name.Name{}, fmt.Errorf("ledger: %q is no key of %s/", key, room)
	}
	if view == defaultView {
		view = ""
	}
	fqdn, err = name.FromKey(rest)
	return view, fqdn, err
}

// ownerOf reads zone and owner from an owners/ or holders/ key.
func (l Layout) ownerOf(room, key string) (zone string, owner name.Rel, err error) {
	rest, _ := strings.CutPrefix(key, l.room(room))
	zone, rest, _ = strings.Cut(rest, "/")
	owner, err = name.RelFromKey(rest)
	return zone, owner, err
}

// encode writes an internal value. The types are this module's own and always encode. No browser reads it: "<" stays one
// octet, and is not six.
func encode(v any) []byte {
	b, err := plain(v)
	if err == nil {
		b, err = withUnknown(b, v)
	}
	if err != nil {
		panic(fmt.Sprintf("ledger: %T: %v", v, err))
	}
	return b
}

func plain(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err == nil && bytes.Contains(b, escaped) {
		var plain bytes.Buffer
		encoder := json.NewEncoder(&plain)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(v)
		b = bytes.TrimSuffix(plain.Bytes(), []byte("\n"))
	}
	return b, err
}

// escaped is how <, > and & begin where they are escaped. Control characters, which no value has, do too.
var escaped = []byte(`\u00`)

// journalValue is a content.Transaction with steps and without a zone that is encoded as its steps are decided, each once:
// how much it takes is known before all of them are there.
type journalValue struct {
	buf     bytes.Buffer
	encoder *json.Encoder
	steps   []content.Step
}

// add takes a step in unless that takes more than most octets, and returns how many it does.
func (j *journalValue) add(step *content.Step, most int) (octets int, ok bool) {
	if j.encoder == nil {
		j.encoder = json.NewEncoder(&j.buf)
		j.encoder.SetEscapeHTML(false)
		j.buf.WriteString(`{"s":[`)
	}
	before := j.buf.Len()
	if len(j.steps) > 0 {
		j.buf.WriteByte(',')
	}
	if err := j.encoder.Encode(step); err != nil {
		panic(fmt.Sprintf("ledger: %T: %v", step, err))
	}
	j.buf.Truncate(j.buf.Len() - 1) // the end of the line
	if octets = j.buf.Len() - before; octets > most {
		j.buf.Truncate(before)
		return octets, false
	}
	j.steps = append(j.steps, *step)
	return octets, true
}

func (j *journalValue) last() uint64 { return j.steps[len(j.steps)-1].N }

// value ends it.
func (j *journalValue) value(settled bool) []byte {
	j.buf.WriteByte(']')
	if settled {
		j.buf.WriteString(`,"ok":true`)
	}
	j.buf.WriteByte('}')
	return j.buf.Bytes()
}

// decodeFact reads the stored value of a single-key fact.
func decodeFact(k law.Key, data []byte) (any, error) {
	var v any
	switch k.Kind {
	case law.KindHolding:
		v = &law.Holding{}
	case law.KindOwner:
		v = &law.Owner{}
	case law.KindHolders:
		v = &law.Holders{}
	case law.KindCount:
		v = &law.Count{}
	case law.KindMember:
		v = &law.Member{}
	case law.KindDeletions:
		v = &law.Deletions{}
	case law.KindDeleted:
		v = &law.Deleted{}
	case law.KindCut:
		v = &law.CountedCut{}
	case law.KindLastSerial, law.KindFloor:
		v = &law.LastSerial{}
	default:
		return nil, fmt.Errorf("ledger: kind %d is not stored", k.Kind)
	}
	return v, decode(data, v)
}
