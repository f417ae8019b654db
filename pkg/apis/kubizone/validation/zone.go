// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/pattern"
)

// Limits of one Zone. Every decision in a zone reads its rules, so each list is bounded.
const (
	MaxDelegations = 1000
	MaxRulesInOne  = 1000
	MaxClassRefs   = 16
	// MaxAddresses is how many addresses all validateNameServers have, which one transaction changes.
	MaxAddresses = 48
	// MaxWithdrawalGracePeriod bounds withdrawalGracePeriod (S3.6).
	MaxWithdrawalGracePeriod = 30 * 24 * time.Hour
	// MaxReleaseNow is how many namespaces the annotation kubi.zone/release-now names (S3.6).
	MaxReleaseNow = 16
	// MaxVerifyRequest is the maximum length, in octets, of the annotation that requests a comparison.
	MaxVerifyRequest = 64
	maxSerial        = math.MaxUint32
	maxLocalPart     = 63
	maxNameOctets    = 255
	maxContactBytes  = 1024
)

// Zone validates a new Zone.
func Zone(zone *v1alpha1.Zone) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&zone.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, ZoneSize(zone, nil)...)
	return append(errs, validateZoneSpec(zone)...)
}

// ZoneUpdate validates the change from before to after.
func ZoneUpdate(after, before *v1alpha1.Zone) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, validateViewUnchanged(after.Spec.View, before.Spec.View)...)
	errs = append(errs, ZoneSize(after, before)...)
	return append(errs, onlyNewErrors(validateZoneSpec(after), func() field.ErrorList { return validateZoneSpec(before) })...)
}

// ZoneStatusUpdate validates the status that a controller wrote.
func ZoneStatusUpdate(after, before *v1alpha1.Zone) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, validateStatusSize(zoneSizes(after), zoneSizes(before))...)
	return append(errs, validateConditions(after.Status.Conditions, field.NewPath("status", "conditions"))...)
}

func validateZoneSpec(zone *v1alpha1.Zone) field.ErrorList {
	spec := &zone.Spec
	var errs field.ErrorList
	errs = append(errs, validateZoneName(spec)...)
	errs = append(errs, validateView(spec.View)...)
	errs = append(errs, validateZoneRef(spec.ZoneRef)...)
	if ref := spec.ZoneRef; ref != nil && zone.Name != "" && ref.Name == zone.Name &&
		(ref.Namespace == "" || ref.Namespace == zone.Namespace) {
		errs = append(errs, field.Invalid(specPath.Child("zoneRef"), ref.Name, "is this Zone itself: refer to its parent, "+
			"or give an absolute domainName and no zoneRef (S3.2)"))
	}
	errs = append(errs, validateDelegationRules(spec.Delegations)...)
	errs = append(errs, validateNameServers(spec.NameServers, spec.DomainName)...)
	errs = append(errs, validateTimers(spec)...)
	if spec.PrimaryNameServer != "" {
		errs = append(errs, validateHostName(spec.PrimaryNameServer, specPath.Child("primaryNameServer"))...)
	}
	if spec.Contact != "" {
		if err := validateContact(spec.Contact); err != nil {
			errs = append(errs, field.Invalid(specPath.Child("contact"), cut(spec.Contact), err.Error()))
		}
	}
	if n := spec.MinimumSerial; n != nil && (*n < 1 || *n > maxSerial) {
		errs = append(errs, field.Invalid(specPath.Child("minimumSerial"), *n, "must be from 1 to 4294967295 (RFC 1982)"))
	}
	errs = append(errs, validateClassRefs(spec.DNSClassRefs)...)
	if l := spec.Limits; l != nil && l.RecordsPerNamespace != nil && *l.RecordsPerNamespace < 1 {
		errs = append(errs, field.Invalid(specPath.Child("limits", "recordsPerNamespace"), *l.RecordsPerNamespace,
			"must be at least 1; leave it out for no limit, and delegate nothing to allow no Record (S5.9)"))
	}
	if l := spec.Limits; l != nil && l.MaxDeletePercent != nil && (*l.MaxDeletePercent < 0 || *l.MaxDeletePercent > 100) {
		errs = append(errs, field.Invalid(specPath.Child("limits", "maxDeletePercent"), *l.MaxDeletePercent,
			fmt.Sprintf("must be from 0 to 100, which is no limit; leave it out for %d (S7.6)", v1alpha1.DefaultMaxDeletePercent)))
	}
	if d := spec.WithdrawalGracePeriod; d != nil && (d.Duration < 0 || d.Duration > MaxWithdrawalGracePeriod ||
		d.Duration%time.Second != 0) {
		errs = append(errs, field.Invalid(specPath.Child("withdrawalGracePeriod"), d.Duration.String(), "must be whole seconds from 0s "+
			"to 720h, which is 30 days (S3.6)"))
	}
	if n := len(zone.Annotations[v1alpha1.AnnotationVerifyRequestedAt]); n > MaxVerifyRequest {
		errs = append(errs, field.TooLong(field.NewPath("metadata", "annotations").Key(v1alpha1.AnnotationVerifyRequestedAt), "",
			MaxVerifyRequest))
	}
	errs = append(errs, validateReleaseNow(zone)...)
	errs = append(errs, validateZoneDNSSEC(spec.DNSSEC)...)
	errs = append(errs, validateChoice(spec.DeletionPolicy, specPath.Child("deletionPolicy"), v1alpha1.DeletionPolicyDelete,
		v1alpha1.DeletionPolicyRetain)...)
	return errs
}

// validateReleaseNow judges the annotation that ends the period of namespaces (S3.6).
func validateReleaseNow(o metav1.Object) field.ErrorList {
	text, ok := o.GetAnnotations()[v1alpha1.AnnotationReleaseNow]
	if !ok {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(v1alpha1.AnnotationReleaseNow)
	namespaces := strings.Split(text, ",")
	if len(namespaces) > MaxReleaseNow {
		return field.ErrorList{field.TooMany(path, len(namespaces), MaxReleaseNow)}
	}
	for _, ns := range namespaces {
		if len(apivalidation.ValidateNamespaceName(strings.TrimSpace(ns), false)) > 0 {
			return field.ErrorList{field.Invalid(path, cut(text), fmt.Sprintf("%q is no name of a namespace: "+
				`give those to release now, with commas between, as "team-a,team-b" (S3.6)`, cut(ns)))}
		}
	}
	return nil
}

func validateZoneName(spec *v1alpha1.ZoneSpec) field.ErrorList {
	path := specPath.Child("domainName")
	if errs := validateDomainName(spec.DomainName, spec.ZoneRef, path); len(errs) > 0 {
		return errs
	}
	if spec.DomainName == "@" {
		return field.ErrorList{field.Invalid(path, spec.DomainName, "is the name of the zone that zoneRef names: "+
			"write the labels before it")}
	}
	if isWildcard(spec.DomainName) {
		return field.ErrorList{field.Invalid(path, spec.DomainName, "a zone cannot have a wildcard name: "+
			"its NS would stand at it (RFC 4592 §4.2)")}
	}
	return nil
}

// validateDelegationRules judges the shape of the rules (S4.2–S4.6).
func validateDelegationRules(rules []v1alpha1.DelegationRule) field.ErrorList {
	path := specPath.Child("delegations")
	if len(rules) > MaxDelegations {
		return field.ErrorList{field.TooMany(path, len(rules), MaxDelegations)}
	}
	var errs field.ErrorList
	for i := range rules {
		rule, path := &rules[i], path.Index(i)
		errs = append(errs, validateRuleCount(len(rule.Namespaces), path.Child("namespaces"))...)
		errs = append(errs, validateAllowed(rule.Records, rule.Zones, rule.DS, path)...)
		if rule.Namespace != "" {
			errs = append(errs, validateNamespace(rule.Namespace, path.Child("namespace"))...)
		}
		errs = append(errs, validateNamespaces(rule.Namespaces, path.Child("namespaces"))...)
	}
	return errs
}

// validateAllowed judges what a rule allows, which is at path.
func validateAllowed(records []v1alpha1.RecordDelegation, zones []string, ds bool, path *field.Path) field.ErrorList {
	errs := validateRuleCount(len(records), path.Child("records"))
	if ds && len(zones) == 0 {
		errs = append(errs, field.Invalid(path.Child("ds"), ds, "says what the zone contains for child zones, and the rule allows none: "+
			"give zones, or leave ds out (S4.2)"))
	}
	errs = append(errs, validateRuleCount(len(zones), path.Child("zones"))...)
	for i := range records {
		errs = append(errs, validateRecordRule(&records[i], path.Child("records").Index(i))...)
	}
	for i, text := range zones {
		errs = append(errs, validatePattern(text, path.Child("zones").Index(i))...)
	}
	return errs
}

// validateNamespaces judges a list of them.
func validateNamespaces(all []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, text := range all {
		at := path.Index(i)
		if seen[text] {
			errs = append(errs, field.Duplicate(at, text))
		}
		seen[text] = true
		errs = append(errs, validateNamespace(text, at)...)
	}
	return errs
}

func validateRuleCount(n int, path *field.Path) field.ErrorList {
	if n <= MaxRulesInOne {
		return nil
	}
	return field.ErrorList{field.TooMany(path, n, MaxRulesInOne)}
}

func validateRecordRule(rule *v1alpha1.RecordDelegation, path *field.Path) field.ErrorList {
	errs := validatePattern(rule.Pattern, path.Child("pattern"))
	if len(rule.Types) > MaxRulesInOne {
		return append(errs, field.TooMany(path.Child("types"), len(rule.Types), MaxRulesInOne))
	}
	for i, text := range rule.Types {
		if _, err := rdata.ParseType(text); err != nil {
			errs = append(errs, field.Invalid(path.Child("types").Index(i), cut(text), err.Error()))
		}
	}
	return errs
}

func validatePattern(text string, path *field.Path) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, `"*" for every name below the zone, "@" for the zone's own name, "www" for one name`)}
	}
	_, err := pattern.Parse(text)
	if err == nil {
		err = name.CheckSpelling(text)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(path, cut(text), err.Error())}
	}
	return nil
}

// validateNameServers judges S6.2 as far as the Zone of that validateDomainName, "" for any, alone shows.
func validateNameServers(servers []v1alpha1.NameServer, domainName string) field.ErrorList {
	path := specPath.Child("nameServers")
	if len(servers) > MaxValues {
		return field.ErrorList{field.TooMany(path, len(servers), MaxValues)}
	}
	var errs field.ErrorList
	origin, _ := name.Parse(domainName)
	total := 0
	for i := range servers {
		total += len(servers[i].Addresses)
	}
	if total > MaxAddresses {
		errs = append(errs, field.TooMany(path.Child("addresses"), total, MaxAddresses))
	}
	seen := map[string]bool{}
	for i := range servers {
		server, path := &servers[i], path.Index(i)
		if server.Name == "" {
			errs = append(errs, field.Required(path.Child("name"), `a host name, relative to the zone ("ns1") or absolute `+
				`("ns1.example.net.")`))
			continue
		}
		bad := validateHostName(server.Name, path.Child("name"))
		errs = append(errs, bad...)
		if len(bad) == 0 {
			canonical := canonicalHost(server.Name, origin)
			if seen[canonical] {
				errs = append(errs, field.Duplicate(path.Child("name"), server.Name))
			}
			seen[canonical] = true
			if host, err := name.Parse(canonical); err == nil && !origin.IsZero() && !origin.Encloses(host) && len(server.Addresses) > 0 {
				errs = append(errs, field.Forbidden(path.Child("addresses"),
					fmt.Sprintf("%s is outside of %s, so its addresses belong into another zone: leave them out (S6.2)", host, origin)))
			}
		}
		errs = append(errs, validateAddresses(server.Addresses, path.Child("addresses"))...)
	}
	return errs
}

// canonicalHost returns one spelling for all spellings of a host, as far as the zone's name is known.
func canonicalHost(text string, origin name.Name) string {
	if n, err := name.ParseIn(text, origin); err == nil {
		return n.String()
	}
	rel, _ := name.ParseRel(text)
	return rel.String()
}

// validateHostName checks the name of a host: as an owner name (S1.2), and as a host name (S5.11).
func validateHostName(text string, path *field.Path) field.ErrorList {
	if isWildcard(text) {
		return field.ErrorList{field.Invalid(path, cut(text), "is a wildcard: name a host")}
	}
	if err := validateOwnerName(text); err != nil {
		return field.ErrorList{field.Invalid(path, cut(text), err.Error())}
	}
	if host := canonicalHost(text, name.Name{}); host != "@" && !name.IsHost(host) {
		return field.ErrorList{field.Invalid(path, cut(text), "is no host name: labels are letters, digits and inner hyphens (S5.11, "+
			"RFC 1123 §2.1)")}
	}
	return nil
}

// validateMailboxName checks a contact in name form: an owner name, or any other name that DNS allows.
func validateMailboxName(text string) error {
	_, err := name.ParseIn(text, name.Root)
	if err == nil {
		return nil
	}
	// The error is that of the rule for owner names, which is the likely one.
	if value, wide := rdata.Parse(rdata.NS, text); wide == nil {
		if _, wide = value.Pack(name.Root); wide == nil {
			return nil
		}
	}
	return err
}

func validateAddresses(list []string, path *field.Path) field.ErrorList {
	if len(list) > MaxValues {
		return field.ErrorList{field.TooMany(path, len(list), MaxValues)}
	}
	var errs field.ErrorList
	seen := map[netip.Addr]bool{}
	for i, text := range list {
		path := path.Index(i)
		address, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(path, cut(text), "is neither an IPv4 address (192.0.2.1) nor an IPv6 address (2001:db8::1)"))
		case address.Zone() != "":
			errs = append(errs, field.Invalid(path, cut(text), "has a scope zone, which DNS has no form for: write "+
				address.WithZone("").String()))
		case address.Is4In6():
			errs = append(errs, field.Invalid(path, text, "is an IPv4 address mapped into IPv6: write "+address.Unmap().String()))
		case seen[address]:
			errs = append(errs, field.Duplicate(path, text))
		default:
			seen[address] = true
		}
	}
	return errs
}

// validateTimers judges S6.5: retry < refresh, expire > refresh + retry.
func validateTimers(spec *v1alpha1.ZoneSpec) field.ErrorList {
	errs := validateSeconds(spec.TTL, 0, specPath.Child("ttl"))
	errs = append(errs, validateSeconds(spec.Refresh, 1, specPath.Child("refresh"))...)
	errs = append(errs, validateSeconds(spec.Retry, 1, specPath.Child("retry"))...)
	errs = append(errs, validateSeconds(spec.Expire, 1, specPath.Child("expire"))...)
	errs = append(errs, validateSeconds(spec.NegativeResponseCache, 0, specPath.Child("negativeResponseCache"))...)
	if len(errs) > 0 {
		return errs
	}
	refresh, retry, expire := orDefault(spec.Refresh, v1alpha1.DefaultRefresh), orDefault(spec.Retry, v1alpha1.DefaultRetry),
		orDefault(spec.Expire, v1alpha1.DefaultExpire)
	if retry >= refresh {
		errs = append(errs, field.Invalid(specPath.Child("retry"), retry,
			fmt.Sprintf("must be less than refresh (%d), or a failed refresh waits longer than a good one (S6.6)", refresh)))
	}
	if expire <= refresh+retry {
		errs = append(errs, field.Invalid(specPath.Child("expire"), expire, fmt.Sprintf("must be more than refresh + retry (%d), "+
			"or a secondary stops serving before it has asked twice (S6.6)", refresh+retry)))
	}
	return errs
}

func orDefault(value *int32, otherwise int32) int64 {
	if value == nil {
		return int64(otherwise)
	}
	return int64(*value)
}

// validateContact judges a mail address or a name (S6.5). In name form an "@" within the first label is escaped.
func validateContact(text string) error {
	if len(text) > maxContactBytes {
		return fmt.Errorf("has %d bytes, more than any name: give a mail address (hostmaster@example.org)", len(text))
	}
	at := strings.LastIndexByte(text, '@')
	if text == "@" || at < 0 || (at > 0 && text[at-1] == '\\') {
		return validateMailboxName(text)
	}
	local, domain := text[:at], text[at+1:]
	switch {
	case local == "":
		return fmt.Errorf("has no local part: write hostmaster%s", text)
	case len(local) > maxLocalPart:
		return fmt.Errorf("has a local part of %d octets; it is one label of the SOA, which has at most %d", len(local), maxLocalPart)
	case strings.ContainsFunc(local, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"\()<>[],;:@`, r) }):
		return fmt.Errorf("has a local part that cannot be written in an SOA: letters, digits, dots and one of !#$%%&'*+-/=?^_`{|}~")
	}
	if !name.IsAbsolute(domain) {
		domain += "."
	}
	host, err := name.Parse(domain)
	if err != nil {
		return err
	}
	if host == name.Root {
		return fmt.Errorf("has no domain: write %s@example.org with a domain of yours", local)
	}
	if octets := host.WireLen() + 1 + len(local); octets > maxNameOctets {
		return fmt.Errorf("is a name of %d octets in the SOA, the limit is %d", octets, maxNameOctets)
	}
	return nil
}

func validateClassRefs(refs []v1alpha1.DNSClassReference) field.ErrorList {
	path := specPath.Child("dnsClassRefs")
	if len(refs) > MaxClassRefs {
		return field.ErrorList{field.TooMany(path, len(refs), MaxClassRefs)}
	}
	var errs field.ErrorList
	seen := map[v1alpha1.DNSClassReference]bool{}
	for i, ref := range refs {
		path := path.Index(i)
		errs = append(errs, validateClassRef(ref, path)...)
		if seen[ref] {
			errs = append(errs, field.Duplicate(path, string(ref.Kind)+"/"+ref.Name))
		}
		seen[ref] = true
	}
	return errs
}

func validateClassRef(ref v1alpha1.DNSClassReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateChoice(ref.Kind, path.Child("kind"), v1alpha1.KindDNSClass, v1alpha1.KindBind9Cluster)...)
	if ref.Name == "" {
		return append(errs, field.Required(path.Child("name"), "the metadata.name of the class"))
	}
	for _, message := range apivalidation.NameIsDNSSubdomain(ref.Name, false) {
		errs = append(errs, field.Invalid(path.Child("name"), cut(ref.Name), message))
	}
	return errs
}
