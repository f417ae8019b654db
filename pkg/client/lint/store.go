// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/btree"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// store replaces etcd for the command lint, which runs the server's decisions (package law). A decision reads stored
// values (facts), and returns the values to write (a plan). A server decides objects again when their zone changes.
// lint does not, so the caller makes zones before Delegations, and Delegations before Records.
type store struct {
	now   time.Time
	facts map[law.Key]any
	zones map[key]*law.Zone
	// The maps below are by the zone's uid. In owners the names with data are sorted, so that the names below a name
	// follow it.
	owners          map[string]*btree.BTreeG[name.Rel]
	records         map[string]map[name.Rel]map[key]*law.Record
	delegationRules map[string][]rules.Rule
	// lastUID is the number in the last uid, for example 7 in "uid-7".
	lastUID int
}

type key struct{ namespace, name string }

func newStore() *store {
	return &store{now: time.Now(), facts: map[law.Key]any{}, zones: map[key]*law.Zone{}, owners: map[string]*btree.BTreeG[name.Rel]{},
		records: map[string]map[name.Rel]map[key]*law.Record{}, delegationRules: map[string][]rules.Rule{}}
}

func (s *store) newUID() string {
	s.lastUID++
	return fmt.Sprint("uid-", s.lastUID)
}

const maxRounds = 1000

// decideWrite repeats a decision until no fact is missing. Each round reads the facts that the decision asks for.
func (s *store) decideWrite(by func(*law.Facts) law.Outcome) law.Outcome {
	seen := law.NewFacts()
	for range maxRounds {
		out := by(seen)
		if len(out.Need) == 0 {
			return out
		}
		for _, k := range out.Need {
			seen.Put(k, s.findFact(k))
		}
	}
	return law.Outcome{Refusal: law.NewLater(law.ReasonMoving, "the decision does not end")}
}

// findFact returns the stored value of a key, as the server's cache does, or nil. Keys about ranges of names are
// computed from the store.
func (s *store) findFact(k law.Key) any {
	switch k.Kind {
	case law.KindZone:
		if z := s.zones[key{k.Namespace, k.Object}]; z != nil {
			copied := *z
			return &copied
		}
		return nil
	case law.KindOwnersBelow:
		return s.findOwnersBelow(k)
	case law.KindZonesBelow:
		below := &law.ZonesBelow{}
		for _, z := range s.zones {
			if h := s.holding(z); z.View == k.View && k.Name.Encloses(z.FQDN()) {
				below.Zones = append(below.Zones, law.ZoneBelow{FQDN: z.FQDN(), Holding: *h})
			}
		}
		slices.SortFunc(below.Zones, func(x, y law.ZoneBelow) int { return x.FQDN.Compare(y.FQDN) })
		return below
	case law.KindForeign:
		return &law.Foreign{}
	case law.KindAwaited, law.KindTouched: // nothing waits
		if k.Zone != "" {
			return &law.Awaited{Any: s.hasDataBelow(k)}
		}
		return &law.Awaited{}
	}
	return s.facts[k]
}

func (s *store) holding(z *law.Zone) *law.Holding {
	return s.facts[law.HoldingKey(z.View, z.FQDN())].(*law.Holding)
}

// findOwnersBelow returns the facts of the names below a name with data. Below the apex only the first law.FirstKeys
// are read, as at a server.
func (s *store) findOwnersBelow(k law.Key) *law.OwnersBelow {
	below := &law.OwnersBelow{}
	if s.owners[k.Zone] == nil {
		return below
	}
	read := 0
	s.owners[k.Zone].AscendGreaterOrEqual(k.Owner, func(at name.Rel) bool {
		if !strings.HasPrefix(at.Key(), k.Owner.Key()) || k.Owner.IsApex() && read == law.FirstKeys {
			return false
		}
		if at != k.Owner {
			below.Add(k.Owner, at, s.facts[law.OwnerKey(k.Zone, at)].(*law.Owner))
			read++
		}
		return true
	})
	return below
}

// hasDataBelow reports whether the name or a name below has data.
func (s *store) hasDataBelow(k law.Key) (found bool) {
	if s.owners[k.Zone] == nil {
		return false
	}
	s.owners[k.Zone].AscendGreaterOrEqual(k.Owner, func(at name.Rel) bool {
		// Keys are sorted by labels from the root, so the names below follow the name.
		if !strings.HasPrefix(at.Key(), k.Owner.Key()) {
			return false
		}
		found = s.facts[law.OwnerKey(k.Zone, at)].(*law.Owner).HasData()
		return !found
	})
	return found
}

// applyPlan stores the writes of a plan, and the derived cuts of child zones in their parents.
func (s *store) applyPlan(plan *law.Plan) {
	for _, write := range plan.Writes {
		if write.Key.Kind == law.KindOwner {
			s.listOwner(write)
		}
		if write.Value == nil {
			delete(s.facts, write.Key)
		} else {
			s.facts[write.Key] = write.Value
		}
	}
	if plan.Zone != nil {
		z := *plan.Zone.Zone
		s.zones[key{z.Namespace, z.Name}] = &z
	}
	for _, cut := range plan.Derivations {
		if !cut.PTR { // derived PTR refuse nothing
			s.countCut(cut)
		}
	}
}

func (s *store) listOwner(write law.Write) {
	tree := s.owners[write.Key.Zone]
	if tree == nil {
		tree = btree.NewG(16, func(x, y name.Rel) bool { return x.Key() < y.Key() })
		s.owners[write.Key.Zone] = tree
	}
	if write.Value == nil {
		tree.Delete(write.Key.Owner)
	} else {
		tree.ReplaceOrInsert(write.Key.Owner)
	}
}

// countCut has the parent count the NS, glue and DS of a child zone, which a server does in a later transaction.
func (s *store) countCut(cut law.Derivation) {
	parent, child := s.zones[key{cut.Into.Namespace, cut.Into.Name}], s.zones[key{cut.From.Namespace, cut.From.Name}]
	if parent == nil || child == nil {
		return
	}
	copied := *parent
	ask := records.CutInput{Parent: &copied, Pending: cut, Now: s.now, Own: true}
	if h := s.holding(child); h.CountedBy(parent) {
		ask.Holding = h
		sets := content.Cut(parent.FQDN(), child.Header, func(owner name.Rel, t rdata.Type) (content.RRset, bool) {
			return s.findSet(child.UID, owner, t)
		})
		if len(sets) > 0 {
			ask.Cut = &law.CountedCut{Sets: sets}
		}
	}
	if out := s.decideWrite(func(seen *law.Facts) law.Outcome { return records.DecideCut(seen, ask) }); out.Plan != nil {
		s.applyPlan(out.Plan)
	}
}

// findSet returns the RRset that the Records of a zone make at a name. found is false if there is none.
func (s *store) findSet(zone string, owner name.Rel, t rdata.Type) (set content.RRset, found bool) {
	set = content.RRset{Owner: owner, Type: t, TTL: content.InheritTTL()}
	for _, r := range s.records[zone][owner] {
		if r.Type == t {
			for _, v := range r.Values {
				set.Data = append(set.Data, v.Text)
			}
		}
	}
	slices.Sort(set.Data)
	// Two Records may have the same value, and an RRset has no value twice.
	set.Data = slices.Compact(set.Data)
	return set, len(set.Data) > 0
}

// makeZone decides a new Zone, and stores the zone unless refused or pending. No deletion is ever held.
func (s *store) makeZone(spec zones.ZoneSpec) (*law.Plan, *law.Refusal) {
	spec.UID, spec.MaxDeletePercent = s.newUID(), 100
	ask := zones.ZoneInput{After: &spec, MayEstablish: true, Now: s.now, By: spec.Namespace, WorkID: s.newUID()}
	out := s.decideWrite(func(seen *law.Facts) law.Outcome { return zones.DecideZone(seen, ask) })
	if out.Refusal == nil && !out.Plan.Zone.Zone.Pending {
		s.applyPlan(out.Plan)
	}
	return out.Plan, out.Refusal
}

// amendZone decides the Zone as a change of a zone without rules and name servers, so that the plan has the warnings
// about all of them. Nothing is stored.
func (s *store) amendZone(spec zones.ZoneSpec) (*law.Plan, *law.Refusal) {
	before := *s.zones[key{spec.Namespace, spec.Name}]
	before.Rules, before.Header.NameServers, before.Header.PrimaryNameServer = nil, nil, ""
	before.SetNameServers()
	spec.UID, spec.MaxDeletePercent = before.UID, 100
	ask := zones.ZoneInput{Before: &before, After: &spec, Now: s.now, By: spec.Namespace, WorkID: s.newUID()}
	out := s.decideWrite(func(seen *law.Facts) law.Outcome { return zones.DecideZone(seen, ask) })
	return out.Plan, out.Refusal
}

// makeDelegation decides a new Delegation, and stores the rule if apply is true.
func (s *store) makeDelegation(at key, spec zones.DelegationSpec, apply bool) (*law.Plan, *law.Refusal) {
	ask := zones.DelegationInput{Ref: law.Ref{Namespace: at.namespace, Name: at.name, UID: s.newUID()}, After: &spec, Now: s.now,
		WorkID: s.newUID()}
	out := s.decideWrite(func(seen *law.Facts) law.Outcome { return zones.DecideDelegation(seen, ask) })
	if out.Refusal == nil && apply && out.Plan.Zone != nil {
		s.applyPlan(out.Plan)
		// The zone has only the rules of the Zone, and listRules adds these.
		s.delegationRules[out.Plan.Zone.Zone.UID] = append(s.delegationRules[out.Plan.Zone.Zone.UID], spec.Rule)
	}
	return out.Plan, out.Refusal
}

// makeRecord decides a new Record, and stores the Record if a zone takes it. Without a zone, the plan has none.
func (s *store) makeRecord(r *law.Record) (*law.Plan, *law.Refusal) {
	r.UID = s.newUID()
	ask := records.RecordInput{Namespace: r.Namespace, Name: r.Name, UID: r.UID, After: r, Now: s.now, By: r.Namespace, WorkID: s.newUID(),
		SetsExpiry: true}
	out := s.decideWrite(func(seen *law.Facts) law.Outcome { return records.DecideRecord(seen, ask) })
	if out.Refusal == nil && out.Plan.Record.Zone != nil {
		zone, owner := out.Plan.Record.Zone.UID, s.ownerOf(out.Plan)
		if s.records[zone] == nil {
			s.records[zone] = map[name.Rel]map[key]*law.Record{}
		}
		if s.records[zone][owner] == nil {
			s.records[zone][owner] = map[key]*law.Record{}
		}
		s.records[zone][owner][key{r.Namespace, r.Name}] = r
		s.applyPlan(out.Plan)
	}
	return out.Plan, out.Refusal
}

func (s *store) zoneOf(plan *law.Plan) *law.Zone {
	return s.zones[key{plan.Record.Zone.Namespace, plan.Record.Zone.Name}]
}

func (s *store) ownerOf(plan *law.Plan) name.Rel {
	owner, _ := plan.Record.FQDN.Rel(s.zoneOf(plan).FQDN())
	return owner
}

// removeRecord deletes a Record that makeRecord has stored by the plan made.
func (s *store) removeRecord(r *law.Record, made *law.Plan) {
	delete(s.records[made.Record.Zone.UID][s.ownerOf(made)], key{r.Namespace, r.Name})
	before := &law.Adoption{Zone: *made.Record.Zone, FQDN: made.Record.FQDN, Admission: made.Record.Admission}
	before.Owner, before.Type, before.TTL, before.Values = s.ownerOf(made), r.Type, r.TTL, r.Values
	ask := records.RecordInput{Namespace: r.Namespace, Name: r.Name, UID: r.UID, Before: before, Now: s.now, By: r.Namespace,
		WorkID: s.newUID()}
	if out := s.decideWrite(func(seen *law.Facts) law.Outcome { return records.DecideRecord(seen, ask) }); out.Plan != nil {
		s.applyPlan(out.Plan)
	}
}

// isNSHost reports whether the host is the target of an NS Record of the zone.
func (s *store) isNSHost(z *law.Zone, host name.Name) bool {
	for _, at := range s.records[z.UID] {
		for _, r := range at {
			if r.Type == rdata.NS && slices.ContainsFunc(r.Values, func(v rdata.Value) bool {
				target, ok := v.Target(z.FQDN())
				return ok && target == host
			}) {
				return true
			}
		}
	}
	return false
}

func (s *store) isZone(view string, n name.Name) bool { return s.facts[law.HoldingKey(view, n)] != nil }

func (s *store) findEnclosing(view string, n name.Name) *law.Zone {
	for at, ok := n, true; ok; at, ok = at.Parent() {
		if h, _ := s.facts[law.HoldingKey(view, at)].(*law.Holding); h != nil {
			return s.zones[key{h.Namespace, h.Name}]
		}
	}
	return nil
}

func (s *store) listZones() []*law.Zone {
	return slices.SortedFunc(maps.Values(s.zones), func(x, y *law.Zone) int { return x.FQDN().Compare(y.FQDN()) })
}

func (s *store) listRules(z *law.Zone) []rules.Rule {
	return slices.Concat(z.Rules, s.delegationRules[z.UID])
}
