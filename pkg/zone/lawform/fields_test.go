// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lawform

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// field is a spec field with another value, and the reason why the law does not read it, or "".
type field[O any] struct {
	set   func(*O)
	notIn string
}

func listLeaves(of reflect.Type, path string) (paths []string) {
	switch {
	case of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice:
		return listLeaves(of.Elem(), path)
	case of.Kind() != reflect.Struct || !strings.HasSuffix(of.PkgPath(), "v1alpha1"):
		return []string{path}
	}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		paths = append(paths, listLeaves(f.Type, path+"."+name)...)
	}
	return paths
}

// checkFields changes each field of a spec and compares the law's input.
func checkFields[O any](t *testing.T, spec reflect.Type, base func() *O, toLaw func(*O) (any, error), fields map[string]field[O]) {
	want := must.Get(toLaw(base()))(t)
	for _, path := range listLeaves(spec, "spec") {
		f, ok := fields[path]
		if delete(fields, path); !ok {
			t.Errorf("%s.%s is new: carry it into the law in pkg/zone/lawform/lawform.go and set it in this test, or say here why the law does not read it", spec.Name(), path)
			continue
		}
		o := base()
		f.set(o)
		got, err := toLaw(o)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		switch carried := !reflect.DeepEqual(got, want); {
		case carried && f.notIn != "":
			t.Errorf("the law gets %s.%s, which this test says it does not read (%s)", spec.Name(), path, f.notIn)
		case !carried && f.notIn == "":
			t.Errorf("the law does not get %s.%s: carry it in pkg/zone/lawform/lawform.go, or say here why the law does not read it", spec.Name(), path)
		}
	}
	for path := range fields {
		t.Errorf("%s has no field %s", spec.Name(), path)
	}
}

// A field that package lawform forgets reaches no decision.
func TestRecordSpec_reachesTheLaw(t *testing.T) {
	t.Parallel()
	ttl := int32(60)
	base := func() *v1alpha1.Record {
		return &v1alpha1.Record{Spec: v1alpha1.RecordSpec{DomainName: "www", ZoneRef: &v1alpha1.ZoneReference{Namespace: "platform", Name: "example-org"}, Type: "PTR", Values: []string{"a.example.org."}}}
	}
	fields := map[string]field[v1alpha1.Record]{
		"spec.domainName":        {set: func(o *v1alpha1.Record) { o.Spec.DomainName = "mail" }},
		"spec.view":              {set: func(o *v1alpha1.Record) { o.Spec.View = "inside" }},
		"spec.zoneRef.name":      {set: func(o *v1alpha1.Record) { o.Spec.ZoneRef.Name = "example-net" }},
		"spec.zoneRef.namespace": {set: func(o *v1alpha1.Record) { o.Spec.ZoneRef.Namespace = "team" }},
		"spec.type":              {set: func(o *v1alpha1.Record) { o.Spec.Type = "NS" }},
		"spec.class":             {set: func(o *v1alpha1.Record) { o.Spec.Class = "IN" }, notIn: "there is one class, IN"},
		"spec.expiresAt":         {set: func(o *v1alpha1.Record) { o.Spec.ExpiresAt = &metav1.Time{Time: time.Unix(4102444800, 0)} }},
		"spec.ttl":               {set: func(o *v1alpha1.Record) { o.Spec.TTL = &ttl }},
		"spec.rdata":             {set: func(o *v1alpha1.Record) { o.Spec.RData = "b.example.org." }},
		"spec.values":            {set: func(o *v1alpha1.Record) { o.Spec.Values = []string{"c.example.org."} }},
		"spec.description":       {set: func(o *v1alpha1.Record) { o.Spec.Description = "a host" }, notIn: "it is for people"},
	}
	for path, f := range fields {
		o := base()
		if f.set(o); f.notIn == "" && SameContent(base(), o) {
			t.Errorf("SameContent leaves out %s, which the law reads: an update of it is not decided (S2.4)", path)
		}
	}
	checkFields(t, reflect.TypeFor[v1alpha1.RecordSpec](), base, func(o *v1alpha1.Record) (any, error) { return Record(o) }, fields)
}

func TestZoneSpec_reachesTheLaw(t *testing.T) {
	t.Parallel()
	n, serial := int32(17), int64(17)
	base := func() *v1alpha1.Zone {
		return &v1alpha1.Zone{Spec: v1alpha1.ZoneSpec{DomainName: "dev", ZoneRef: &v1alpha1.ZoneReference{Namespace: "platform", Name: "example-org"},
			NameServers:  []v1alpha1.NameServer{{Name: "ns1"}},
			Delegations:  []v1alpha1.DelegationRule{{Namespace: "team", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
			DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "public"}}, Limits: &v1alpha1.ZoneLimits{}}}
	}
	set := func(change func(*v1alpha1.ZoneSpec)) field[v1alpha1.Zone] {
		return field[v1alpha1.Zone]{set: func(o *v1alpha1.Zone) { change(&o.Spec) }}
	}
	not := func(why string, change func(*v1alpha1.ZoneSpec)) field[v1alpha1.Zone] {
		return field[v1alpha1.Zone]{set: func(o *v1alpha1.Zone) { change(&o.Spec) }, notIn: why}
	}
	checkFields(t, reflect.TypeFor[v1alpha1.ZoneSpec](), base, func(o *v1alpha1.Zone) (any, error) { return ZoneSpec(o) }, map[string]field[v1alpha1.Zone]{
		"spec.domainName":                  set(func(s *v1alpha1.ZoneSpec) { s.DomainName = "test" }),
		"spec.view":                        set(func(s *v1alpha1.ZoneSpec) { s.View = "inside" }),
		"spec.zoneRef.name":                set(func(s *v1alpha1.ZoneSpec) { s.ZoneRef.Name = "example-net" }),
		"spec.zoneRef.namespace":           set(func(s *v1alpha1.ZoneSpec) { s.ZoneRef.Namespace = "team" }),
		"spec.delegations.records.pattern": set(func(s *v1alpha1.ZoneSpec) { s.Delegations[0].Records[0].Pattern = "www" }),
		"spec.delegations.records.types":   set(func(s *v1alpha1.ZoneSpec) { s.Delegations[0].Records[0].Types = []string{"A"} }),
		"spec.delegations.records.shared":  set(func(s *v1alpha1.ZoneSpec) { s.Delegations[0].Records[0].Shared = true }),
		"spec.delegations.zones":           set(func(s *v1alpha1.ZoneSpec) { s.Delegations[0].Zones = []string{"dev"} }),
		"spec.delegations.ds":              set(func(s *v1alpha1.ZoneSpec) { s.Delegations[0].DS = true }),
		"spec.delegations.namespace":       set(func(s *v1alpha1.ZoneSpec) { s.Delegations[0].Namespace = "other" }),
		"spec.delegations.namespaces":      set(func(s *v1alpha1.ZoneSpec) { s.Delegations[0].Namespaces = []string{"other"} }),
		"spec.nameServers.name":            set(func(s *v1alpha1.ZoneSpec) { s.NameServers[0].Name = "ns2" }),
		"spec.nameServers.addresses":       set(func(s *v1alpha1.ZoneSpec) { s.NameServers[0].Addresses = []string{"192.0.2.1"} }),
		"spec.ttl":                         set(func(s *v1alpha1.ZoneSpec) { s.TTL = &n }),
		"spec.refresh":                     set(func(s *v1alpha1.ZoneSpec) { s.Refresh = &n }),
		"spec.retry":                       set(func(s *v1alpha1.ZoneSpec) { s.Retry = &n }),
		"spec.expire":                      set(func(s *v1alpha1.ZoneSpec) { s.Expire = &n }),
		"spec.negativeResponseCache":       set(func(s *v1alpha1.ZoneSpec) { s.NegativeResponseCache = &n }),
		"spec.primaryNameServer":           set(func(s *v1alpha1.ZoneSpec) { s.PrimaryNameServer = "ns1" }),
		"spec.contact":                     set(func(s *v1alpha1.ZoneSpec) { s.Contact = "dns@example.org" }),
		"spec.minimumSerial":               set(func(s *v1alpha1.ZoneSpec) { s.MinimumSerial = &serial }),
		"spec.limits.recordsPerNamespace":  set(func(s *v1alpha1.ZoneSpec) { s.Limits.RecordsPerNamespace = &n }),
		"spec.limits.minTTL":               set(func(s *v1alpha1.ZoneSpec) { s.Limits.MinTTL = &n }),
		"spec.limits.maxDeletePercent":     set(func(s *v1alpha1.ZoneSpec) { s.Limits.MaxDeletePercent = &n }),
		"spec.reverse.zones":               set(func(s *v1alpha1.ZoneSpec) { s.Reverse = &v1alpha1.ZoneReverse{Zones: []string{"a"}} }),
		"spec.reverse.namespaces": set(func(s *v1alpha1.ZoneSpec) {
			s.Reverse = &v1alpha1.ZoneReverse{Namespaces: []string{"a"}}
		}),
		"spec.reverse.prefixes": set(func(s *v1alpha1.ZoneSpec) {
			s.Reverse = &v1alpha1.ZoneReverse{Prefixes: []string{"192.0.2.0/28"}}
		}),
		"spec.reverse.all":           set(func(s *v1alpha1.ZoneSpec) { s.Reverse = &v1alpha1.ZoneReverse{All: true} }),
		"spec.withdrawalGracePeriod": set(func(s *v1alpha1.ZoneSpec) { s.WithdrawalGracePeriod = &metav1.Duration{Duration: time.Hour} }),

		"spec.historyRetention": not("the history reads it", func(s *v1alpha1.ZoneSpec) { s.HistoryRetention = &metav1.Duration{} }),

		"spec.dnsClassRefs.kind":  not("the law reads whether there is a class, and delivery which", func(s *v1alpha1.ZoneSpec) { s.DNSClassRefs[0].Kind = "Bind9Cluster" }),
		"spec.dnsClassRefs.name":  not("the law reads whether there is a class, and delivery which", func(s *v1alpha1.ZoneSpec) { s.DNSClassRefs[0].Name = "other" }),
		"spec.deletionProtection": not("registry/zone refuses the deletion (S8.1)", func(s *v1alpha1.ZoneSpec) { s.DeletionProtection = true }),
		"spec.dnssec.policy":      not("the servers that sign read it, and what they say is in status.dnssec (S12.1)", func(s *v1alpha1.ZoneSpec) { s.DNSSEC = &v1alpha1.ZoneDNSSEC{Policy: "default"} }),
		"spec.deletionPolicy":     not("delivery reads it (S8.4)", func(s *v1alpha1.ZoneSpec) { s.DeletionPolicy = "Retain" }),
	})

	// LawZone copies each setting of a zone.
	o := base()
	o.Status.FQDN = "dev.example.org."
	spec := must.Get(ZoneSpec(o))(t)
	if z, err := Zone(o); err != nil || !reflect.DeepEqual(z.ZoneSettings, spec.ZoneSettings) {
		t.Errorf("%+v, %v, want %+v", z, err, spec.ZoneSettings)
	}
}

func TestDelegationSpec_reachesTheLaw(t *testing.T) {
	t.Parallel()
	base := func() *v1alpha1.Delegation {
		return &v1alpha1.Delegation{Spec: v1alpha1.DelegationSpec{ZoneRef: v1alpha1.DelegatedZone{Name: "example-org"}, Namespaces: []string{"team"}, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}
	}
	set := func(change func(*v1alpha1.DelegationSpec)) field[v1alpha1.Delegation] {
		return field[v1alpha1.Delegation]{set: func(o *v1alpha1.Delegation) { change(&o.Spec) }}
	}
	checkFields(t, reflect.TypeFor[v1alpha1.DelegationSpec](), base, func(o *v1alpha1.Delegation) (any, error) { return DelegationSpec(o) }, map[string]field[v1alpha1.Delegation]{
		"spec.zoneRef.name":    set(func(s *v1alpha1.DelegationSpec) { s.ZoneRef.Name = "example-net" }),
		"spec.namespaces":      set(func(s *v1alpha1.DelegationSpec) { s.Namespaces = []string{"other"} }),
		"spec.records.pattern": set(func(s *v1alpha1.DelegationSpec) { s.Records[0].Pattern = "www" }),
		"spec.records.types":   set(func(s *v1alpha1.DelegationSpec) { s.Records[0].Types = []string{"A"} }),
		"spec.records.shared":  set(func(s *v1alpha1.DelegationSpec) { s.Records[0].Shared = true }),
		"spec.zones":           set(func(s *v1alpha1.DelegationSpec) { s.Zones = []string{"dev"} }),
		"spec.ds":              set(func(s *v1alpha1.DelegationSpec) { s.DS = true }),
	})
}
