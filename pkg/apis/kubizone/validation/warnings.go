// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strconv"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/pattern"
)

// maxWarnings bounds the warnings of one answer: each is a header of it.
const maxWarnings = 20

// PublishWarnings says where the annotation that lets deletions through names no serial (S7.5).
func PublishWarnings(after, before *v1alpha1.Zone) []string {
	text := after.Annotations[v1alpha1.AnnotationPublishDeletions]
	if text == "" || text == before.Annotations[v1alpha1.AnnotationPublishDeletions] {
		return nil
	}
	if n, err := strconv.ParseUint(text, 10, 32); err != nil || n == 0 {
		return []string{fmt.Sprintf("metadata.annotations[%s]: %q is no serial and lets nothing through; status.settledSerial, %d, "+
			"is the one to name (S7.9)", v1alpha1.AnnotationPublishDeletions, cut(text), after.Status.SettledSerial)}
	}
	return nil
}

// ZoneWarnings says what is legal in a Zone but most likely not meant.
func ZoneWarnings(zone *v1alpha1.Zone) []string {
	var warnings []string
	fqdn := knownName(zone.Spec.DomainName, zone.Status.FQDN)
	// S4.6: a pattern that can match nothing.
	judge := func(text, path string) []string {
		p, err := pattern.Parse(text)
		if err != nil || fqdn.IsZero() || p.CanMatch(fqdn) {
			return nil
		}
		return []string{fmt.Sprintf("%s: pattern %q can match no name of %s; patterns are relative to the zone unless they end in a "+
			"dot (S4.6)", path, cut(text), fqdn)}
	}
	for i := range zone.Spec.Delegations {
		rule := &zone.Spec.Delegations[i]
		warnings = append(warnings, ruleWarnings(rule.Records, rule.Zones, fmt.Sprintf("spec.delegations[%d]", i), judge)...)
	}
	if expire := orDefault(zone.Spec.Expire, v1alpha1.DefaultExpire); expire > serial.KeptSeconds {
		warnings = append(warnings, fmt.Sprintf("spec.expire: %d: once this zone is removed its last serial is remembered for %d seconds "+
			"(60 days), so a secondary that goes on without an answer for longer would not take a zone of that name made later (S6.10)",
			expire, serial.KeptSeconds))
	}
	return boundWarnings(warnings)
}

// ruleWarnings says it of one rule, whose fields are at path; judge says it of a pattern.
func ruleWarnings(records []v1alpha1.RecordDelegation, zones []string, path string, judge func(text, path string) []string) []string {
	var warnings []string
	if len(records) == 0 && len(zones) == 0 {
		warnings = append(warnings, path+": lists neither records nor zones, so it allows nothing (S4.1)")
	}
	for i := range records {
		at := fmt.Sprintf("%s.records[%d]", path, i)
		warnings = append(warnings, judge(records[i].Pattern, at+".pattern")...)
		for j, text := range records[i].Types {
			rrtype, err := rdata.ParseType(text)
			if err != nil {
				continue
			}
			if err := rrtype.CheckRecord(); err != nil {
				warnings = append(warnings, fmt.Sprintf("%s.types[%d]: there is no Record of it: %v", at, j, err))
			}
		}
	}
	for i, text := range zones {
		at := fmt.Sprintf("%s.zones[%d]", path, i)
		if text == "@" {
			warnings = append(warnings, at+`: "@" is this zone's own name, where no child can be (S4.6)`)
			continue
		}
		warnings = append(warnings, judge(text, at)...)
	}
	return warnings
}

// DelegationWarnings says what is legal in a Delegation but most likely not meant. Which patterns match nothing in
// its zone, the decision about it says.
func DelegationWarnings(delegation *v1alpha1.Delegation) []string {
	return boundWarnings(ruleWarnings(delegation.Spec.Records, delegation.Spec.Zones, "spec", func(string, string) []string { return nil }))
}

// NewZoneWarnings adds what is worth saying once, when the Zone is created.
func NewZoneWarnings(zone *v1alpha1.Zone) []string {
	warnings := ZoneWarnings(zone)
	if len(zone.Spec.Delegations) == 0 {
		warnings = append(warnings, fmt.Sprintf(`spec.delegations is empty, so the zone takes no Record and no child zone but by `+
			`Delegations (S4.1), also not from its own namespace; for the Records of its own namespace add the rule `+
			`{"namespace":%q,"records":[{"pattern":"@"},{"pattern":"*"}]} (S4.1); a rule without a namespace is for every namespace (S4.2)`,
			zone.Namespace))
	}
	return boundWarnings(warnings)
}

// knownName is the absolute name of an object as far as the object itself tells; zero if it does not.
func knownName(domainName, fqdn string) name.Name {
	if name.IsAbsolute(domainName) {
		n, _ := name.Parse(domainName)
		return n
	}
	n, _ := name.Parse(fqdn)
	return n
}

func boundWarnings(warnings []string) []string {
	if len(warnings) <= maxWarnings {
		return warnings
	}
	left := len(warnings) - maxWarnings + 1
	return append(warnings[:maxWarnings-1:maxWarnings-1], fmt.Sprintf("and %d more warnings", left))
}
