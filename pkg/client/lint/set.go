// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/lawform"
)

// set judges the objects of all files together, as an empty server would. If a file names a zone that no file defines,
// the set assumes the zone, with a rule for every name, because its rules are unknown.
type set struct {
	store        *store
	assumedZones map[string]bool // by uid
	// refusedZones has the names of refused zones. Objects at or below them are not judged.
	refusedZones []name.Name
	// warnedTexts are the warnings already given.
	warnedTexts map[string]bool
}

type verdict struct {
	errs, warnings []string
	// forbidden has the refusals of objects that no rule of the files allows. Each is in warnings, too.
	forbidden []string
}

// judgeSet judges objects together, in the order in which a server would take them all: zones, Delegations, Records.
// The verdicts are added to the objects.
func judgeSet(all []*judged) {
	s := &set{store: newStore(), assumedZones: map[string]bool{}, warnedTexts: map[string]bool{}}

	// 1. Of objects with the same kind and name, the last counts, as with kubectl apply.
	last := map[string]*judged{}
	for _, one := range all {
		last[one.id] = one
	}
	counted := slices.DeleteFunc(slices.Clone(all), func(one *judged) bool { return last[one.id] != one || len(one.errs) > 0 })
	ofZones, delegations := listKind[*v1alpha1.Zone](counted), listKind[*v1alpha1.Delegation](counted)

	// 2. Make all objects, without warnings about the order.
	s.placeZones(ofZones)
	for _, one := range delegations {
		s.placeDelegation(one)
	}
	var placed []*placedRecord
	for _, one := range listKind[*v1alpha1.Record](counted) {
		if r := s.placeRecord(one); r != nil {
			placed = append(placed, r)
		}
	}
	// Decide each object again, with all others in place, because another object may resolve a warning.
	for _, r := range slices.Backward(placed) {
		s.judgeRecord(r)
	}
	for _, one := range ofZones {
		s.judgeZone(one)
	}
	for _, one := range delegations {
		s.judgeDelegation(one)
	}
	for _, one := range listKind[*v1alpha1.UpdateKey](counted) {
		s.judgeKey(one)
	}
}

// listKind returns the objects of a Go type.
func listKind[T runtime.Object](all []*judged) []*judged {
	return slices.DeleteFunc(slices.Clone(all), func(one *judged) bool {
		_, is := one.object.(T)
		return !is
	})
}

// placeZones makes the zones, parents first. A zoneRef waits for its Zone. If no zone can be made any more, the first
// is made with an assumed parent.
func (s *set) placeZones(all []*judged) {
	labels := func(one *judged) int { return strings.Count(one.object.(*v1alpha1.Zone).Spec.DomainName, ".") }
	left := slices.Clone(all)
	// Few labels first: example.org. before apps.example.org.
	slices.SortStableFunc(left, func(x, y *judged) int { return cmp.Compare(labels(x), labels(y)) })
	for assume := false; len(left) > 0; {
		var later []*judged
		for _, one := range left {
			if !s.placeZone(one, assume) {
				later = append(later, one)
			} else {
				assume = false
			}
		}
		if len(later) == len(left) {
			assume = true // a zoneRef without a zone in the files, or in a circle
		}
		left = later
	}
}

// placeZone makes a zone, and adds the refusal or warnings to the verdict. The result is false if the Zone of the
// zoneRef is still missing and may not be assumed.
func (s *set) placeZone(one *judged, assume bool) bool {
	zone := one.object.(*v1alpha1.Zone)
	spec, err := lawform.ZoneSpec(zone)
	if err != nil {
		one.errs = append(one.errs, err.Error())
		return true
	}
	if ref := spec.ZoneRef; ref != nil && s.store.zones[key{ref.Namespace, ref.Name}] == nil {
		if !assume {
			return false
		}
		spec = s.withZone(spec)
	}
	if s.store.zones[key{zone.Namespace, zone.Name}] != nil {
		return true // assumed in a circle of zoneRefs
	}
	plan, refused := s.store.makeZone(*spec)
	if refused != nil {
		s.addRefusal(one, refused, false)
		// Go on as if the rule were there, so that the Records of the zone are judged too.
		if refused.Reason == law.ReasonNotDelegated && s.assumeRule(spec) {
			plan, refused = s.store.makeZone(*spec)
		}
	}
	if refused != nil {
		if fqdn, err := name.Parse(zone.Spec.DomainName); err == nil {
			s.refusedZones = append(s.refusedZones, fqdn)
		}
		return true
	}
	for _, w := range plan.Warnings {
		// Warnings with a reason may be resolved by a later object. judgeZone adds those that stay.
		if w.Reason == "" {
			s.addWarning(one, w)
		}
	}
	return true
}

// assumeRule adds a rule that delegates the child to the zone above, because a Delegation may be in a file that was not
// read. The result is false if no zone is above, or the child's name is invalid.
func (s *set) assumeRule(child *zones.ZoneSpec) bool {
	origin := name.Root
	if ref := child.ZoneRef; ref != nil && s.store.zones[key{ref.Namespace, ref.Name}] != nil {
		origin = s.store.zones[key{ref.Namespace, ref.Name}].FQDN()
	}
	fqdn, err := name.ParseIn(child.DomainName, origin)
	above, ok := fqdn.Parent()
	parent := s.store.findEnclosing(child.View, above)
	if err != nil || !ok || parent == nil {
		return false
	}
	owner, _ := fqdn.Rel(parent.FQDN())
	names, err := pattern.Parse(owner.String())
	if err != nil {
		return false
	}
	parent.Rules = append(slices.Clone(parent.Rules), rules.Rule{Namespaces: []string{child.Namespace}, Zones: []pattern.Pattern{names}})
	parent.SetNameServers()
	return true
}

// withZone returns a child's spec that can be judged without the Zone of its zoneRef, which the files lack: without the
// zoneRef if the name is absolute, else as it is, with that Zone assumed under a placeholder's name.
func (s *set) withZone(spec *zones.ZoneSpec) *zones.ZoneSpec {
	if name.IsAbsolute(spec.DomainName) {
		out := *spec
		out.ZoneRef = nil
		return &out
	}
	s.assumeZone(*spec.ZoneRef, spec.View, s.nextPlaceholder())
	return spec
}

func (s *set) nextPlaceholder() name.Name {
	fqdn, _ := name.Parse(fmt.Sprintf("zoneref-%d.invalid.", len(s.assumedZones)))
	return fqdn
}

var (
	belowPlaceholder = regexp.MustCompile(`\.zoneref-\d+\.invalid\.`)
	atPlaceholder    = regexp.MustCompile(`zoneref-\d+\.invalid\.`)
)

func withoutPlaceholder(text string) string {
	text = belowPlaceholder.ReplaceAllLiteralString(text, " below its zone's name")
	return atPlaceholder.ReplaceAllLiteralString(text, "its zone's name")
}

func (s *set) isAssumed(z *law.Zone) bool { return s.assumedZones[z.UID] }

// assumeZone makes a zone absent from the files, with a rule for every name. The result is nil if the zone is refused.
func (s *set) assumeZone(ref law.Ref, view string, fqdn name.Name) *law.Zone {
	everything := func(text string) pattern.Pattern {
		p, _ := pattern.Parse(text)
		return p
	}
	spec := zones.ZoneSpec{Ref: law.Ref{Namespace: ref.Namespace, Name: ref.Name}, DomainName: fqdn.String(), View: view,
		Header: content.Header{NameServers: []content.NameServer{{Name: "ns.invalid."}}}}
	rule := rules.Rule{Zones: []pattern.Pattern{everything("*")}}
	for _, text := range []string{"@", "*"} {
		rule.Records = append(rule.Records, rules.RecordRule{Pattern: everything(text), Text: text})
	}
	spec.Rules = []rules.Rule{rule}
	plan, refused := s.store.makeZone(spec)
	if refused != nil {
		return nil
	}
	s.assumedZones[plan.Zone.Zone.UID] = true
	return plan.Zone.Zone
}

// addRefusal adds a refusal to the verdict. A missing rule is only a warning (L2), and nothing if the zone is assumed.
func (s *set) addRefusal(one *judged, refused *law.Refusal, assumed bool) {
	text := withoutPlaceholder(refused.Message)
	switch refused.Kind {
	case law.Forbidden:
		// The rules of an assumed zone are unknown, so a refusal by them says nothing.
		if !assumed {
			one.forbidden = append(one.forbidden, text)
			one.warnings = append(one.warnings, "no rule of the files allows it, and the server refuses it without another: "+text)
		}
	case law.Duplicate:
		one.errs = append(one.errs, (&field.Error{Type: field.ErrorTypeDuplicate, Field: refused.Field, BadValue: refused.Value,
			Detail: text}).Error())
	case law.Invalid:
		value := refused.Value
		if value == nil {
			// Without a value, the error has only field and text.
			value = field.OmitValueType{}
		}
		one.errs = append(one.errs, field.Invalid(field.NewPath(cmp.Or(refused.Field, "spec")), value, text).Error())
	}
}

// S4.13 warns of others' values, which the files show.
func (s *set) addWarning(one *judged, w law.Warning) {
	if w.Rule == "S4.13" {
		return
	}
	text := refusal.Warning(w.Rule, withoutPlaceholder(w.Text))
	if !s.warnedTexts[text] {
		s.warnedTexts[text] = true
		one.warnings = append(one.warnings, text)
	}
}

func (s *set) isRefused(fqdn name.Name) bool {
	return slices.ContainsFunc(s.refusedZones, func(zone name.Name) bool { return zone.Encloses(fqdn) })
}

// judgeZone adds the warnings of a zone, with all objects in place.
func (s *set) judgeZone(one *judged) {
	zone := one.object.(*v1alpha1.Zone)
	z := s.store.zones[key{zone.Namespace, zone.Name}]
	spec, err := lawform.ZoneSpec(zone)
	if z == nil || s.isAssumed(z) || err != nil {
		return
	}
	h := s.store.holding(z)
	lacks := validation.BareZoneWarnings(zone)
	// A Delegation counts as a rule.
	if text := lacks[v1alpha1.WarningNoRules]; text != "" && h.Delegations == 0 {
		one.warnings = append(one.warnings, text)
	}
	if text := lacks[v1alpha1.ReasonNoNameServers]; text != "" && len(h.ApexNS) == 0 {
		one.warnings = append(one.warnings, text)
	}
	if plan, refused := s.store.amendZone(*spec); refused == nil {
		for _, w := range plan.Warnings {
			s.addWarning(one, w)
		}
	}
	s.warnOfElsewhere(one, z, spec.Rules)
}

func (s *set) warnOfElsewhere(one *judged, z *law.Zone, list []rules.Rule) {
	isZone := func(n name.Name) bool { return n != z.FQDN() && s.store.isZone(z.View, n) }
	if texts := rules.FindElsewhere(list, z.FQDN(), z.Namespace, isZone); len(texts) > 0 {
		s.addWarning(one, law.Warning{Rule: "S2.1", Text: rules.AdviseElsewhere(z.FQDN(), texts)})
	}
}

func (s *set) placeDelegation(one *judged) {
	of := one.object.(*v1alpha1.Delegation)
	at := key{of.Namespace, of.Spec.ZoneRef.Name}
	spec, err := lawform.DelegationSpec(of)
	// The Zone is not in the files: the Delegation waits, and the server warns of nothing.
	if err != nil || s.store.zones[at] == nil {
		return
	}
	if _, refused := s.store.makeDelegation(key{of.Namespace, of.Name}, *spec, true); refused != nil {
		s.addRefusal(one, refused, false)
	}
}

// judgeDelegation adds the warnings of a Delegation, with all objects in place. They come from a copy of another name,
// whose decision is not stored.
func (s *set) judgeDelegation(one *judged) {
	of := one.object.(*v1alpha1.Delegation)
	z := s.store.zones[key{of.Namespace, of.Spec.ZoneRef.Name}]
	spec, err := lawform.DelegationSpec(of)
	if err != nil || z == nil || s.isAssumed(z) || len(one.errs) > 0 {
		return
	}
	if plan, refused := s.store.makeDelegation(key{of.Namespace, of.Name + "-lint"}, *spec, false); refused == nil {
		for _, w := range plan.Warnings {
			s.addWarning(one, w)
		}
	}
	s.warnOfElsewhere(one, z, []rules.Rule{spec.Rule})
}

type placedRecord struct {
	*judged
	record  *law.Record
	plan    *law.Plan
	assumed *law.Zone // nil if the zone is in the files
}

// placeRecord makes a Record in the zone that takes the name, or in an assumed zone. The result is nil if the Record
// cannot be judged further, because of an own error or a refused zone.
func (s *set) placeRecord(one *judged) *placedRecord {
	of := one.object.(*v1alpha1.Record)
	r, err := lawform.Record(of)
	if err != nil {
		one.errs = append(one.errs, err.Error())
		return nil
	}
	p := &placedRecord{judged: one, record: r}
	fqdn, notAbsolute := name.Parse(r.DomainName)
	var z *law.Zone

	// 1. A zoneRef decides the zone. The Zone may be missing from the files.
	if ref := r.ZoneRef; ref != nil {
		z = s.store.zones[key{ref.Namespace, ref.Name}]
		switch {
		case z == nil && notAbsolute == nil:
			// The name is absolute, so a zone of the files may still enclose it.
			r.ZoneRef = nil
		case z == nil:
			// A relative name needs the name of a zone: a placeholder below invalid.
			if z = s.assumeZone(*ref, r.View, s.nextPlaceholder()); z == nil {
				return nil
			}
		}
		if z != nil {
			fqdn, _ = name.ParseIn(r.DomainName, z.FQDN())
		}
	}

	// 2. The zone that encloses the name, otherwise an assumed zone of two labels: example.org. for www.example.org.
	if r.ZoneRef == nil {
		z = s.store.findEnclosing(r.View, fqdn)
		if z == nil {
			z = s.assumeZone(law.Ref{Namespace: r.Namespace, Name: "assumed-" + fqdn.String()}, r.View, siteOf(fqdn))
		}
		if z == nil {
			return nil
		}
	}
	if s.isAssumed(z) {
		p.assumed = z
	}
	// The refusal of the zone would be repeated for each Record there.
	if s.isRefused(fqdn) {
		return nil
	}
	p.plan, _ = s.store.makeRecord(r)
	return p
}

func siteOf(fqdn name.Name) name.Name {
	for fqdn.NumLabels() > 2 {
		fqdn, _ = fqdn.Parent()
	}
	return fqdn
}

// judgeRecord decides a Record again, after removal, with all other objects in place, and adds the refusal or the
// warnings.
func (s *set) judgeRecord(p *placedRecord) {
	if p.plan != nil && p.plan.Record.Zone != nil {
		// Otherwise the Record would be in conflict with itself.
		s.store.removeRecord(p.record, p.plan)
	}
	plan, refused := s.store.makeRecord(p.record)
	switch {
	case refused != nil:
		s.refuseRecord(p, refused)
	case plan.Record.Zone == nil: // waits for an object outside of the files
	default:
		s.warnOfRecord(p, plan)
	}
}

// refuseRecord adds a refusal, except at the apex of an assumed zone: its SOA and name servers are assumed, too.
func (s *set) refuseRecord(p *placedRecord, refused *law.Refusal) {
	at, _ := name.ParseIn(p.record.DomainName, name.Root)
	isAssumedApex := p.assumed != nil && (at == p.assumed.FQDN() || p.record.DomainName == "@")
	if !isAssumedApex {
		s.addRefusal(p.judged, refused, p.assumed != nil)
	}
}

func (s *set) warnOfRecord(p *placedRecord, plan *law.Plan) {
	z := s.store.zoneOf(plan)
	for _, w := range plan.Warnings {
		// Cuts, hosts and claims of an assumed zone are unknown.
		unknown := p.assumed != nil && (w.Reason != "" || strings.HasPrefix(w.Rule, "S4."))
		if !unknown && !s.isResolved(w, z, plan.Record.FQDN) {
			s.addWarning(p.judged, w)
		}
	}
}

// isResolved reports whether a warning is resolved by the objects of the files, or may be by objects of tenants outside
// of the files.
func (s *set) isResolved(w law.Warning, z *law.Zone, fqdn name.Name) bool {
	switch w.Reason {
	case law.WarningUnnamedGlue: // NS elsewhere in the zone may name the host
		return s.store.isNSHost(z, fqdn)
	case law.WarningOccludes: // the occluded Records have a warning each, zones have none
		return !slices.ContainsFunc(s.store.listZones(), func(below *law.Zone) bool {
			return below.View == z.View && below.FQDN() != fqdn && fqdn.Encloses(below.FQDN())
		})
	}
	return !w.Host.IsZero() && s.mayBeElsewhere(z, w.Host)
}

// mayBeElsewhere reports whether a rule gives the host's name to another namespace, whose Records are perhaps not in
// the files.
func (s *set) mayBeElsewhere(z *law.Zone, host name.Name) bool {
	return slices.ContainsFunc(s.store.listRules(z), func(r rules.Rule) bool {
		// Records of the zone's own namespace are in the files.
		if slices.Equal(r.Namespaces, []string{z.Namespace}) {
			return false
		}
		return slices.ContainsFunc(r.Records, func(rr rules.RecordRule) bool { return rr.Pattern.Match(host, z.FQDN()) }) ||
			slices.ContainsFunc(r.Zones, func(p pattern.Pattern) bool {
				// A child zone above the host could have the host's Records.
				for at, ok := host, true; ok && at != z.FQDN(); at, ok = at.Parent() {
					if p.Match(at, z.FQDN()) {
						return true
					}
				}
				return false
			})
	})
}

// judgeKey adds the warnings of an UpdateKey. Patterns in zones that the files lack cannot be judged, and then nothing
// is.
func (s *set) judgeKey(one *judged) {
	of := one.object.(*v1alpha1.UpdateKey)
	var given []v1alpha1.NameReviewRule
	for _, z := range s.store.listZones() {
		if s.isAssumed(z) || z.View != of.Spec.View {
			continue
		}
		isZone := func(n name.Name) bool { return n != z.FQDN() && s.store.isZone(z.View, n) }
		rule := v1alpha1.NameReviewRule{Zone: z.FQDN().String(), View: z.View}
		for _, r := range s.store.listRules(z) {
			for _, rr := range r.Records {
				// A rule counts unless all names of the pattern are in a zone below.
				if r.CoversNamespace(of.Namespace) && !rr.IsElsewhere(z.FQDN(), r.CoversNamespace(z.Namespace), isZone) {
					rule.Records = append(rule.Records, v1alpha1.RecordDelegation{Pattern: rr.Text})
				}
			}
		}
		given = append(given, rule)
	}
	if !slices.ContainsFunc(of.Spec.Records, func(r v1alpha1.UpdateKeyRecords) bool {
		fqdn, err := name.Parse(strings.TrimLeft(r.Pattern, "*."))
		if err != nil {
			return true
		}
		z := s.store.findEnclosing(of.Spec.View, fqdn)
		return z == nil || s.isAssumed(z)
	}) {
		one.warnings = append(one.warnings, validation.UpdateKeyWarnings(of, given)...)
	}
}

type judged struct {
	source string
	id     string
	object runtime.Object
	verdict
}
