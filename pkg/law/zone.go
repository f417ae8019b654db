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

type Ref struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// ZoneSettings are the part of a Zone's spec and annotations that decisions only read.
type ZoneSettings struct {
	ZoneRules
	MinimumSerial *uint32
	// Terminating is true while the Zone is being deleted.
	Terminating bool
	// Grace is spec.withdrawalGracePeriod in seconds: how long data stays that rules no longer allow.
	Grace int64
	// HasClass is true if the Zone names a DNSClass.
	HasClass bool
	// MaxDeletePercent is the share of RRsets that the zone's own namespace may remove at once. A larger removal is
	// held back. Publish is the serial in the annotation kubi.zone/publish-deletions, to let it through; nil for none
	// (S7.9).
	MaxDeletePercent int64
	Publish          *uint32
	// ReleaseNow has the namespaces in the annotation kubi.zone/release-now: for them Grace ends at once.
	ReleaseNow []string
	// DS has the zone's DS data for the parent zone, sorted.
	DS []string
}

// ZoneRules are the settings whose change repeats decisions about records and zones (ChangedRules, S2.5).
type ZoneRules struct {
	Rules []rules.Rule
	// RecordsPerNamespace bounds a tenant's records; 0: no bound.
	RecordsPerNamespace int64
}

type Zone struct {
	Ref
	View   string
	Header content.Header
	// NSSets are the RRsets of spec.nameServers, NSHosts its hosts at or below the apex, all own names (S6.2).
	// SetNameServers sets both.
	NSSets  []content.RRset
	NSHosts []name.Rel
	ZoneSettings
	// Pending is true for a zone without a name, waiting for ZoneRef or, after its end, for a rule at WantedName
	// (S3.2).
	Pending    bool
	ZoneRef    *Ref
	WantedName name.Name
	// Ending is true for a pending zone until its former keys are purged: a zone recreated before would lose its own,
	// of the same uid.
	Ending bool
	// Served is true if the zone is delegated, servable, and without data of a class: settled content is Ready (S6.13).
	Served bool
	// ClassNameServers is true if every class has its own name servers, so that none gets the apex NS (S6.15).
	ClassNameServers bool

	Serial serial.Serial
	// SettledSerial is the delivered serial; 0 if none was.
	SettledSerial serial.Serial
	// N is the number of the last step. State, Rows and RRsets do not cover NSSets.
	N            uint64
	State        [32]byte
	Rows, RRsets int
	Deletions    Deletions

	delegated []rules.Rule // of Delegations, after WithRulesFor
}

func (z *Zone) FQDN() name.Name { return z.Header.FQDN }

func (z *Zone) SetNameServers() {
	z.NSSets, z.NSHosts = z.Header.NameServerRRsets(), nil
	for _, ns := range z.Header.NameServers {
		text, err := content.HostName(ns.Name, z.FQDN())
		if err != nil {
			continue
		}
		if n, err := name.Parse(text); err == nil {
			if rel, ok := n.Rel(z.FQDN()); ok {
				z.NSHosts = append(z.NSHosts, rel)
			}
		}
	}
}

func (z *Zone) NSSetsAt(owner name.Rel) []content.RRset {
	var out []content.RRset
	for _, s := range z.NSSets {
		if s.Owner == owner {
			out = append(out, s)
		}
	}
	return out
}

func (z *Zone) visibleTo(namespace string) bool {
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

// ChangedRules returns the namespaces whose Records a change of rules may affect. If changed is true and namespaces
// nil, Records of all namespaces are affected, as by a shared or open rule, or RecordsPerNamespace.
func ChangedRules(before, after *Zone) (namespaces []string, changed bool) {
	rest := before.ZoneRules
	if rest.Rules = after.Rules; !reflect.DeepEqual(rest, after.ZoneRules) {
		return nil, true
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

// ChangedNames returns the names, sorted, reserved by rules for other namespaces than before.
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

func (z *Zone) ScansAt(names []name.Rel) (scans []Scan) {
	for _, n := range names {
		if at, err := n.In(z.FQDN()); err == nil {
			scans = append(scans, Scan{Kind: ScanMembers, Zone: z.UID, Owner: n}, Scan{Kind: ScanWaiting, View: z.View, Name: at},
				Scan{Kind: ScanZones, View: z.View, Name: at, At: true})
		}
	}
	return scans
}

func (z *Zone) DigestRules(namespace string, zones bool) Digest {
	var texts []string
	for _, r := range slices.Concat(z.Rules, z.delegated) {
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

func (o *Owner) HasOwnClaim(z *Zone) bool {
	c := o.ClaimOf(z.Namespace)
	return c != nil && c.Holds()
}

func (o *Owner) HasTenantClaim(z *Zone) bool {
	return o != nil && slices.ContainsFunc(o.Claims, func(c Claim) bool { return c.Namespace != z.Namespace })
}

// Deletions counts RRsets over time to detect a mass deletion by the zone's own namespace: deliveries then stop (S7.5).
// Only writes of the Zone object change it. Periods last ten minutes.
type Deletions struct {
	// Own is the number of RRsets added by the own namespace, less the removed. It may be negative.
	Own int
	// PeriodStart is in Unix seconds.
	PeriodStart int64
	// LeastStocks has the least stock (RRsets and Own at a time) in the present period and in the two before. The stock
	// after the last write is not included until the next write.
	LeastStocks [3]Stock
	// PeakStock is the stock at the greatest Own of the present period. It is nil if the owner has let the removals of
	// the period through (S7.9).
	PeakStock *Stock
}

// Stock is the number of RRsets and the Deletions.Own at a time.
type Stock struct {
	RRsets int `json:"rrsets"`
	Own    int `json:"own"`
}

// TypesAt counts the types at a name, with those of spec.nameServers, and SOA and NS at the apex. It overwrites types.
func (z *Zone) TypesAt(owner name.Rel, types []rdata.Type) int {
	if owner.IsApex() {
		types = append(types, rdata.SOA, rdata.NS)
	}
	for _, s := range z.NSSetsAt(owner) {
		types = append(types, s.Type)
	}
	slices.Sort(types)
	return len(slices.Compact(types))
}

// RuleSet returns the rules of the Zone and, after WithRulesFor, of Delegations.
func (z *Zone) RuleSet() *rules.Set {
	return &rules.Set{Zone: z.FQDN(), OwnNamespace: z.Namespace, Lists: [2][]rules.Rule{z.Rules, z.delegated}}
}

func (z *Zone) WithoutDelegated() *Zone {
	if z == nil || z.delegated == nil {
		return z
	}
	out := *z
	out.delegated = nil
	return &out
}

func (z *Zone) WithDelegated(delegated []DelegatedRule) *Zone {
	out := *z
	out.delegated = make([]rules.Rule, len(delegated))
	for i := range delegated {
		out.delegated[i] = delegated[i].Rule
	}
	return &out
}

type NamespaceRules struct {
	List []DelegatedRule `json:"d"`
}

type DelegatedRule struct {
	Name string     `json:"n"`
	UID  string     `json:"u"`
	Rule rules.Rule `json:"r"`
}

// CountOctets estimates the stored size, for MaxDelegatedOctets.
func (d *DelegatedRule) CountOctets() int {
	n := len(d.Name) + len(d.UID) + 32
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
