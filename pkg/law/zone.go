// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"reflect"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/rules"
)

// Ref names a zone object.
type Ref struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

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
	Rules []rules.Rule
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
	// ClassNameServers says that every class has name servers of its own for the zone, so its NS at the apex are not
	// delivered (S6.15).
	ClassNameServers bool

	Serial serial.Serial
	// SettledSerial is the serial that was delivered when the zone was last written.
	SettledSerial serial.Serial
	N             uint64
	State         [32]byte
	// Rows and RRsets count what records and cuts give the zone.
	Rows, RRsets int
	Deletions    Deletions

	// given are the rules that Delegations add for one namespace, in a decision that has asked for them.
	given []rules.Rule
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

func (z *Zone) MadeAt(owner name.Rel) []content.RRset {
	var out []content.RRset
	for _, s := range z.Made {
		if s.Owner == owner {
			out = append(out, s)
		}
	}
	return out
}

// knownTo reports whether the zone is of the namespace, or some rule of it is for the namespace. To other namespaces
// a zoneRef to it is answered as if there were no such zone (S2.3), so that refusals do not tell names and views of
// zones (S1.8).
func (z *Zone) knownTo(namespace string) bool {
	if z.Namespace == namespace {
		return true
	}
	for _, list := range z.RuleSet().Lists {
		if slices.ContainsFunc(list, func(r rules.Rule) bool { return len(r.Records)+len(r.Zones) > 0 && r.CoversNamespace(namespace) }) {
			return true
		}
	}
	return false
}

// ChangedRules returns the namespaces of the rules that came, went or changed. Records of other namespaces are
// decided as before (S2.5). It returns none where every namespace is concerned: the limit changed, or a rule for any
// namespace, or one with shared: true, which gives names to the zone's own namespace (S4.8). changed false: nothing
// but the order changed.
func ChangedRules(before, after *Zone) (namespaces []string, changed bool) {
	rest := before.ZoneRules
	if rest.Rules = after.Rules; !reflect.DeepEqual(rest, after.ZoneRules) {
		return nil, true // anything but the rules concerns every namespace
	}
	if reflect.DeepEqual(before.Rules, after.Rules) {
		return nil, false
	}
	differ := map[string]int{}
	for i := range before.Rules {
		differ[before.Rules[i].Text()]--
	}
	for i := range after.Rules {
		differ[after.Rules[i].Text()]++
	}
	for _, list := range [][]rules.Rule{before.Rules, after.Rules} {
		for i := range list {
			r := &list[i]
			if differ[r.Text()] == 0 {
				continue
			}
			if len(r.Namespaces) == 0 || slices.ContainsFunc(r.Records, func(rr rules.RecordRule) bool { return rr.Shared }) {
				return nil, true
			}
			namespaces = append(namespaces, r.Namespaces...)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), len(namespaces) > 0
}

// ChangedNames returns the names that rules of the Zone name for other namespaces than before, sorted: what any
// namespace has there is decided anew (S4.20).
func ChangedNames(before, after *Zone) (names []name.Rel) {
	had, has := before.RuleSet().ListNamed(), after.RuleSet().ListNamed()
	for len(had)+len(has) > 0 {
		switch {
		case len(has) == 0 || len(had) > 0 && had[0].Name.Compare(has[0].Name) < 0:
			names, had = append(names, had[0].Name), had[1:]
		case len(had) == 0 || had[0].Name.Compare(has[0].Name) > 0:
			names, has = append(names, has[0].Name), has[1:]
		default:
			if !slices.Equal(had[0].Namespaces, has[0].Namespaces) {
				names = append(names, had[0].Name)
			}
			had, has = had[1:], has[1:]
		}
	}
	return names
}

// ScansAt are the scans of a work that decides anew what any namespace has at and below names of the zone.
func (z *Zone) ScansAt(names []name.Rel) (scans []Scan) {
	for _, n := range names {
		if at, err := n.In(z.FQDN()); err == nil {
			scans = append(scans, Scan{Kind: ScanMembers, Zone: z.UID, Owner: n}, Scan{Kind: ScanWaiting, View: z.View, Name: at},
				Scan{Kind: ScanZones, View: z.View, Name: at, At: true})
		}
	}
	return scans
}

// DigestRules identifies what the rules of z, of reading.ruledFor, allow the namespace of records or of zones.
func (z *Zone) DigestRules(namespace string, zones bool) Digest {
	var texts []string
	for _, r := range slices.Concat(z.Rules, z.given) {
		one := rules.Rule{Records: r.Records}
		if zones {
			one = rules.Rule{Zones: r.Zones}
		}
		if r.CoversNamespace(namespace) && len(one.Records)+len(one.Zones) > 0 {
			texts = append(texts, one.Text())
		}
	}
	slices.Sort(texts)
	return DigestOf(strings.Join(texts, "\n"))
}

// IsOwn reports whether the zone's own namespace has a record of which the owner is the base name, but those at
// underscore names.
func (o *Owner) IsOwn(z *Zone) bool {
	c := o.ClaimOf(z.Namespace)
	return c != nil && c.Names()
}

// HasTenant reports whether another namespace than the zone's has a claim at the owner.
func (o *Owner) HasTenant(z *Zone) bool {
	return o != nil && slices.ContainsFunc(o.Claims, func(c Claim) bool { return c.Namespace != z.Namespace })
}

// Deletions are the numbers by which a mass deletion is found.
type Deletions struct {
	// Own is the number of RRsets that the zone's own namespace has put since the zone was made, less those that it
	// has taken. Only differences of it mean something.
	Own int
	// Since is when the present period began, unix seconds.
	Since int64
	// Least has the least numbers of the present period, of the one before, and of the one before that. It lacks the
	// content since the last write, which the next write adds.
	Least [3]Stock
	// Most is what the zone had in the present period when Own was greatest; nil: the zone's own namespace had removals
	// let through beforehand, and none of this period holds the zone (S7.9).
	Most *Stock
}

// Stock is what a zone had: RRsets, and Own as in Deletions.
type Stock struct {
	RRsets int `json:"rrsets"`
	Own    int `json:"own"`
}

// TypesAt counts the types at a name, together with those that the zone makes there: the SOA, and the NS and
// addresses of spec.nameServers. At the apex NS always counts, since the zone is not servable without it. It changes
// types.
func (z *Zone) TypesAt(owner name.Rel, types []rdata.Type) int {
	if owner.IsApex() {
		types = append(types, rdata.SOA, rdata.NS)
	}
	for _, s := range z.MadeAt(owner) {
		types = append(types, s.Type)
	}
	slices.Sort(types)
	return len(slices.Compact(types))
}

// The rules of Delegations are stored beside those of the Zone (S4.3). Each namespace that they are for has one key
// of the zone, with all its rules. So a decision about a namespace reads one key, however many Delegations the zone
// has. These keys change only together with the Zone object, as every key of a zone does (I5). The holding has the
// number of Delegations, so that a zone without any costs no fact.

// RuleSet returns the rules of the Zone, and those that Delegations give the namespace of the decision.
func (z *Zone) RuleSet() *rules.Set {
	return &rules.Set{Zone: z.FQDN(), Own: z.Namespace, Lists: [2][]rules.Rule{z.Rules, z.given}}
}

// WithoutGiven is the zone without what Delegations give. The stored and remembered zone has to hold for
// every namespace.
func (z *Zone) WithoutGiven() *Zone {
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
	out.given = make([]rules.Rule, len(delegated))
	for i := range delegated {
		out.given[i] = delegated[i].Rule
	}
	return &out
}

// NamespaceRules are the rules that Delegations give a namespace in a zone, in the order of their names.
type NamespaceRules struct {
	List []DelegatedRule `json:"d"`
}

// DelegatedRule is the rule of one Delegation, which is in the namespace of the zone.
type DelegatedRule struct {
	Name string     `json:"n"`
	UID  string     `json:"u"`
	Rule rules.Rule `json:"r"`
}

// CountOctets returns what a rule counts against MaxDelegatedOctets: about what it takes in the store.
func (d *DelegatedRule) CountOctets() int {
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
