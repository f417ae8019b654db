// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

type Rule struct {
	Records    []RecordRule
	Zones      []pattern.Pattern
	Namespaces []string
	// DS is true if the zone lists the DS records of child zones allowed by this rule.
	DS bool
}

type RecordRule struct {
	Pattern pattern.Pattern
	Text    string
	// If Types is empty, all types are allowed but the types of MustName.
	Types  []rdata.Type
	Shared bool
}

// namedOnly are the types that a rule for tenants must name. Any rule must name a type by number, because nothing
// validates the octets.
var namedOnly = []rdata.Type{rdata.NS, rdata.DS, rdata.DNSKEY, rdata.CDS, rdata.CDNSKEY, rdata.CSYNC, rdata.DNAME}

func (r *Rule) CoversNamespace(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// Text returns the stored form, equal for equal rules.
func (r *Rule) Text() string {
	text, err := r.MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("law: a rule has no stored form: %v", err))
	}
	return string(text)
}

func (r *RecordRule) allowsType(t rdata.Type, own bool) bool {
	if len(r.Types) > 0 {
		return slices.Contains(r.Types, t)
	}
	return !MustName(t, own)
}

// MustName reports whether a rule must name the type to allow it.
func MustName(t rdata.Type, own bool) bool {
	return t.ByNumber() || !own && slices.Contains(namedOnly, t)
}

func (r *Rule) HasSharedLiteral(owner name.Rel, zone name.Name) bool {
	at, err := owner.In(zone)
	return err == nil && slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Shared && rr.Pattern.IsLiteralFor(at, zone) })
}

func (r *Rule) SharesName(owner name.Rel, zone name.Name) bool {
	at, err := owner.In(zone)
	return err == nil && slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Shared && rr.Pattern.Match(at, zone) })
}

func (r *Rule) SharesBelow(owner name.Rel, zone name.Name) bool {
	at, err := owner.In(zone)
	return err == nil && slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Shared && rr.Pattern.MatchBelow(at, zone) })
}

// IsElsewhere reports whether a pattern for zones has no effect, because all its matches lie in another zone below
// (isZone), whose rules decide.
func IsElsewhere(p pattern.Pattern, zone name.Name, isZone func(name.Name) bool) bool {
	return slices.ContainsFunc(p.NamesAbove(zone), isZone)
}

// IsElsewhere reports whether a pattern for records has no effect, because all its matches are at or below another
// zone, where the upper zone keeps only DS.
func (rr *RecordRule) IsElsewhere(zone name.Name, own bool, isZone func(name.Name) bool) bool {
	only, literal := rr.Pattern.LiteralName(zone)
	return IsElsewhere(rr.Pattern, zone, isZone) || literal && only != zone && isZone(only) && !rr.allowsType(rdata.DS, own)
}

// FindElsewhere returns the patterns without effect, because zones below have all their matches (isZone), sorted.
func FindElsewhere(list []Rule, zone name.Name, ownNamespace string, isZone func(name.Name) bool) (texts []string) {
	for i := range list {
		for _, rr := range list[i].Records {
			if rr.IsElsewhere(zone, list[i].CoversNamespace(ownNamespace), isZone) {
				texts = append(texts, rr.Text)
			}
		}
		for _, p := range list[i].Zones {
			if IsElsewhere(p, zone, isZone) {
				texts = append(texts, p.String())
			}
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func AdviseElsewhere(zone name.Name, texts []string) string {
	return fmt.Sprintf("rules of zone %s give no name by the patterns %q: all these names lie in zones below, whose own rules "+
		"decide", zone, texts[:min(len(texts), 5)])
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

// UnmarshalJSON parses the stored form. An invalid pattern or unknown type is an error, so that no rule is lost in
// silence.
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
