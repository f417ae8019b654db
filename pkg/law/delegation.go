// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/pattern"
)

// The rules of Delegations are stored beside those of the Zone (S4.3). Each namespace that they are for has one key
// of the zone, with all its rules. So a decision about a namespace reads one key, however many Delegations the zone
// has. These keys change only together with the Zone object, as every key of a zone does (I5). The holding has the
// number of Delegations, so that a zone without any costs no fact.

// NamespaceRules are the rules that Delegations give a namespace in a zone, in the order of their names.
type NamespaceRules struct {
	List []DelegatedRule `json:"d"`
}

// DelegatedRule is the rule of one Delegation, which is in the namespace of the zone.
type DelegatedRule struct {
	Name string `json:"n"`
	UID  string `json:"u"`
	Rule Rule   `json:"r"`
}

// MaxDelegatedOctets bounds the patterns and types that Delegations give one namespace in one zone (S4.3).
const MaxDelegatedOctets = 32 << 10

// RulesKey asks for what Delegations give a namespace in a zone: *NamespaceRules.
func RulesKey(zone, namespace string) Key {
	return Key{Kind: KindRules, Zone: zone, Namespace: namespace}
}

// WorkKey asks for an outbox item: *Work.
func WorkKey(id string) Key { return Key{Kind: KindWork, Object: id} }

// DelegationWorkPrefix begins the ids of the outbox items of Delegations.
const DelegationWorkPrefix = "delegation-"

// DelegationWorkID is the id of the outbox item of a Delegation. All its writes owe this one item, however fast they
// come.
func DelegationWorkID(namespace, name string) string {
	return DelegationWorkPrefix + namespace + "." + name
}

type storedRule struct {
	Namespaces []string       `json:"n,omitempty"`
	Records    []storedRecord `json:"r,omitempty"`
	Zones      []string       `json:"z,omitempty"`
	DS         bool           `json:"d,omitempty"`
}

type storedRecord struct {
	Pattern string   `json:"p"`
	Types   []string `json:"t,omitempty"`
	Shared  bool     `json:"s,omitempty"`
}

// MarshalJSON writes the stored form of a rule, with its patterns as text.
func (r Rule) MarshalJSON() ([]byte, error) {
	s := storedRule{Namespaces: r.Namespaces, DS: r.DS}
	for i := range r.Records {
		rr := &r.Records[i]
		record := storedRecord{Pattern: rr.Text, Shared: rr.Shared}
		for _, t := range rr.Types {
			record.Types = append(record.Types, t.String())
		}
		s.Records = append(s.Records, record)
	}
	for _, p := range r.Zones {
		s.Zones = append(s.Zones, p.String())
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Rule) UnmarshalJSON(data []byte) error {
	var s storedRule
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*r = Rule{Namespaces: s.Namespaces, DS: s.DS}
	for _, record := range s.Records {
		p, err := pattern.Parse(record.Pattern)
		if err != nil {
			return err
		}
		rr := RecordRule{Pattern: p, Text: record.Pattern, Shared: record.Shared}
		for _, text := range record.Types {
			t, err := rdata.ParseType(text)
			if err != nil {
				return err
			}
			rr.Types = append(rr.Types, t)
		}
		r.Records = append(r.Records, rr)
	}
	for _, text := range s.Zones {
		p, err := pattern.Parse(text)
		if err != nil {
			return err
		}
		r.Zones = append(r.Zones, p)
	}
	return nil
}

// countOctets returns what a rule counts against MaxDelegatedOctets: about what it takes in the store.
func (d *DelegatedRule) countOctets() int {
	n := len(d.Name) + len(d.UID) + 32 // with room for ds
	for i := range d.Rule.Records {
		rr := &d.Rule.Records[i]
		n += len(rr.Text) + 16 + 10*len(rr.Types)
	}
	for _, p := range d.Rule.Zones {
		n += len(p.String()) + 3
	}
	for _, ns := range d.Rule.Namespaces {
		n += len(ns) + 3
	}
	return n
}

// RuleSet returns the rules of the Zone, and those that Delegations give the namespace of the decision.
func (z *Zone) RuleSet() *Set {
	return &Set{Zone: z.FQDN(), Own: z.Namespace, Lists: [2][]Rule{z.Rules, z.given}}
}

// withoutGiven is the zone without what Delegations give. The stored and remembered zone has to hold for
// every namespace.
func (z *Zone) withoutGiven() *Zone {
	if z == nil || z.given == nil {
		return z
	}
	out := *z
	out.given = nil
	return &out
}

// WithDelegated is a copy of the zone with rules that Delegations give a namespace.
func (z *Zone) WithDelegated(delegated []DelegatedRule) *Zone {
	out := *z
	out.given = make([]Rule, len(delegated))
	for i := range delegated {
		out.given[i] = delegated[i].Rule
	}
	return &out
}

// ruledFor returns the zone with the rules that Delegations give a namespace.
func (r *reading) ruledFor(z *Zone, namespace string) *Zone {
	if z == nil || z.Pending {
		return z
	}
	h := r.holdingOf(z)
	if h.Delegations == 0 {
		return z
	}
	f := get[NamespaceRules](r, RulesKey(z.UID, namespace))
	if f == nil {
		return z
	}
	return z.WithDelegated(f.List)
}

// zoneKnownTo reports whether the zone is known to the namespace (S1.8), by the rules of Delegations too.
func (r *reading) zoneKnownTo(z *Zone, namespace string) bool {
	return z.knownTo(namespace) || r.ruledFor(z, namespace).knownTo(namespace)
}

// DelegationSpec is what a Delegation asks for. Its zone is in its own namespace.
type DelegationSpec struct {
	Zone string
	Rule Rule
	// ReleaseNow is as in ZoneSettings.
	ReleaseNow []string
}

// DelegationAsk is the request to decide a write of one Delegation.
type DelegationAsk struct {
	Ref
	// Before is what the Delegation asked for, and In the uid of the zone that it is in force in, "" for none.
	Before *DelegationSpec
	In     string
	// Waits is where it waits now.
	Waits *Waiting
	// After is what it shall be; nil when it goes.
	After *DelegationSpec
	// Terminating says that the Delegation's namespace is being deleted, so records that it let in stay until the
	// zone goes (S8.2).
	Terminating bool
	// Cascade says that no client made this request, so a refusal becomes the reason why the Delegation is not in
	// force. Covered says that the cascade itself decides anew all that the rules may concern.
	Cascade, Covered bool
	Now              time.Time
	// WorkID is the id of the outbox item that releases what the rules allow no more.
	WorkID string
}

// DelegationPlacement says in which zone a Delegation is in force, nil for none, and why.
type DelegationPlacement struct {
	Zone            *Ref
	Reason, Message string
}

// DecideDelegation decides a write of one Delegation (S4.3).
func DecideDelegation(seen *Seen, ask DelegationAsk) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) {
		return (&delegationDecision{r, ask}).decideDelegation()
	})
}

type delegationDecision struct {
	*reading
	ask DelegationAsk
}

func (d *delegationDecision) decideDelegation() (*Plan, *Refusal) {
	ask := &d.ask
	plan := &Plan{OrphanBefore: ask.Waits}
	spec := ask.After
	if spec == nil {
		spec = ask.Before
	}
	z := get[Zone](d.reading, ZoneKey(ask.Namespace, spec.Zone))
	if z == nil || z.Pending { // what it gave there is purged with the zone's keys
		if ask.After != nil {
			what := fmt.Sprintf("zone %s/%s does not exist", ask.Namespace, spec.Zone)
			if z != nil {
				what = fmt.Sprintf("zone %s/%s is pending", ask.Namespace, spec.Zone)
			}
			d.waitForZone(plan, ReasonZoneNotFound, what+"; the rules are in force as soon as it stands")
		}
		return plan, nil
	}
	holding := d.holdingOf(z)
	var before, after *Rule
	if ask.Before != nil && ask.In == z.UID {
		before = &ask.Before.Rule
	}
	if ask.After != nil {
		after = &ask.After.Rule
	}
	changed, refusal := d.writeRules(plan, z, before, after)
	if refusal != nil {
		if !ask.Cascade || before != nil {
			return nil, refusal
		}
		plan.Writes = nil
		d.waitForZone(plan, refusal.Reason, refusal.Message)
		return plan, nil
	}
	h := *holding
	if (before == nil) != (after == nil) {
		if h.Delegations++; after == nil {
			h.Delegations -= 2
		}
	}
	if after != nil {
		plan.Delegation = &DelegationPlacement{Zone: &z.Ref, Reason: ReasonAccepted,
			Message: fmt.Sprintf("the rules are in force in zone %s", z.FQDN())}
		if !ask.Cascade {
			warnOfDeadPatterns(plan, z, *after)
		}
	}
	if len(changed) == 0 {
		d.releaseNow(plan, z)
		return plan, nil
	}
	if !ask.Covered && !z.Terminating {
		if refusal := d.oweScans(plan, z, changed, before, after); refusal != nil {
			return nil, refusal
		}
	}
	d.releaseNow(plan, z)
	plan.Zone = &ZoneChange{Zone: z, Holding: &h}
	if (before == nil) != (after == nil) {
		plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, z.FQDN()), Value: &h})
	}
	return plan, nil
}

// releaseNow ends the periods of the namespaces that the write names for that.
func (d *delegationDecision) releaseNow(plan *Plan, z *Zone) {
	if before, after := d.ask.Before, d.ask.After; before != nil && after != nil {
		d.reading.releaseNow(plan, z, before.ReleaseNow, after.ReleaseNow, d.ask.WorkID, d.ask.Now)
	}
}

func (d *delegationDecision) waitForZone(plan *Plan, reason, message string) {
	plan.Orphan = &Waiting{Zone: &Ref{Namespace: d.ask.Namespace, Name: d.ask.After.Zone}}
	plan.Delegation = &DelegationPlacement{Reason: reason, Message: message}
	if !d.ask.Cascade {
		plan.Warnings = append(plan.Warnings, message)
	}
}

// writeRules writes the rules of each namespace, and returns the namespaces for which they change.
func (d *delegationDecision) writeRules(plan *Plan, z *Zone, before, after *Rule) (changed []string, refusal *Refusal) {
	var namespaces []string
	for _, r := range []*Rule{before, after} {
		if r != nil {
			namespaces = append(namespaces, r.Namespaces...)
		}
	}
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	ks := make([]Key, 0, len(namespaces))
	for _, ns := range namespaces {
		ks = append(ks, RulesKey(z.UID, ns))
	}
	d.askAll(ks)
	for i, ns := range namespaces {
		have := get[NamespaceRules](d.reading, ks[i])
		next := &NamespaceRules{}
		octets, was := 0, 0
		if have != nil {
			for _, r := range have.List {
				was += r.countOctets()
				if r.Name != d.ask.Name {
					next.List, octets = append(next.List, r), octets+r.countOctets()
				}
			}
		}
		if after != nil && slices.Contains(after.Namespaces, ns) {
			rule := DelegatedRule{Name: d.ask.Name, UID: d.ask.UID, Rule: *after}
			next.List, octets = append(next.List, rule), octets+rule.countOctets()
			slices.SortFunc(next.List, func(x, y DelegatedRule) int { return strings.Compare(x.Name, y.Name) })
		}
		if have == nil && len(next.List) == 0 || have != nil && sameRules(have.List, next.List) {
			continue
		}
		if octets > MaxDelegatedOctets && octets > was {
			return nil, &Refusal{Kind: Invalid, Field: "spec.namespaces", Value: ns, Reason: ReasonLimitExceeded, Message: fmt.Sprintf(
				"the Delegations of zone %s would give namespace %q rules of %d octets, and one namespace may have %d (S4.4; "+
					"replace several patterns by one with *, or delegate a child zone)", z.FQDN(), ns, octets, MaxDelegatedOctets)}
		}
		changed = append(changed, ns)
		var value any
		if len(next.List) > 0 {
			value = next
		}
		plan.Writes = append(plan.Writes, Write{Key: ks[i], Value: value})
	}
	return changed, nil
}

func sameRules(x, y []DelegatedRule) bool {
	return slices.EqualFunc(x, y, func(x, y DelegatedRule) bool {
		return x.Name == y.Name && x.UID == y.UID && x.Rule.text() == y.Rule.text()
	})
}

// maxOwed bounds the scans and the namespaces that one Delegation owes. Where the Delegation changes faster than that
// is carried out, the next change waits.
const maxOwed = 128

// oweScans owes another decision about the records that the change may concern (S2.5): those of the namespaces whose
// rules changed. A standing item is extended, not put twice.
// It does not unsettle the zone (S7.2): each step is delivered as it comes, so that no delivery waits for a tenant's
// records.
func (d *delegationDecision) oweScans(plan *Plan, z *Zone, changed []string, before, after *Rule) *Refusal {
	ask := &d.ask
	id := DelegationWorkID(ask.Namespace, ask.Name)
	standing := get[Work](d.reading, WorkKey(id))
	w := &Work{ID: id, Reason: fmt.Sprintf("Delegation %s of zone %s changed", ask.Name, z.FQDN()), View: z.View, By: ask.Namespace,
		Since: ask.Now.Unix(), Unmarked: true}
	if standing != nil {
		*w = *standing
		w.Scans = slices.Clone(w.Scans)
		w.Times++ // the server that carries it out begins again
	}
	w.Left = ""
	if ask.Terminating {
		w.Left = ask.Namespace
	}
	add := func(s Scan) {
		for i := range w.Scans {
			x := w.Scans[i]
			if x.Namespaces = s.Namespaces; !reflect.DeepEqual(x, s) {
				continue
			}
			all := append(slices.Clone(w.Scans[i].Namespaces), s.Namespaces...)
			slices.Sort(all)
			w.Scans[i].Namespaces = slices.Compact(all)
			return
		}
		w.Scans = append(w.Scans, s)
	}
	target := &Ref{Namespace: z.Namespace, Name: z.Name}
	add(Scan{Kind: ScanNamespaces, Zone: z.UID, View: z.View, Name: z.FQDN(), Target: target, Namespaces: changed})
	if before != nil && len(before.Zones) > 0 || after != nil && len(after.Zones) > 0 {
		add(Scan{Kind: ScanZones, View: z.View, Name: z.FQDN(), Namespaces: changed})
	}
	namespaces := 0
	for i := range w.Scans {
		namespaces = max(namespaces, len(w.Scans[i].Namespaces))
	}
	if len(w.Scans) > maxOwed || namespaces > maxOwed {
		return &Refusal{Kind: Later, Message: "the last changes of this Delegation are still being carried out; " +
			"change it again when they are through"}
	}
	plan.Work = w
	return nil
}
