// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// model is the store as computed from the objects. The few values that no object determines are read.
type model struct {
	zones              map[string]*zone // by UID, also the pending zones (stored, without effect)
	zonesByRef         map[law.Ref]*zone
	zonesByName        map[place]*zone      // without pending zones
	sortedNames        []place              // of zonesByName, by view and key
	works              map[string]*law.Work // the outbox
	purging            map[string]bool      // UIDs of removed zones whose keys are being deleted
	unread             unread
	derivations        map[edge]law.Derivation // NS, glue and DS of child zones, not yet in the parent's content
	pendingPTR         []law.Derivation
	withdrawals        map[law.Key]*law.Withdrawal
	cuts               map[edge]*law.CountedCut // NS, glue and DS in the parent's content
	records            []*record
	waitingDelegations []waiter
}

type waiter struct {
	law.Ref
	created int64
	waiting *law.Waiting
}

func newModel() model {
	return model{zones: map[string]*zone{}, zonesByRef: map[law.Ref]*zone{}, zonesByName: map[place]*zone{}, works: map[string]*law.Work{},
		purging: map[string]bool{}, unread: unread{map[law.Ref]string{}, map[string]string{}, map[string]int{}},
		derivations: map[edge]law.Derivation{}, withdrawals: map[law.Key]*law.Withdrawal{},
		cuts: map[edge]*law.CountedCut{}}
}

// unread holds zones with unreadable objects. fsck only counts their keys, because an operator might delete keys
// reported as damage.
type unread struct {
	keysByRef      map[law.Ref]string // key of the Zone object
	keysByUID      map[string]string  // the same, once another key or object reveals the UID
	uncheckedCount map[string]int     // keys and records of the zone, by key of the Zone object
}

// countUnread reports whether a zone exists with an unreadable object, and counts a key or record of such a zone. An
// unreadable object reveals no UID, so the UID is taken from the first key with the object's name.
func (u *unread) countUnread(at law.Ref) bool {
	key, ok := u.keysByUID[at.UID]
	if !ok && at.Name != "" {
		if key, ok = u.keysByRef[law.Ref{Namespace: at.Namespace, Name: at.Name}]; ok {
			u.keysByUID[at.UID] = key
		}
	}
	if ok {
		u.uncheckedCount[key]++
	}
	return ok
}

type place struct {
	view string
	fqdn name.Name
}

type edge struct{ parent, child string }

type zone struct {
	*law.Zone
	key     string
	created int64
	spec    *zones.ZoneSpec
	status  v1alpha1.ZoneStatus

	holding *law.Holding

	// delegatedRules holds the rules of Delegations in force by namespace, ordered by name. rulesByNamespace caches all
	// rules.
	delegationCount  int
	delegatedRules   map[string][]law.DelegatedRule
	rulesByNamespace map[string][]rules.Rule
	// reservedNames caches the namespaces to which rules give a name.
	reservedNames map[name.Rel]sets.Set[string]

	records        []*record
	owners         map[name.Rel]*law.Owner
	counts         map[string]int64
	sortedOwners   []name.Rel             // cache
	recordsByOwner map[name.Rel][]*record // cache
}

type record struct {
	*law.Record
	key       string
	fqdn      name.Name // zero if unknown
	view      string
	serial    int64
	adoptedBy *v1alpha1.AdoptingZone
	endsAt    int64 // status.endsAt in Unix seconds
	dueAt     int64 // time of the due key in Unix seconds, or 0
	isAdopted bool
	moving    bool
	keptOut   string // law.Waiting.KeptOut, if it waits

	admission rules.Admission
	zone      *zone // nil if none has adopted the record
	owner     name.Rel
}

// addRecord adds a record of the zone to the model: count of its namespace, claim, pointers, and the values at its
// name.
func (z *zone) addRecord(r *record) {
	z.records = append(z.records, r)
	z.counts[r.Namespace]++
	z.addClaim(r)
	guests, isUnderscore := 0, r.admission == rules.AdmittedUnderscore
	if r.Namespace == z.Namespace {
		z.addPointers(r)
		if isUnderscore {
			z.addOwnUnderscore(r.owner)
		}
	} else if isUnderscore {
		// A guest's value claims nothing, but may hide the name from another tenant's wildcard (S4.23).
		guests = 1
	}

	o := z.ownerAt(r.owner)
	for _, v := range r.Values {
		wire, _ := v.Pack(z.FQDN())
		o.Values = countValue(o.Values, law.OwnerValue{Type: r.Type, Digest: law.DigestOf(v.Text), TTL: r.TTL, Count: 1, Guests: guests,
			Size: len(wire), SPF: r.Type == rdata.TXT && rdata.IsSPF(v.Text), Alias: law.AliasOf(v)})
	}
}

// addOwnUnderscore counts own data at an underscore name, which admits no tenant but by a literal underscore rule
// (S4.14). *._domainkey counts at _domainkey.
func (z *zone) addOwnUnderscore(owner name.Rel) {
	if labels := owner.Labels(); labels[0] == "*" {
		owner, _ = owner.Parent()
	}
	z.ownerAt(owner).Own++
}

const maxPointed = 8

// addPointers counts the names to which an own record leads, so that an Event tells own when a tenant takes such a host
// (S4.26): an MX with mail.example.org. counts at mail.
func (z *zone) addPointers(r *record) {
	if !strings.Contains(" CNAME MX NS SRV SVCB HTTPS ", " "+r.Type.String()+" ") {
		return
	}
	// The apex is own in any case.
	counted := map[name.Rel]bool{name.Apex: true}
	for _, v := range r.Values {
		host, below := z.ownerNamed(v.Host())
		// A record counts once at a name, and at no more than maxPointed names.
		if at := base(host); below && !counted[at] && len(counted) <= maxPointed {
			counted[at] = true
			z.ownerAt(at).Pointers++
		}
	}
}

// ownerNamed returns the owner name for a text as in a zone file: www for "www" or "www.example.org.". The result is
// false for a name outside the zone.
func (z *zone) ownerNamed(text string) (name.Rel, bool) {
	n, err := name.ParseIn(text, z.FQDN())
	if err != nil {
		return name.Rel{}, false
	}
	return n.Rel(z.FQDN())
}

func (z *zone) ownerAt(owner name.Rel) *law.Owner {
	o := z.owners[owner]
	if o == nil {
		o = &law.Owner{}
		z.owners[owner] = o
	}
	return o
}

func countValue(values []law.OwnerValue, want law.OwnerValue) []law.OwnerValue {
	i, found := slices.BinarySearchFunc(values, want, compareValues)
	if !found {
		return slices.Insert(values, i, want)
	}
	values[i].Count++
	values[i].Guests += want.Guests
	return values
}

func (r *record) waiting() *law.Waiting {
	return &law.Waiting{View: r.view, FQDN: r.fqdn, Zone: r.ZoneRef, KeptOut: r.keptOut}
}

func (z *zone) addCut(cut *law.CountedCut) {
	for _, set := range cut.Sets {
		o := z.ownerAt(set.Owner)
		var ttl *uint32
		if set.TTL.Explicit {
			ttl = &set.TTL.Seconds
		}
		for _, data := range set.Data {
			o.Cut = countValue(o.Cut, law.OwnerValue{Type: set.Type, Digest: law.DigestOf(data), TTL: ttl, Count: 1})
		}
	}
}

func compareValues(x, y law.OwnerValue) int {
	return cmp.Or(cmp.Compare(x.Type, y.Type), bytes.Compare(x.Digest[:], y.Digest[:]), cmp.Compare(ttlRank(x.TTL), ttlRank(y.TTL)))
}

func ttlRank(ttl *uint32) int64 {
	if ttl == nil {
		return -1
	}
	return int64(*ttl)
}

// sameValue ignores the size, as it depends on the zone's name.
func sameValue(x, y law.OwnerValue) bool {
	return compareValues(x, y) == 0 && x.Count == y.Count && x.Guests == y.Guests
}

// ownersBelow returns the names strictly below owner that have facts, in key order.
func (z *zone) ownersBelow(owner name.Rel) []name.Rel {
	byKey := func(x, y name.Rel) int { return cmp.Compare(x.Key(), y.Key()) }
	if z.sortedOwners == nil {
		z.sortedOwners = slices.SortedFunc(maps.Keys(z.owners), byKey)
	}
	from, found := slices.BinarySearchFunc(z.sortedOwners, owner, byKey)
	if found {
		from++
	}
	below := z.sortedOwners[from:]
	if i := slices.IndexFunc(below, func(o name.Rel) bool { return !strings.HasPrefix(o.Key(), owner.Key()) }); i >= 0 {
		return below[:i]
	}
	return below
}

type rrset struct {
	ttl  content.TTL
	data []string // sorted
}

type setKey struct {
	owner name.Rel
	t     rdata.Type
}

// defineRRsets returns the RRsets of records and child cuts. Equal values of two Records are a single row, and the
// smallest TTL counts (S5.2).
func defineRRsets(records []*record, cuts []*law.CountedCut) map[setKey]*rrset {
	sets := map[setKey]*rrset{}
	add := func(owner name.Rel, t rdata.Type, ttl content.TTL, data ...string) {
		k := setKey{owner, t}
		s := sets[k]
		if s == nil {
			s = &rrset{}
			sets[k] = s
		}
		s.ttl = s.ttl.Merge(ttl)
		// Two Records with the same value, or a Record and glue of a child, make a single row.
		for _, text := range data {
			if i, found := slices.BinarySearch(s.data, text); !found {
				s.data = slices.Insert(s.data, i, text)
			}
		}
	}

	for _, r := range records {
		ttl := content.InheritTTL()
		if r.TTL != nil {
			ttl = content.ExplicitTTL(*r.TTL)
		}
		for _, v := range r.Values {
			add(r.owner, r.Type, ttl, v.Text)
		}
	}

	for _, c := range cuts {
		for _, set := range c.Sets {
			add(set.Owner, set.Type, set.TTL, set.Data...)
		}
	}

	return sets
}

func (z *zone) recordsAt(owner name.Rel) []*record {
	if z.recordsByOwner == nil {
		z.recordsByOwner = map[name.Rel][]*record{}
		for _, r := range z.records {
			z.recordsByOwner[r.owner] = append(z.recordsByOwner[r.owner], r)
		}
	}
	return z.recordsByOwner[owner]
}

func (z *zone) rrsetAt(owner name.Rel, t rdata.Type) (content.RRset, bool) {
	s := defineRRsets(z.recordsAt(owner), nil)[setKey{owner, t}]
	if s == nil {
		return content.RRset{}, false
	}
	return content.RRset{Owner: owner, Type: t, TTL: s.ttl, Data: s.data}, true
}

// isWorkPending reports whether a cascade in the outbox has still to decide about the record. If so, a difference in
// its status is no damage.
func (c *check) isWorkPending(r *record) bool {
	if r.adoptedBy != nil {
		return c.anyScan(r.isMemberIn)
	}
	return c.anyScan(r.isAwaitedBy)
}

// isMemberIn reports whether a scan of the Record's zone selects the Record.
func (r *record) isMemberIn(s *law.Scan) bool {
	if s.Zone != string(r.adoptedBy.UID) {
		return false
	}
	switch s.Kind {
	case law.ScanNamespaces: // the owner of example.org. changed a rule for team-a
		return s.Covers(r.Namespace)
	case law.ScanMembers: // dev.example.org. became a zone, and takes www.dev from example.org.
		return strings.HasPrefix(r.owner.Key(), s.Owner.Key())
	}
	return false
}

// isAwaitedBy reports whether a scan selects the waiting Record, because a zone at or above its name, or the target of
// its zoneRef, has come or changed.
func (r *record) isAwaitedBy(s *law.Scan) bool {
	switch s.Kind {
	case law.ScanNamespaces:
		return s.Covers(r.Namespace) && r.waiting().MatchesTarget(s)
	case law.ScanReferring:
		return refText(r.ZoneRef) == refText(s.Target)
	case law.ScanWaiting:
		here, freed := place{r.view, r.fqdn}, place{s.View, s.Name}
		if s.Exact { // www.example.org. lost a Record, and another may have the name
			return here == freed
		}
		return here.view == freed.view && freed.fqdn.Encloses(here.fqdn)
	}
	return false
}

func refText(r *law.Ref) string {
	if r == nil {
		return "none"
	}
	return r.Namespace + "/" + r.Name
}

func (c *check) anyScan(by func(*law.Scan) bool) bool {
	for _, w := range c.works {
		for i := range w.Scans {
			if by(&w.Scans[i]) {
				return true
			}
		}
	}
	return false
}

// lookUpFact returns a fact as a server would read it, or nil if the store has none.
func (c *check) lookUpFact(k law.Key) any {
	// Most facts name the zone by UID, a holding by view and FQDN, a Zone by its object.
	z := c.zones[k.Zone]
	switch k.Kind {
	case law.KindZonesBelow:
		return c.zonesBelow(k)
	case law.KindHolding:
		z = c.zonesByName[place{k.View, k.Name}]
	case law.KindZone:
		z = c.zonesByRef[law.Ref{Namespace: k.Namespace, Name: k.Object}]
	}

	if factOf := factsOf[k.Kind]; z != nil && factOf != nil {
		return factOf(z, k)
	}
	return nil
}

// factsOf has the facts of a zone by kind.
var factsOf = map[law.Kind]func(z *zone, k law.Key) any{
	law.KindHolding: func(z *zone, _ law.Key) any { return z.holding },
	law.KindZone:    func(z *zone, _ law.Key) any { return z.Zone },
	law.KindOwner:   func(z *zone, k law.Key) any { return z.owners[k.Owner] },
	law.KindCount:   func(z *zone, k law.Key) any { return &law.Count{Records: z.counts[k.Namespace]} },
	law.KindRules:   func(z *zone, k law.Key) any { return &law.NamespaceRules{List: z.delegatedRules[k.Namespace]} },
	law.KindOwnersBelow: func(z *zone, k law.Key) any {
		out := &law.OwnersBelow{}
		for _, o := range z.ownersBelow(k.Owner) {
			out.Add(k.Owner, o, z.owners[o])
		}
		return out
	},
}

// zonesBelow returns the zones at and below a name, in key order.
func (c *check) zonesBelow(k law.Key) *law.ZonesBelow {
	out := &law.ZonesBelow{}
	i, _ := slices.BinarySearchFunc(c.sortedNames, place{k.View, k.Name}, comparePlaces)
	for ; i < len(c.sortedNames) && c.sortedNames[i].view == k.View && k.Name.Encloses(c.sortedNames[i].fqdn); i++ {
		out.Zones = append(out.Zones, law.ZoneBelow{FQDN: c.sortedNames[i].fqdn, Holding: *c.zonesByName[c.sortedNames[i]].holding})
	}
	return out
}
