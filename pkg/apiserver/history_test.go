// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

func readJSON(t *testing.T, from *rest.Request, into any) {
	t.Helper()
	must.Succeed(t, json.Unmarshal(must.Get(from.DoRaw(context.Background()))(t), into))
}

// A history names user, manager, audit ID and the Records before; another namespace's only with sources=true. A
// namespace reads the changes of its own Records, deleted ones too.
func TestHistory_saysWhoAndHow_S7_14(t *testing.T) {
	api, ctx := startWholeServer(t), t.Context()
	changes := func(ns, resource, name string) *rest.Request {
		return api.RESTClient().Get().Namespace(ns).Resource(resource).Name(name).SubResource("changes")
	}
	must.Get(api.Zones("platform").Create(ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "z"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "example.org.", NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: "team", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}},
		metav1.CreateOptions{FieldManager: "terraform"}))(t)
	records := api.Records("team")
	r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "www", Labels: map[string]string{"app": "web"}},
		Spec: v1alpha1.RecordSpec{DomainName: "www.example.org.", Type: "A", RData: "192.0.2.1"}}
	r = must.Get(records.Create(ctx, r, metav1.CreateOptions{FieldManager: "kubectl"}))(t)
	r.Spec.RData = "192.0.2.2"
	must.Get(records.Update(ctx, r, metav1.UpdateOptions{FieldManager: "kubectl-edit"}))(t)
	must.Succeed(t, records.Delete(ctx, "www", metav1.DeleteOptions{}))

	var own v1alpha1.RecordChanges
	readJSON(t, changes("team", "records", "www"), &own)
	if len(own.History) != 3 || own.WholeSince == nil {
		t.Fatalf("%d changes, whole since %v", len(own.History), own.WholeSince)
	}
	deleted, updated, created := own.History[0], own.History[1], own.History[2]
	for i, x := range own.History {
		if x.By == "" || x.AuditID == "" || x.Way != v1alpha1.WayRequest || x.FQDN != "example.org." || x.AnotherNamespace ||
			len(x.Records) != 1 || x.Records[0].Name != "www" || x.Records[0].UID != string(r.UID) || x.Time == nil {
			t.Errorf("change %d: %+v", i, x)
		}
	}
	if created.FieldManager != "kubectl" || created.Records[0].Effect != v1alpha1.EffectAdded || created.Records[0].Before != nil {
		t.Errorf("creation: %+v", created)
	}
	before := updated.Records[0].Before
	if updated.FieldManager != "kubectl-edit" || updated.Records[0].Effect != v1alpha1.EffectChanged || before == nil ||
		before.Labels["app"] != "web" || !strings.Contains(string(before.Spec.Raw), `"rdata":"192.0.2.1"`) {
		t.Errorf("update: %+v, before %s", updated, before.Spec.Raw)
	}
	if before = deleted.Records[0].Before; deleted.Records[0].Effect != v1alpha1.EffectRemoved || before == nil ||
		!strings.Contains(string(before.Spec.Raw), `"rdata":"192.0.2.2"`) || deleted.From != updated.Serial {
		t.Errorf("deletion: %+v", deleted)
	}

	// By a DNS name, without a Record of the name; not in another namespace.
	for _, row := range []struct {
		ns, name, fqdn string
		want           int
	}{{"team", "-", "www.example.org", 3}, {"team", "-", "", 3}, {"team", "-", "ftp.example.org.", 0}, {"team", "other", "", 0},
		{"platform", "www", "", 0}, {"platform", "-", "", 0}} {
		var got v1alpha1.RecordChanges
		readJSON(t, changes(row.ns, "records", row.name).Param("fqdn", row.fqdn), &got)
		if len(got.History) != row.want {
			t.Errorf("%+v: %d changes", row, len(got.History))
		}
	}

	var masked, all v1alpha1.ZoneChanges
	readJSON(t, changes("platform", "zones", "z").Param("form", "history"), &masked)
	readJSON(t, changes("platform", "zones", "z").Param("form", "history").Param("sources", "true").Param("limit", "2"), &all)
	if len(masked.History) != 4 || len(all.History) != 2 || all.Metadata.Continue == "" {
		t.Fatalf("%d changes, with a limit %d, continue %q", len(masked.History), len(all.History), all.Metadata.Continue)
	}
	for _, x := range masked.History[:3] {
		if text := must.Get(json.Marshal(x))(t); !x.AnotherNamespace || len(x.Records) > 0 || x.By+x.AuditID+x.FieldManager != "" ||
			strings.Contains(string(text), "team") || len(x.Removed)+len(x.Added) == 0 {
			t.Errorf("of another namespace: %s", text)
		}
	}
	if first := masked.History[3]; first.By == "" || first.FieldManager != "terraform" || first.AnotherNamespace ||
		first.HeaderAfter == nil {
		t.Errorf("of its own: %+v", first)
	}
	if x := all.History[0]; x.AnotherNamespace || x.By == "" || x.Records[0].Namespace != "team" {
		t.Errorf("with sources: %+v", x)
	}
	var rest v1alpha1.ZoneChanges
	readJSON(t, changes("platform", "zones", "z").Param("form", "history").Param("continue", all.Metadata.Continue), &rest)
	if len(rest.History) != 2 || rest.History[0].Serial != all.History[1].From {
		t.Errorf("the rest: %+v", rest.History)
	}
	for parameter, value := range map[string]string{"continue": "?", "limit": "1001", "sinceTime": "noon", "watch": "true",
		"format": "text"} {
		_, err := changes("platform", "zones", "z").Param("form", "history").Param(parameter, value).DoRaw(ctx)
		if !apierrors.IsBadRequest(err) && !apierrors.IsNotAcceptable(err) {
			t.Errorf("%s=%s: %v", parameter, value, err)
		}
	}

	// A removed zone has its history, with the Zone before.
	must.Succeed(t, api.Zones("platform").Delete(ctx, "z", metav1.DeleteOptions{}))
	var removed v1alpha1.ZoneChanges
	for removed.FQDN == "" { // a server archives it meanwhile
		text, err := changes("platform", "zones", "z").Param("form", "history").DoRaw(ctx)
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		if err == nil {
			must.Succeed(t, json.Unmarshal(text, &removed))
		}
	}
	last := removed.History[0]
	if len(removed.History) != 5 || last.Zone == nil || last.Zone.Name != "z" || last.By == "" || removed.FQDN != "example.org." ||
		!strings.Contains(string(last.Zone.Before.Spec.Raw), `"domainName":"example.org."`) || last.Serial != removed.Until {
		t.Errorf("%d changes of the removed zone, the last %+v", len(removed.History), last)
	}
	if _, err := changes("team", "zones", "z").Param("form", "history").DoRaw(ctx); !apierrors.IsNotFound(err) {
		t.Errorf("of another namespace: %v", err)
	}
}
