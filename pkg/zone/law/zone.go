// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

type Ref struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// ZoneSettings holds the part of a Zone's spec and annotations that decisions only read.
type ZoneSettings struct {
	ZoneRules     // from spec.delegations and spec.limits
	MinimumSerial *uint32
	Terminating   bool
	// Grace is spec.withdrawalGracePeriod in seconds: how long data stays after rules stop allowing it.
	Grace    int64
	HasClass bool
	// MaxDeletePercent is the share of RRsets that the zone's own namespace may remove at once. A larger removal is
	// held back. Publish is the serial in the annotation kubi.zone/publish-deletions, set to let the removal through,
	// or nil.
	MaxDeletePercent int64
	Publish          *uint32
	// ReleaseNow lists the namespaces in the annotation kubi.zone/release-now. Their grace period ends at once.
	ReleaseNow []string
	// DS holds the zone's DS data for the parent zone, sorted.
	DS []string
	// Reverse is spec.reverse, or nil.
	Reverse *Reverse
}

// Reverse is spec.reverse of a zone: the Records whose addresses have PTR records in the zone.
type Reverse struct {
	Zones      []string // objects of the zone's namespace
	Namespaces []string // of the Records; empty for the zone's own
	Prefixes   []netip.Prefix
	All        bool
}

// Covers reports whether an address of a Record in a namespace may have PTR in a zone of the namespace own.
func (r *Reverse) Covers(own, namespace string, address netip.Addr) bool {
	isNamed := slices.Contains(r.Namespaces, namespace) || len(r.Namespaces) == 0 && namespace == own
	return isNamed && (len(r.Prefixes) == 0 || slices.ContainsFunc(r.Prefixes, func(p netip.Prefix) bool { return p.Contains(address) }))
}

// ZoneRules holds the settings whose change repeats decisions (ChangedRules).
type ZoneRules struct {
	Rules []rules.Rule
	// RecordsPerNamespace limits a tenant's records. 0 means no limit.
	RecordsPerNamespace int64
	// MinTTL is the least TTL in seconds of a tenant's record. 0 means no limit.
	MinTTL int64
}

type Zone struct {
	Ref
	View   string
	Header content.Header
	// NSSets holds the RRsets of spec.nameServers, and NSHosts its hosts at or below the apex (own names).
	NSSets  []content.RRset
	NSHosts []name.Rel
	ZoneSettings
	// Pending is true for a zone without a name. Such a zone waits for ZoneRef or, after its end, for a rule that
	// delegates WantedName.
	Pending    bool
	ZoneRef    *Ref
	WantedName name.Name
	// Ending is true for a pending zone until its former keys are purged. A zone recreated before would lose its own
	// keys, of the same UID.
	Ending bool
	// Served is true if the zone is delegated and servable, without a class: settled content is Ready.
	Served bool
	// ClassNameServers is true if every class has its own name servers, and none gets the NS records at the apex.
	ClassNameServers bool

	Serial serial.Serial
	// Changed is the time of Serial in Unix seconds, or 0.
	Changed int64
	// SettledSerial is the delivered serial, or 0 for none.
	SettledSerial serial.Serial
	// N is the number of the last step. State, Rows and RRsets do not include NSSets.
	N            uint64
	State        [32]byte
	Rows, RRsets int
	Deletions    Deletions

	delegated []rules.Rule // of Delegations, after WithRulesFor
}

func (z *Zone) FQDN() name.Name { return z.Header.FQDN }

// NextTime returns the time of the zone's next step in Unix seconds: now, but not before the last step. So a question
// by time finds every step, although a clock stepped back, or another server's clock is behind.
func (z *Zone) NextTime(now time.Time) int64 { return max(z.Changed, now.Unix()) }

// SetNameServers sets NSSets and NSHosts from the Header. An invalid name is left out.
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

// ChangedRules returns the namespaces whose Records a change of a Zone's rules may affect. If changed is true and
// namespaces is nil, Records of every namespace are affected.
func ChangedRules(before, after *Zone) (namespaces []string, changed bool) {
	newRulesOnly := before.ZoneRules
	newRulesOnly.Rules = after.Rules
	otherSettingChanged := !reflect.DeepEqual(newRulesOnly, after.ZoneRules)
	if otherSettingChanged {
		return nil, true
	}
	if reflect.DeepEqual(before.Rules, after.Rules) {
		return nil, false
	}

	// A rule in both lists gets 0.
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
			isShared := slices.ContainsFunc(r.Records, func(rr rules.RecordRule) bool { return rr.Shared })
			if len(r.Namespaces) == 0 || isShared { // a shared rule also changes which namespaces its names refuse
				return nil, true
			}
			namespaces = append(namespaces, r.Namespaces...)
		}
	}

	slices.Sort(namespaces)
	return slices.Compact(namespaces), len(namespaces) > 0
}

// ChangedNames returns the sorted names that rules reserve for other namespaces than before.
func ChangedNames(before, after *Zone) (names []name.Rel) {
	namespaces := [2]map[name.Rel][]string{{}, {}}
	for i, z := range []*Zone{before, after} {
		for _, named := range z.RuleSet().ListNamed() {
			namespaces[i][named.Name] = named.Namespaces
			names = append(names, named.Name)
		}
	}
	slices.SortFunc(names, name.Rel.Compare)
	// A name on a single side has no namespaces on the other.
	return slices.DeleteFunc(slices.Compact(names), func(n name.Rel) bool { return slices.Equal(namespaces[0][n], namespaces[1][n]) })
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

// DigestRules returns a digest of a namespace's rules for records or, if zones is true, for zones. The order of the
// rules does not count.
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

func (o *Owner) HasOwnClaim(z *Zone) bool { return o.HasClaimOf(z.Namespace) }

// HasClaimOf reports whether the namespace keeps other tenants from the name.
func (o *Owner) HasClaimOf(namespace string) bool {
	c := o.ClaimOf(namespace)
	return c != nil && c.Holds()
}

func (o *Owner) HasTenantClaim(z *Zone) bool {
	return o != nil && slices.ContainsFunc(o.Claims, func(c Claim) bool { return c.Namespace != z.Namespace })
}

// Deletions counts RRsets over time to detect a mass deletion by the zone's own namespace, which stops deliveries. Only
// writes of the Zone object change the counts. Periods last ten minutes.
type Deletions struct {
	// Own is the number of RRsets added by the own namespace, less the number removed. It may be negative.
	Own int
	// PeriodStart is in Unix seconds.
	PeriodStart int64
	// LeastStocks holds the least stock (RRsets and Own at one time) of the present period and of the two before. The
	// stock after a write is included at the next write.
	LeastStocks [3]Stock
	// PeakStock is the stock with the greatest Own in the present period, or nil if the owner let the period's removals
	// through.
	PeakStock *Stock
}

// Stock holds the number of RRsets and Deletions.Own at one time.
type Stock struct {
	RRsets int `json:"rrsets"`
	Own    int `json:"own"`
}

// TypesAt returns the number of different types at a name: types, and those of spec.nameServers and, at the apex, SOA
// and NS. It overwrites types.
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

// CountOctets estimates the stored size of a rule in octets.
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
