// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lawform

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// Zone converts a stored Zone for package law, with status. The error names the field.
func Zone(o *v1alpha1.Zone) (*law.Zone, error) {
	spec, err := ZoneSpec(o)
	if err != nil {
		return nil, err
	}
	z := &law.Zone{Ref: spec.Ref, View: o.Status.View, Header: spec.Header, ZoneSettings: spec.ZoneSettings,
		Serial: serial.Serial(o.Status.Serial), SettledSerial: serial.Serial(o.Status.SettledSerial), N: uint64(o.Status.ContentGeneration),
		RRsets: int(o.Status.RRsetCount), Deletions: readDeletions(o.Status.Deletions)}
	if o.Status.SerialTime != nil {
		z.Changed = o.Status.SerialTime.Unix()
	}
	z.Served = Served(o)
	servable := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionServable)
	z.ClassNameServers = servable != nil && servable.Reason == v1alpha1.ReasonClassNameServers
	// A pending or ended zone has no content: only its wanted name and the reference to its parent count.
	if o.Status.FQDN == "" {
		z.Pending, z.ZoneRef, z.WantedName, z.Ending = true, spec.ZoneRef, spec.Waiting().FQDN, o.Status.EndsAt != nil
		return z, nil
	}
	if z.Header.FQDN, err = name.Parse(o.Status.FQDN); err != nil {
		return nil, fmt.Errorf("zone %s/%s: status.fqdn: %w", o.Namespace, o.Name, err)
	}
	if o.Status.ContentState != "" {
		state, err := sethash.ParseState(o.Status.ContentState)
		if err != nil {
			return nil, fmt.Errorf("zone %s/%s: status.contentState: %w", o.Namespace, o.Name, err)
		}
		z.State = state
	}
	// status.entryCount includes the apex NS and addresses of spec.nameServers, which are no rows.
	z.SetNameServers()
	z.Rows = int(o.Status.EntryCount) - content.EntryCount(z.NSSets, 0)
	return z, nil
}

// readDeletions returns the counts of mass deletions (S7.5). A nil status has none.
func readDeletions(o *v1alpha1.ZoneDeletions) (d law.Deletions) {
	if o == nil {
		return d
	}
	stock := func(s v1alpha1.ZoneStock) law.Stock { return law.Stock{RRsets: int(s.RRsets), Own: int(s.Own)} }
	d.Own, d.PeriodStart = int(o.Own), o.PeriodStart
	for i := range min(len(d.LeastStocks), len(o.Least)) {
		d.LeastStocks[i] = stock(o.Least[i])
	}
	if o.Most != nil {
		d.PeakStock = new(stock(*o.Most))
	}
	return d
}

func publishDeletions(o *v1alpha1.Zone) *uint32 {
	at, err := strconv.ParseUint(o.Annotations[v1alpha1.AnnotationPublishDeletions], 10, 32)
	if err != nil {
		return nil
	}
	publish := uint32(at)
	return &publish
}

func ReleaseNow(o metav1.Object) []string {
	return slices.Compact(slices.Sorted(strings.FieldsFuncSeq(o.GetAnnotations()[v1alpha1.AnnotationReleaseNow], func(c rune) bool {
		return c == ',' || c == ' '
	})))
}

func ZoneRef(r *v1alpha1.ZoneReference, namespace string) *law.Ref {
	if r == nil {
		return nil
	}
	if r.Namespace != "" {
		namespace = r.Namespace
	}
	return &law.Ref{Namespace: namespace, Name: r.Name}
}

func secondsOr(v *int32, def uint32) uint32 {
	if v == nil {
		return def
	}
	return uint32(*v)
}

// ZoneSpec converts the spec of a Zone for package law, with the defaults of S6.6. The error names the field.
func ZoneSpec(o *v1alpha1.Zone) (s *zones.ZoneSpec, err error) {
	s = &zones.ZoneSpec{
		Ref:        law.Ref{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)},
		DomainName: o.Spec.DomainName, View: o.Spec.View, ZoneRef: ZoneRef(o.Spec.ZoneRef, o.Namespace),
		Header: content.Header{
			TTL: secondsOr(o.Spec.TTL, 360), Refresh: secondsOr(o.Spec.Refresh, 86400), Retry: secondsOr(o.Spec.Retry, 7200),
			Expire: secondsOr(o.Spec.Expire, 3600000), NegativeResponseCache: secondsOr(o.Spec.NegativeResponseCache, 360),
			PrimaryNameServer: o.Spec.PrimaryNameServer, Contact: o.Spec.Contact,
		},
		ZoneSettings: law.ZoneSettings{
			Terminating:      o.DeletionTimestamp != nil,
			HasClass:         len(o.Spec.DNSClassRefs) > 0,
			Grace:            int64(v1alpha1.DefaultWithdrawalGracePeriod.Seconds()),
			MaxDeletePercent: v1alpha1.MaxDeletePercentOf(o.Spec.Limits),
			Publish:          publishDeletions(o),
			ReleaseNow:       ReleaseNow(o),
		},
	}
	// An explicit 0s ends rules at once, so nil and zero differ.
	if d := o.Spec.WithdrawalGracePeriod; d != nil {
		s.Grace = int64(d.Seconds())
	}
	for _, ns := range o.Spec.NameServers {
		s.Header.NameServers = append(s.Header.NameServers, content.NameServer{Name: ns.Name, Addresses: slices.Clone(ns.Addresses)})
	}
	if o.Spec.MinimumSerial != nil {
		m := uint32(*o.Spec.MinimumSerial)
		s.MinimumSerial = &m
	}
	if l := o.Spec.Limits; l != nil {
		s.RecordsPerNamespace = int64(ptr.Deref(l.RecordsPerNamespace, 0))
		s.MinTTL = int64(ptr.Deref(l.MinTTL, 0))
	}
	if s.Reverse, err = readReverse(o.Spec.Reverse); err != nil {
		return nil, err
	}
	// The DS are of the status, since a controller writes them. They count only for the present name.
	if s.DS, err = readSigners(o); err != nil {
		return nil, err
	}
	for i, d := range o.Spec.Delegations {
		rule, err := lawRule(fmt.Sprintf("spec.delegations[%d]", i), d.Records, d.Zones)
		if err != nil {
			return nil, err
		}
		// The older field namespace means one more element of namespaces.
		rule.Namespaces, rule.DS = slices.Clone(d.Namespaces), d.DS
		if d.Namespace != "" && !slices.Contains(rule.Namespaces, d.Namespace) {
			rule.Namespaces = append(rule.Namespaces, d.Namespace)
		}
		s.Rules = append(s.Rules, rule)
	}
	return s, nil
}

func readReverse(r *v1alpha1.ZoneReverse) (*law.Reverse, error) {
	if r == nil {
		return nil, nil
	}
	out := &law.Reverse{Zones: slices.Clone(r.Zones), Namespaces: slices.Clone(r.Namespaces), All: r.All}
	for i, text := range r.Prefixes {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("spec.reverse.prefixes[%d]: %w", i, err)
		}
		out.Prefixes = append(out.Prefixes, prefix)
	}
	return out, nil
}

// readSigners returns status.dnssec.ds, or nil if written for a former name.
func readSigners(o *v1alpha1.Zone) (out []string, err error) {
	dnssec := o.Status.DNSSEC
	if dnssec == nil || dnssec.FQDN != o.Status.FQDN {
		return nil, nil
	}
	// Sorted, so that equal sets of DS have equal content and no new serial.
	for i, ds := range dnssec.DS {
		v, err := rdata.ParseStored(rdata.DS, fmt.Sprintf("%d %d %d %s", ds.KeyTag, ds.Algorithm, ds.DigestType, ds.Digest))
		if err != nil {
			return nil, fmt.Errorf("status.dnssec.ds[%d]: %w", i, err)
		}
		out = append(out, v.Text)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// lawRule converts the patterns and types of a rule. path is the rule's field, for errors such as
// spec.delegations[2].zones[0].
func lawRule(path string, records []v1alpha1.RecordDelegation, zones []string) (rule rules.Rule, err error) {
	for i, r := range records {
		p, err := pattern.Parse(r.Pattern)
		if err != nil {
			return rule, fmt.Errorf("%s.records[%d].pattern: %w", path, i, err)
		}
		rr := rules.RecordRule{Pattern: p, Text: r.Pattern, Shared: r.Shared}
		for _, text := range r.Types {
			t, err := rdata.ParseType(text)
			if err != nil {
				return rule, fmt.Errorf("%s.records[%d].types: %w", path, i, err)
			}
			rr.Types = append(rr.Types, t)
		}
		rule.Records = append(rule.Records, rr)
	}
	for i, text := range zones {
		p, err := pattern.Parse(text)
		if err != nil {
			return rule, fmt.Errorf("%s.zones[%d]: %w", path, i, err)
		}
		rule.Zones = append(rule.Zones, p)
	}
	return rule, nil
}

// Record converts a Record for package law. The error names the field.
func Record(o *v1alpha1.Record) (*law.Record, error) {
	r, err := RecordWithoutData(o)
	if err != nil {
		return nil, err
	}
	values := o.Spec.Values
	if o.Spec.RData != "" || len(values) == 0 {
		values = []string{o.Spec.RData}
	}
	seen := map[string]bool{}
	for i, text := range values {
		v, err := rdata.ParseStored(r.Type, text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("spec.values[%d]: %w", i, err)
		// "192.0.2.1" twice is a single value, with a Warning (S5.2).
		case seen[v.Text]:
			r.RepeatedValues = append(r.RepeatedValues, v)
		default:
			seen[v.Text] = true
			r.Values = append(r.Values, v)
		}
	}
	return r, nil
}

// RecordWithoutData is Record without values, and fails only if the type does not parse.
func RecordWithoutData(o *v1alpha1.Record) (*law.Record, error) {
	t, err := rdata.ParseType(o.Spec.Type)
	if err != nil {
		return nil, fmt.Errorf("spec.type: %w", err)
	}
	r := &law.Record{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), View: o.Spec.View, DomainName: o.Spec.DomainName,
		ZoneRef: ZoneRef(o.Spec.ZoneRef, o.Namespace), Type: t, Created: o.CreationTimestamp.Unix(),
		Terminating: o.DeletionTimestamp != nil, WaitsOnConflict: o.Annotations[v1alpha1.AnnotationOnConflict] == v1alpha1.OnConflictWait}
	if at := o.Spec.ExpiresAt; at != nil {
		r.ExpiresAt = at.Unix()
		r.DeletedAtExpiry = o.Labels[v1alpha1.LabelDynamic] == "true" && len(o.Finalizers) == 0 && !r.Terminating
	}
	// Without a ttl the Record has the zone's (S5.5), so nil stays nil.
	if o.Spec.TTL != nil {
		ttl := uint32(*o.Spec.TTL)
		r.TTL = &ttl
	}
	return r, nil
}

// Served reports whether a zone is delegated and servable, but in no class, since the finalizer kubi.zone/delivery is
// absent.
func Served(o *v1alpha1.Zone) bool {
	return meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionDelegated) && meta.IsStatusConditionTrue(o.Status.Conditions,
		v1alpha1.ConditionServable) &&
		!slices.Contains(o.Finalizers, v1alpha1.FinalizerDelivery)
}

func DelegationRule(o *v1alpha1.Delegation) (rules.Rule, error) {
	rule, err := lawRule("spec", o.Spec.Records, o.Spec.Zones)
	rule.Namespaces, rule.DS = slices.Clone(o.Spec.Namespaces), o.Spec.DS
	return rule, err
}

func DelegationSpec(o *v1alpha1.Delegation) (*zones.DelegationSpec, error) {
	rule, err := DelegationRule(o)
	return &zones.DelegationSpec{Zone: o.Spec.ZoneRef.Name, Rule: rule, ReleaseNow: ReleaseNow(o)}, err
}

// SameContent reports whether an update keeps the spec, except the description.
func SameContent(before, after *v1alpha1.Record) bool {
	if before == nil || after == nil {
		return false
	}
	x, y := before.Spec, after.Spec
	x.Description, y.Description = "", ""
	return apiequality.Semantic.DeepEqual(x, y)
}

// DueAt returns the time in a Record's due key in Unix seconds, or 0 if the Record has no such key: without an expiry,
// and after it.
func DueAt(o *v1alpha1.Record) int64 {
	adopted := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAdopted)
	if o.Spec.ExpiresAt == nil || adopted != nil && adopted.Reason == law.ReasonExpired {
		return 0
	}
	return o.Spec.ExpiresAt.Unix()
}
