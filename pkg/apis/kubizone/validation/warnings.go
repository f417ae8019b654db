// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/mistakes"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// maxWarnings bounds the warnings of a response. Each is an HTTP header.
const maxWarnings = 20

// PublishWarnings warns of an annotation kubi.zone/publish-deletions without a serial.
func PublishWarnings(after, before *v1alpha1.Zone) []string {
	text := after.Annotations[v1alpha1.AnnotationPublishDeletions]
	if text == "" || text == before.Annotations[v1alpha1.AnnotationPublishDeletions] {
		return nil
	}
	if n, err := strconv.ParseUint(text, 10, 32); err != nil || n == 0 {
		return []string{refusal.Warning("S7.9", fmt.Sprintf("metadata.annotations[%s]: %q is no serial and has no effect; write "+
			"status.settledSerial, %d", v1alpha1.AnnotationPublishDeletions, cut(text), after.Status.SettledSerial))}
	}
	return nil
}

// timerWarnings warns of legal but unusual SOA timers: short timers load servers, a long negative cache hides new
// names.
func timerWarnings(spec *v1alpha1.ZoneSpec) (warnings []string) {
	for _, timer := range []struct {
		field       string
		value, less int64
		means       string
	}{
		{"refresh", orDefault(spec.Refresh, v1alpha1.DefaultRefresh), minRefresh, "each secondary asks so often, though NOTIFY tells it"},
		{"retry", orDefault(spec.Retry, v1alpha1.DefaultRetry), minRetry, "each secondary asks so often while no primary answers"},
		{"expire", orDefault(spec.Expire, v1alpha1.DefaultExpire), minExpire, "secondaries stop answering after this time without a " +
			"primary"},
	} {
		if timer.value < timer.less {
			warnings = append(warnings, refusal.Warning("S5.15", fmt.Sprintf("spec.%s: %ds is short: %s; RFC 1912 §2.2 has figures",
				timer.field, timer.value, timer.means)))
		}
	}
	if cache := orDefault(spec.NegativeResponseCache, v1alpha1.DefaultNegativeResponseCache); cache > maxNegative {
		warnings = append(warnings, refusal.Warning("S5.15", fmt.Sprintf("spec.negativeResponseCache: %ds is long: for this time "+
			"resolvers may deny a name that you have written since; write %d or less (RFC 2308 §5)", cache, maxNegative)))
	}
	return warnings
}

const maxNegative = 86400

// Lower SOA timers get a warning. In seconds.
const (
	minRefresh = 300
	minRetry   = 60
	minExpire  = 86400
)

// ZoneWarnings warns of valid fields with probable mistakes, at most maxWarnings.
func ZoneWarnings(zone *v1alpha1.Zone) []string {
	var warnings []string
	fqdn := knownName(zone.Spec.DomainName, zone.Status.FQDN)
	// A pattern such as *.other.org. matches no name of the zone. While the name is unknown, no pattern has this
	// Warning.
	judge := func(text, path string) []string {
		p, err := pattern.Parse(text)
		if err != nil || fqdn.IsZero() || p.Warning(fqdn) == "" {
			return nil
		}
		return []string{refusal.Warning("S4.6", path+": "+p.Warning(fqdn))}
	}
	for i := range zone.Spec.Delegations {
		rule := &zone.Spec.Delegations[i]
		warnings = append(warnings, ruleWarnings(rule.Records, rule.Zones, fmt.Sprintf("spec.delegations[%d]", i), judge)...)
	}
	for i := range zone.Spec.NameServers {
		for j, text := range zone.Spec.NameServers[i].Addresses {
			if fault := mistakes.OfAddress(text); fault != "" {
				warnings = append(warnings, refusal.Warning("S5.15", fmt.Sprintf("spec.nameServers[%d].addresses[%d]: %q %s", i, j,
					cut(text), fault)))
			}
		}
	}
	if fault := mistakes.OfContact(zone.Spec.Contact, fqdn); fault != "" {
		warnings = append(warnings, refusal.Warning("S5.15", fmt.Sprintf("spec.contact: %q %s", cut(zone.Spec.Contact), fault)))
	}
	warnings = append(warnings, ttlWarnings(zone.Spec.TTL, "S5.15")...)
	warnings = append(warnings, timerWarnings(&zone.Spec)...)
	if expire := orDefault(zone.Spec.Expire, v1alpha1.DefaultExpire); expire > serial.KeptSeconds {
		warnings = append(warnings, refusal.Warning("S6.10", fmt.Sprintf("spec.expire: %d: after this zone is deleted, its last serial "+
			"is kept for %d seconds (60 days); a secondary that serves it for longer would ignore a later zone of that "+
			"name", expire, serial.KeptSeconds)))
	}
	return boundWarnings(warnings)
}

const usualRetention = 168 * time.Hour

// RetentionWarnings warns of a shorter history, and of none. before is nil for a new Zone.
func RetentionWarnings(after, before *v1alpha1.Zone) []string {
	of := func(z *v1alpha1.Zone) time.Duration {
		return ptr.Deref(z.Spec.HistoryRetention, metav1.Duration{Duration: usualRetention}).Duration
	}
	switch {
	case of(after) == 0 && (before == nil || of(before) > 0):
		return []string{refusal.Warning("S7.13", "spec.historyRetention: 0s keeps no history, so kubectl kubizone log, diff and revert "+
			"find nothing to undo, for tenants either; remove the field for a week")}
	// A new Zone, or a longer history, loses nothing.
	case before == nil || of(after) >= of(before):
		return nil
	}
	return []string{refusal.Warning("S7.13", fmt.Sprintf("spec.historyRetention: within minutes all changes older than %s are deleted for "+
		"good, those of tenants too, and a longer time brings none back; if you need them, set %s again and save kubectl kubizone log "+
		"-o json", of(after), of(before)))}
}

// OpenRuleWarnings warns of rules that have become open to every namespace, because they name none. New rules for
// tenants get a warning for "@", which gives nothing, and for patterns that match below names of all namespaces, for
// example "_acme-challenge.*".
func OpenRuleWarnings(after, before *v1alpha1.Zone) (warnings []string) {
	isOpen := func(rules []v1alpha1.DelegationRule, i int) bool {
		return i < len(rules) && rules[i].Namespace == "" && len(rules[i].Namespaces) == 0
	}
	for i := range after.Spec.Delegations {
		if isOpen(after.Spec.Delegations, i) && !isOpen(before.Spec.Delegations, i) {
			warnings = append(warnings, refusal.Warning("S4.2", fmt.Sprintf("spec.delegations[%d]: has no namespace, so it is for every "+
				"namespace; name one if that is not meant", i)))
		}
		// Warn only of rules that this write adds, at whatever index.
		rule := &after.Spec.Delegations[i]
		existedBefore := slices.ContainsFunc(before.Spec.Delegations, func(r v1alpha1.DelegationRule) bool {
			return reflect.DeepEqual(&r, rule)
		})
		if !existedBefore {
			warnings = append(warnings, tenantWarnings(rule.Records, append([]string{rule.Namespace}, rule.Namespaces...),
				after.Namespace, fmt.Sprintf("spec.delegations[%d]", i))...)
		}
	}
	return warnings
}

// tenantWarnings warns of patterns that give a tenant nothing, or power over names of others. own is the zone's
// namespace.
func tenantWarnings(records []v1alpha1.RecordDelegation, namespaces []string, own, path string) (warnings []string) {
	given := sets.New(namespaces...).Delete("")
	// A rule for any namespace (none listed) has tenants, too.
	if given.Equal(sets.New(own)) {
		return nil
	}
	for i := range records {
		at := fmt.Sprintf("%s.records[%d].pattern", path, i)
		// An invalid pattern is refused elsewhere. Its zero value has no warning.
		p, _ := pattern.Parse(records[i].Pattern)
		if p.String() == "@" && !records[i].Shared && len(given) > 0 && !given.Has(own) {
			warnings = append(warnings, refusal.Warning("S4.10", at+": \"@\" gives nothing: the zone's "+
				"name belongs to its own namespace; a rule of the Zone with shared: true gives it"))
		}
		if p.SpeaksForMany() {
			warnings = append(warnings, refusal.Warning("S4.14", fmt.Sprintf("%s: %q matches below the names of all "+
				"namespaces, the zone's own included: %s; for its own names a tenant needs only a pattern such as \"*.apps\"", at,
				cut(records[i].Pattern), effectOf(p))))
		}
	}
	return warnings
}

// effectOf describes the power of a tenant by a pattern below names of others.
func effectOf(p pattern.Pattern) string {
	// A tenant with _acme-challenge.www gets a certificate for www.
	if strings.HasPrefix(p.String(), "_acme-challenge.") {
		return "the tenant can get certificates for them"
	}
	return "its records there affect those names"
}

// ruleWarnings warns of a rule, or a part of a rule, without effect. judge warns of a pattern, given the zone's name.
func ruleWarnings(records []v1alpha1.RecordDelegation, zones []string, path string, judge func(text, path string) []string) []string {
	var warnings []string
	if len(records) == 0 && len(zones) == 0 {
		warnings = append(warnings, refusal.Warning("S4.1", path+": lists neither records nor zones, so it allows nothing"))
	}
	for i := range records {
		at := fmt.Sprintf("%s.records[%d]", path, i)
		warnings = append(warnings, judge(records[i].Pattern, at+".pattern")...)
		// A rule may list a type by mistake, for example SOA, and is stored all the same.
		for j, text := range records[i].Types {
			rrtype, err := rdata.ParseType(text)
			if err != nil {
				continue
			}
			if err := rrtype.CheckRecord(); err != nil {
				warnings = append(warnings, refusal.Warning("S5.4", fmt.Sprintf("%s.types[%d]: no Record can have this type: "+
					"%v", at, j, err)))
			}
		}
	}
	warnings = append(warnings, repeatWarnings(records, path+".records", func(r v1alpha1.RecordDelegation) string {
		return fmt.Sprint(patternKey(r.Pattern, r.Types), r.Shared)
	})...)
	warnings = append(warnings, repeatWarnings(zones, path+".zones", strings.ToLower)...)
	for i, text := range zones {
		at := fmt.Sprintf("%s.zones[%d]", path, i)
		if text == "@" {
			warnings = append(warnings, refusal.Warning("S4.6", at+`: "@" is this zone's own name, where no child can be`))
			continue
		}
		warnings = append(warnings, judge(text, at)...)
	}
	return warnings
}

// repeatWarnings warns of the entries of a list whose key an earlier entry has.
func repeatWarnings[T any](list []T, path string, key func(T) string) (warnings []string) {
	first := map[string]int{}
	for i := range list {
		text := key(list[i])
		if earlier, ok := first[text]; ok {
			warnings = append(warnings, refusal.Warning("S5.15", fmt.Sprintf("%s[%d]: repeats %s[%d], and has no effect: remove it, or "+
				"write the name that is meant", path, i, path, earlier)))
		} else {
			first[text] = i
		}
	}
	return warnings
}

func patternKey(pattern string, types []string) string {
	return strings.ToLower(pattern) + " " + strings.ToUpper(strings.Join(slices.Sorted(slices.Values(types)), ","))
}

func DelegationWarnings(delegation *v1alpha1.Delegation) []string {
	of := &delegation.Spec
	warnings := ruleWarnings(of.Records, of.Zones, "spec", func(string, string) []string { return nil })
	return boundWarnings(append(warnings, tenantWarnings(of.Records, of.Namespaces, delegation.Namespace, "spec")...))
}

func NewZoneWarnings(zone *v1alpha1.Zone) []string {
	warnings := ZoneWarnings(zone)
	if fault := mistakes.OfZone(zone.Spec.DomainName); fault != "" {
		warnings = append(warnings, refusal.Warning("S5.15", fmt.Sprintf("spec.domainName: %q %s", cut(zone.Spec.DomainName), fault)))
	}
	warnings = append(warnings, RetentionWarnings(zone, nil)...)
	return boundWarnings(append(warnings, OpenRuleWarnings(zone, &v1alpha1.Zone{})...))
}

// BareZoneWarnings returns warnings, by reason, about fields that a new Zone lacks.
func BareZoneWarnings(zone *v1alpha1.Zone) map[string]string {
	warnings := map[string]string{}
	if len(zone.Spec.Delegations) == 0 {
		warnings[v1alpha1.WarningNoRules] = refusal.Warning("S4.1", fmt.Sprintf(`spec.delegations is empty, so the zone takes no Record `+
			`and no child zone but by Delegations, also not from its own namespace; for the Records of its own namespace add the rule `+
			`{"namespace":%q,"records":[{"pattern":"@"},{"pattern":"*"}]}; a rule without a namespace is for every namespace`,
			zone.Namespace))
	}
	if len(zone.Spec.NameServers) == 0 {
		warnings[v1alpha1.ReasonNoNameServers] = refusal.Warning("S6.15", `spec.nameServers is empty, so the zone is not served before it `+
			`has NS Records at "@", unless its classes have name servers of their own`)
	}
	return warnings
}

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
	return append(warnings[:maxWarnings-1:maxWarnings-1], refusal.More(left))
}

// RecordWarnings warns of valid data with a probable mistake, such as a host without the final dot (S5.14), from the
// Record alone.
func RecordWarnings(record *v1alpha1.Record) []string {
	rrtype, err := rdata.ParseType(record.Spec.Type)
	if err != nil {
		return nil
	}
	const rule = "S5.14"
	warnings := ttlWarnings(record.Spec.TTL, rule)
	warn := func(path, text, fault string) {
		if fault != "" {
			warnings = append(warnings, refusal.Warning(rule, fmt.Sprintf("%s: %q %s", path, cut(text), fault)))
		}
	}
	owner := record.Spec.DomainName
	warn("spec.domainName", owner, mistakes.OfOwner(rrtype, owner))
	// Type SPF (99) is obsolete, and no receiver asks for it.
	if rrtype == rdata.SPF {
		warn("spec.type", record.Spec.Type, "is a type that no receiver asks for (RFC 7208 §3.1): write TXT")
	}
	// rdata is a single value, and values several: both have the same mistakes.
	texts, path := record.Spec.Values, func(i int) string { return fmt.Sprintf("spec.values[%d]", i) }
	if record.Spec.RData != "" {
		texts, path = []string{record.Spec.RData}, func(int) string { return "spec.rdata" }
	}
	for i, text := range texts {
		text = strings.TrimSpace(text)
		warn(path(i), text, mistakes.OfValue(rrtype, owner, text))
	}
	if i, fault := mistakes.OfValues(rrtype, owner, texts); fault != "" {
		warn(path(i), texts[i], fault)
	}
	return boundWarnings(warnings)
}

// Other TTLs get a warning. In seconds.
const (
	minTTL = 5
	maxTTL = 30 * 86400
)

func ttlWarnings(ttl *int32, rule string) []string {
	switch {
	case ttl == nil || minTTL <= *ttl && *ttl <= maxTTL:
		return nil
	case *ttl < minTTL:
		return []string{refusal.Warning(rule, fmt.Sprintf("spec.ttl: %ds is short: resolvers ask your servers for nearly every query; "+
			"write 60 or more", *ttl))}
	}
	return []string{refusal.Warning(rule, fmt.Sprintf("spec.ttl: %d seconds are more than 30 days, for which caches may keep old data; "+
		"write 86400 or less", *ttl))}
}

func localWarnings(spec *v1alpha1.DNSClassSpec, path, text string) []string {
	address, err := netip.ParseAddr(text)
	if at, err2 := netip.ParseAddrPort(text); err2 == nil {
		address, err = at.Addr(), nil
	}
	if spec.AllowLocalAddresses || err != nil || !address.IsLoopback() && !address.IsLinkLocalUnicast() && !address.IsUnspecified() {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s is an address of the machine or its link, to which a class connects only with "+
		"spec.allowLocalAddresses: true", path, cut(text))}
}
