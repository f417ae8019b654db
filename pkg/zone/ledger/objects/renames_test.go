// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Another spelling of a name is no rename.
func TestRenames_areOfAnotherName_S1_6(t *testing.T) {
	ref := func(namespace, name string) *v1alpha1.ZoneReference {
		return &v1alpha1.ZoneReference{Namespace: namespace, Name: name}
	}
	type spec struct {
		domainName string
		zoneRef    *v1alpha1.ZoneReference
	}
	for what, c := range map[string]struct {
		fqdn          string
		before, after spec
		want          string
	}{
		"nothing":                {"example.org.", spec{"example.org.", nil}, spec{"example.org.", nil}, ""},
		"letters":                {"example.org.", spec{"example.org.", nil}, spec{"Example.ORG.", nil}, ""},
		"another name":           {"example.org.", spec{"example.org.", nil}, spec{"example.net.", nil}, "spec.domainName"},
		"relative letters":       {"kid.example.org.", spec{"kid", ref("", "org")}, spec{"KID", ref("", "org")}, ""},
		"relative, another name": {"kid.example.org.", spec{"kid", ref("", "org")}, spec{"son", ref("", "org")}, "spec.domainName"},
		"absolute":               {"kid.example.org.", spec{"kid", ref("", "org")}, spec{"kid.example.org.", ref("", "org")}, ""},
		"absolute, another name": {"kid.example.org.", spec{"kid", ref("", "org")}, spec{"kid.example.net.", ref("", "org")},
			"spec.domainName"},
		"absolute, then relative": {"kid.example.org.", spec{"kid.example.org.", ref("", "org")}, spec{"kid", ref("", "org")},
			"spec.domainName"},
		"the namespace of its own": {"kid.example.org.", spec{"kid", ref("", "org")}, spec{"kid", ref("team", "org")}, ""},
		"another namespace":        {"kid.example.org.", spec{"kid", ref("", "org")}, spec{"kid", ref("other", "org")}, "spec.zoneRef"},
		"without its zone": {"kid.example.org.", spec{"kid.example.org.", ref("", "org")}, spec{"kid.example.org.", nil},
			"spec.zoneRef"},
	} {
		zone := func(s spec) *v1alpha1.Zone {
			return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "z"},
				Spec: v1alpha1.ZoneSpec{DomainName: s.domainName, ZoneRef: s.zoneRef}, Status: v1alpha1.ZoneStatus{FQDN: c.fqdn}}
		}
		if got := RenamedField(zone(c.before), zone(c.after)); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
