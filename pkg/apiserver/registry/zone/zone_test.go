// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Each field of a Zone's status except conditions must be in serverFields, which clients cannot write.
func TestServerFields_areComplete(t *testing.T) {
	kind := reflect.TypeFor[v1alpha1.ZoneStatus]()
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		if slices.Contains(serverFields, name) == (name == "conditions") {
			t.Errorf("status.%s: whose is it?", name)
		}
	}
}

func TestRow(t *testing.T) {
	zone := exampleZone(7)
	zone.Spec = v1alpha1.ZoneSpec{DomainName: "example.org.", DNSClassRefs: []v1alpha1.DNSClassReference{{Kind: "DNSClass", Name: "public"}, {Kind: "Bind9Cluster", Name: "mine"}}}
	zone.Status.Hash, zone.Status.EntryCount = "0123456789abcdef", 12
	zone.Status.ParentRef = &v1alpha1.ZoneParent{Namespace: "top", Name: "org"}
	want := []any{"example-org", "example.org.", int64(7), int64(12), "public,Bind9Cluster…", "top/org", "Unknown", "<unknown>", "example.org.", "01234567", "<none>", "<none>"}
	if got := zoneRow(zone); !reflect.DeepEqual(got, want) {
		t.Errorf("row %q, want %q", got, want)
	}
}

// A mass deletion may also remove the last name server, so both Settled and Servable are False. The column of kubectl
// shows the condition Settled, because it has the remedy (S7.8).
func TestRow_saysTheHoldFirst_S7_8(t *testing.T) {
	for reason, want := range map[string]string{v1alpha1.ReasonMassDeletion: "MassDeletion: the way out", v1alpha1.ReasonCascading: "NoNameServers: none"} {
		zone := exampleZone(7)
		zone.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionServable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoNameServers, Message: "none"},
			{Type: v1alpha1.ConditionSettled, Status: metav1.ConditionFalse, Reason: reason, Message: "the way out"},
		}
		if cells := zoneRow(zone); cells[len(cells)-1] != want {
			t.Errorf("%s: %q, and not %q", reason, cells[len(cells)-1], want)
		}
	}
}

// S3.5: an ending zone shows its end although still delegated.
func TestRow_saysThatItEnds_S3_5(t *testing.T) {
	zone := exampleZone(7)
	zone.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDelegated, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonDelegationWithdrawn, Message: "it ends"}}
	if cells := zoneRow(zone); cells[len(cells)-1] != "DelegationWithdrawn: it ends" {
		t.Errorf("it says %q", cells[len(cells)-1])
	}
}

// The right to establish a zone is asked for a resourceName made of the zone: its view and a colon, if it has a view,
// then its name without the final dot; the root is "." (S3.3).
func TestResourceName(t *testing.T) {
	for _, test := range []struct{ domainName, view, want string }{
		{"example.org.", "", "example.org"}, {"Example.ORG.", "", "example.org"}, {"bücher.example.", "", "xn--bcher-kva.example"}, {"example。org。", "", "example.org"},
		{".", "", "."}, {"example.org.", "internal", "internal:example.org"}, {".", "root", "root:."},
		{"dev", "", ""}, {"a..b.", "", ""}, {"", "", ""},
	} {
		got, ok := resourceName(&v1alpha1.ZoneSpec{DomainName: test.domainName, View: test.view})
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%q in view %q: %q %v, want %q", test.domainName, test.view, got, ok, test.want)
		}
	}
}

func TestNegotiate(t *testing.T) {
	all := []string{v1alpha1.FormatJSON, v1alpha1.FormatText, v1alpha1.FormatTable}
	for _, test := range []struct{ query, accept, want string }{
		{"", "", "json"}, {"", "*/*", "json"}, {"", "application/json", "json"}, {"", "text/dns", "text"},
		{"", "application/yaml;q=0.5, text/dns", "text"}, {"", "image/png, text/dns;q=0.1", "text"},
		{"", "application/vnd.kubernetes.protobuf,application/json", "json"},
		{"", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "table"},
		{"", "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", "json"},
		{"", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json", "json"},
		{"", "text/dns;q=0, application/json;q=0.1", "json"},
		{"text", "application/json", "text"}, {"table", "", "table"},
	} {
		if got, err := negotiateFormat(test.query, test.accept, all...); err != nil || got != test.want {
			t.Errorf("%q %q: %q %v, want %q", test.query, test.accept, got, err, test.want)
		}
	}
	if got, err := negotiateFormat("", "text/dns;q=0", all...); err == nil {
		t.Errorf("what is not wanted is sent: %q", got)
	}
}

// A class that cannot be read admits no namespace.
func TestCheckClasses_ofAnUnreadableClass(t *testing.T) {
	r := &REST{config: Config{Admits: func(context.Context, string, string, string) (bool, bool, error) {
		return true, true, errors.New("etcd is away")
	}}}
	zone := &v1alpha1.Zone{Spec: v1alpha1.ZoneSpec{DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "public"}}}}
	if err := r.checkClasses(t.Context(), zone, &v1alpha1.Zone{}); !apierrors.IsInternalError(err) {
		t.Error(err)
	}
}

func FuzzParsePlace(f *testing.F) {
	f.Add("")
	f.Add(continuation{UID: "u", Serial: 1, Name: makeExample(7, 0).header.FQDN}.token())
	f.Fuzz(func(t *testing.T, token string) {
		p, err := parseContinuation(token)
		if err == nil && (p.UID == "" || p.Name.IsZero() || p.Skip < 0) {
			t.Errorf("accepted %+v", p)
		}
	})
}
