// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Limits of a Zone. Every decision about a Record reads all rules.
const (
	MaxDelegations = 1000
	MaxRulesInOne  = 1000
	MaxClassRefs   = 16
	// MaxAddresses bounds the addresses of all name servers, because a single transaction changes them.
	MaxAddresses             = 48
	MaxWithdrawalGracePeriod = 30 * 24 * time.Hour
	MaxHistoryRetention      = 90 * 24 * time.Hour
	MaxReleaseNow            = 16
	// MaxVerifyRequest bounds the annotation that requests a comparison, in octets.
	MaxVerifyRequest = 64
	maxSerial        = math.MaxUint32
	maxLocalPart     = 63
	maxNameOctets    = 255
	maxContactBytes  = 1024
)

func Zone(zone *v1alpha1.Zone) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&zone.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, ZoneSize(zone, nil)...)
	return append(errs, validateZoneSpec(zone)...)
}

func ZoneUpdate(after, before *v1alpha1.Zone) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, validateViewUnchanged(after.Spec.View, before.Spec.View)...)
	errs = append(errs, ZoneSize(after, before)...)
	return append(errs, onlyNewErrors(validateZoneSpec(after), func() field.ErrorList { return validateZoneSpec(before) })...)
}

func ZoneStatusUpdate(after, before *v1alpha1.Zone) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, validateStatusSize(zoneSizes(after), zoneSizes(before))...)
	return append(errs, validateConditions(after.Status.Conditions, field.NewPath("status", "conditions"))...)
}

// validateZoneSpec validates the spec, and two annotations, from the Zone alone.
func validateZoneSpec(zone *v1alpha1.Zone) field.ErrorList {
	spec := &zone.Spec
	errs := validateZoneName(spec)
	errs = append(errs, validateView(spec.View)...)
	errs = append(errs, validateZoneRef(spec.ZoneRef)...)
	// A longer circle of references is found by the ledger, and the zone stays pending (S3.2).
	if ref := spec.ZoneRef; ref != nil && zone.Name != "" && ref.Name == zone.Name &&
		(ref.Namespace == "" || ref.Namespace == zone.Namespace) {
		errs = append(errs, refusal.Cite("S3.2",
			field.Invalid(specPath.Child("zoneRef"), ref.Name, "is this Zone itself: refer to its parent, "+
				"or give an absolute domainName and no zoneRef")))
	}
	errs = append(errs, validateDelegationRules(spec.Delegations)...)
	errs = append(errs, validateNameServers(spec.NameServers, spec.DomainName)...)
	errs = append(errs, validateTimers(spec)...)
	if spec.PrimaryNameServer != "" {
		errs = append(errs, validateHostName(spec.PrimaryNameServer, specPath.Child("primaryNameServer"))...)
	}
	if spec.Contact != "" {
		errs = append(errs, rejectError(spec.Contact, validateContact(spec.Contact), specPath.Child("contact"))...)
	}
	if n := spec.MinimumSerial; n != nil && (*n < 1 || *n > maxSerial) {
		errs = append(errs, field.Invalid(specPath.Child("minimumSerial"), *n, "must be from 1 to 4294967295 (RFC 1982)"))
	}
	errs = append(errs, validateClassRefs(spec.DNSClassRefs)...)
	if spec.Limits != nil {
		errs = append(errs, validateLimits(spec.Limits, ptr.Deref(spec.TTL, v1alpha1.DefaultTTL))...)
	}
	errs = append(errs, validatePeriod(spec.WithdrawalGracePeriod, MaxWithdrawalGracePeriod, "S3.6", "withdrawalGracePeriod")...)
	errs = append(errs, validatePeriod(spec.HistoryRetention, MaxHistoryRetention, "S7.13", "historyRetention")...)
	errs = append(errs, validateLength(zone.Annotations[v1alpha1.AnnotationVerifyRequestedAt], MaxVerifyRequest,
		field.NewPath("metadata", "annotations").Key(v1alpha1.AnnotationVerifyRequestedAt))...)
	errs = append(errs, validateReleaseNow(zone)...)
	errs = append(errs, validateZoneDNSSEC(spec.DNSSEC)...)
	errs = append(errs, validateReverse(spec.Reverse, zone.Name)...)
	errs = append(errs, validateChoice(spec.DeletionPolicy, specPath.Child("deletionPolicy"), v1alpha1.DeletionPolicyDelete,
		v1alpha1.DeletionPolicyRetain)...)
	return errs
}

// validatePeriod judges a period of the spec, whose stored form has whole seconds.
func validatePeriod(d *metav1.Duration, most time.Duration, rule, name string) field.ErrorList {
	if d == nil || d.Duration >= 0 && d.Duration <= most && d.Duration%time.Second == 0 {
		return nil
	}
	return field.ErrorList{refusal.Cite(rule, field.Invalid(specPath.Child(name), d.Duration.String(),
		fmt.Sprintf("must be whole seconds from 0s to %.0fh, which is %.0f days", most.Hours(), most.Hours()/24)))}
}

// validateLimits judges spec.limits of a zone whose Records have ttl seconds by default.
func validateLimits(limits *v1alpha1.ZoneLimits, ttl int32) (errs field.ErrorList) {
	for _, limit := range []struct {
		rule, name  string
		value       *int32
		least, most int32
		message     string
	}{
		{"S5.9", "recordsPerNamespace", limits.RecordsPerNamespace, 1, math.MaxInt32,
			"must be at least 1; leave it out for no limit, and delegate nothing to allow no Record"},
		{"S5.9", "minTTL", limits.MinTTL, 1, ttl, fmt.Sprintf("must be from 1 to the zone's ttl, %d; leave it out for no limit", ttl)},
		{"S7.6", "maxDeletePercent", limits.MaxDeletePercent, 0, 100,
			fmt.Sprintf("must be from 0 to 100, which is no limit; leave it out for %d", v1alpha1.DefaultMaxDeletePercent)},
	} {
		if n := limit.value; n != nil && (*n < limit.least || *n > limit.most) {
			errs = append(errs, refusal.Cite(limit.rule, field.Invalid(specPath.Child("limits", limit.name), *n, limit.message)))
		}
	}
	return errs
}

// validateReleaseNow validates the annotation kubi.zone/release-now, a list of namespaces. A misspelled name would
// release nothing, unnoticed.
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
			return field.ErrorList{refusal.Cite("S3.6", field.Invalid(path, cut(text), fmt.Sprintf("%q is no name of a namespace: "+
				`give those to release now, with commas between, as "team-a,team-b"`, cut(ns))))}
		}
	}
	return nil
}

// validateZoneName refuses the name of the zone that zoneRef names, and wildcards.
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

func validateDelegationRules(rules []v1alpha1.DelegationRule) field.ErrorList {
	path := specPath.Child("delegations")
	return validateEach(rules, MaxDelegations, path, func(rule v1alpha1.DelegationRule, at *field.Path) field.ErrorList {
		errs := validateRule(rule.Records, rule.Zones, rule.DS, at)
		if rule.Namespace != "" {
			errs = append(errs, validateNamespace(rule.Namespace, at.Child("namespace"))...)
		}
		return append(errs, validateNamespaces(rule.Namespaces, MaxRulesInOne, at.Child("namespaces"))...)
	})
}

func validateRule(records []v1alpha1.RecordDelegation, zones []string, ds bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if ds && len(zones) == 0 {
		errs = append(errs, refusal.Cite("S4.2",
			field.Invalid(path.Child("ds"), ds, "applies to child zones, and the rule allows none: set zones, or leave ds out")))
	}
	errs = append(errs, validateEach(records, MaxRulesInOne, path.Child("records"), validateRecordRule)...)
	return append(errs, validateEach(zones, MaxRulesInOne, path.Child("zones"), validatePattern)...)
}

func validateRecordRule(rule v1alpha1.RecordDelegation, path *field.Path) field.ErrorList {
	errs := validatePattern(rule.Pattern, path.Child("pattern"))
	return append(errs, validateEach(rule.Types, MaxRulesInOne, path.Child("types"), func(text string, at *field.Path) field.ErrorList {
		_, err := rdata.ParseType(text)
		return rejectError(text, err, at)
	})...)
}

func validatePattern(text string, path *field.Path) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, `"*" for every name below the zone, "@" for the zone's own name, "www" for one name`)}
	}
	_, err := pattern.Parse(text)
	return rejectError(text, cmp.Or(err, name.CheckSpelling(text)), path)
}

// validateNameServers validates name servers of a zone, or of a class, where domainName is "" for zones of any name.
func validateNameServers(servers []v1alpha1.NameServer, domainName string) field.ErrorList {
	path := specPath.Child("nameServers")
	origin, _ := name.Parse(domainName)
	total := 0
	seen := map[string]bool{}
	errs := validateEach(servers, rdata.MaxValues, path, func(server v1alpha1.NameServer, at *field.Path) field.ErrorList {
		total += len(server.Addresses)
		if server.Name == "" {
			return field.ErrorList{field.Required(at.Child("name"), `a host name, relative to the zone ("ns1") or absolute `+
				`("ns1.example.net.")`)}
		}
		errs := validateHostName(server.Name, at.Child("name"))
		if len(errs) == 0 {
			// ns1 and ns1.example.org. are the same host.
			canonical := canonicalHost(server.Name, origin)
			if seen[canonical] {
				errs = append(errs, field.Duplicate(at.Child("name"), server.Name))
			}
			seen[canonical] = true
			// The addresses of ns1.example.net. are no data of example.org.
			if host, err := name.Parse(canonical); err == nil && !origin.IsZero() && !origin.Encloses(host) && len(server.Addresses) > 0 {
				errs = append(errs, refusal.Cite("S6.2", field.Forbidden(at.Child("addresses"),
					fmt.Sprintf("%s is outside of %s, so its addresses belong into another zone: leave them out", host, origin))))
			}
		}
		return append(errs, validateAddresses(server.Addresses, at.Child("addresses"))...)
	})
	if total > MaxAddresses {
		errs = append(errs, field.TooMany(path.Child("addresses"), total, MaxAddresses))
	}
	return errs
}

func canonicalHost(text string, origin name.Name) string {
	if n, err := name.ParseIn(text, origin); err == nil {
		return n.String()
	}
	rel, _ := name.ParseRel(text)
	return rel.String()
}

// validateHostName validates the name of a host. Underscores and wildcards are refused, since some servers do not load
// them (S5.11).
func validateHostName(text string, path *field.Path) field.ErrorList {
	if isWildcard(text) {
		return field.ErrorList{field.Invalid(path, cut(text), "is a wildcard: name a host")}
	}
	if err := validateOwnerName(text); err != nil {
		return field.ErrorList{field.Invalid(path, cut(text), err.Error())}
	}
	if host := canonicalHost(text, name.Name{}); host != "@" && !name.IsHost(host) {
		return field.ErrorList{refusal.Cite("S5.11", field.Invalid(path, cut(text), "is no host name: labels are letters, digits and "+
			"inner hyphens (RFC 1123 §2.1)"))}
	}
	return nil
}

// validateMailboxName validates a contact in the form of the SOA, such as hostmaster.example.org.
func validateMailboxName(text string) error {
	_, err := name.ParseIn(text, name.Root)
	if err == nil {
		return nil
	}
	// The text is more probably meant as an owner name.
	if value, wide := rdata.Parse(rdata.NS, text); wide == nil {
		if _, wide = value.Pack(name.Root); wide == nil {
			return nil
		}
	}
	return err
}

// validateAddresses validates the addresses of a name server, each once, in forms that A and AAAA have.
func validateAddresses(list []string, path *field.Path) field.ErrorList {
	seen := map[netip.Addr]bool{}
	return validateEach(list, rdata.MaxValues, path, func(text string, at *field.Path) field.ErrorList {
		address, err := netip.ParseAddr(text)
		wrong := ""
		switch {
		case err != nil:
			wrong = "is neither an IPv4 address (192.0.2.1) nor an IPv6 address (2001:db8::1)"
		case address.Zone() != "":
			wrong = "has a scope zone, which DNS has no form for: write " + address.WithZone("").String()
		case address.Is4In6():
			wrong = "is an IPv4 address mapped into IPv6: write " + address.Unmap().String()
		case seen[address]:
			return field.ErrorList{field.Duplicate(at, text)}
		default:
			seen[address] = true
			return nil
		}
		return field.ErrorList{field.Invalid(at, cut(text), wrong)}
	})
}

// validateTimers validates the SOA timers and TTLs, and refuses timers by which a secondary stops serving early (S6.6).
func validateTimers(spec *v1alpha1.ZoneSpec) field.ErrorList {
	errs := validateSeconds(spec.TTL, 0, specPath.Child("ttl"))
	errs = append(errs, validateSeconds(spec.Refresh, 1, specPath.Child("refresh"))...)
	errs = append(errs, validateSeconds(spec.Retry, 1, specPath.Child("retry"))...)
	errs = append(errs, validateSeconds(spec.Expire, 1, specPath.Child("expire"))...)
	errs = append(errs, validateSeconds(spec.NegativeResponseCache, 0, specPath.Child("negativeResponseCache"))...)
	// A negative timer would give a second, confusing error.
	if len(errs) > 0 {
		return errs
	}
	// Compare with the defaults filled in: a single long refresh may exceed the default expire.
	refresh, retry, expire := orDefault(spec.Refresh, v1alpha1.DefaultRefresh), orDefault(spec.Retry, v1alpha1.DefaultRetry),
		orDefault(spec.Expire, v1alpha1.DefaultExpire)
	if retry >= refresh {
		errs = append(errs, refusal.Cite("S6.6", field.Invalid(specPath.Child("retry"), retry,
			fmt.Sprintf("must be less than refresh (%d), or a failed refresh waits longer than a good one", refresh))))
	}
	if expire <= refresh+retry {
		errs = append(errs, refusal.Cite("S6.6",
			field.Invalid(specPath.Child("expire"), expire, fmt.Sprintf("must be more than refresh + retry (%d), "+
				"or a secondary stops serving before it has asked twice", refresh+retry))))
	}
	return errs
}

func orDefault(value *int32, otherwise int32) int64 {
	if value == nil {
		return int64(otherwise)
	}
	return int64(*value)
}

// validateContact validates a mail address, or a mailbox name as in the SOA. The local part becomes the first label.
func validateContact(text string) error {
	if len(text) > maxContactBytes {
		return fmt.Errorf("has %d bytes, more than any name: give a mail address (hostmaster@example.org)", len(text))
	}
	at := strings.LastIndexByte(text, '@')
	// Without an unescaped @ the text is a name: first\.last.example.org. is first.last@example.org.
	if text == "@" || at < 0 || (at > 0 && text[at-1] == '\\') {
		return validateMailboxName(text)
	}
	return validateMailAddress(text[:at], text[at+1:])
}

// validateMailAddress validates a mail address by its parts before and behind the "@".
func validateMailAddress(local, domain string) error {
	switch {
	case local == "":
		return fmt.Errorf("has no local part: write hostmaster@%s", domain)
	case len(local) > maxLocalPart:
		return fmt.Errorf("has a local part of %d octets; it is one label of the SOA, which has at most %d", len(local), maxLocalPart)
	case strings.ContainsFunc(local, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"\()<>[],;:@`, r) }):
		return fmt.Errorf("has a local part that cannot be written in an SOA: letters, digits, dots and one of !#$%%&'*+-/=?^_`{|}~")
	}
	// A mail address has no dot at its end, so the domain is always absolute.
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

// validateClassRefs validates the classes of a zone, each once. Whether they exist is not asked.
func validateClassRefs(refs []v1alpha1.DNSClassReference) field.ErrorList {
	seen := map[v1alpha1.DNSClassReference]bool{}
	path := specPath.Child("dnsClassRefs")
	return validateEach(refs, MaxClassRefs, path, func(ref v1alpha1.DNSClassReference, at *field.Path) field.ErrorList {
		errs := validateClassRef(ref, at)
		if seen[ref] {
			errs = append(errs, field.Duplicate(at, string(ref.Kind)+"/"+ref.Name))
		}
		seen[ref] = true
		return errs
	})
}

func validateClassRef(ref v1alpha1.DNSClassReference, path *field.Path) field.ErrorList {
	errs := validateChoice(ref.Kind, path.Child("kind"), v1alpha1.KindDNSClass, v1alpha1.KindBind9Cluster)
	return append(errs, validateObjectName(ref.Name, "the metadata.name of the class", path.Child("name"))...)
}
