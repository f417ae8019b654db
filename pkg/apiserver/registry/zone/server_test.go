// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/standalone"
)

func zoneNamed(object, domainName string) *v1alpha1.Zone {
	return &v1alpha1.Zone{
		ObjectMeta: metav1.ObjectMeta{Name: object, Namespace: "dns"},
		Spec:       v1alpha1.ZoneSpec{DomainName: domainName, Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}},
	}
}

// The parts are independent on a shared server.
func TestServer(t *testing.T) {
	s := standalone.Start(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *standalone.Server)
	}{
		{"S7.4 spec and status", testSpecAndStatus}, {"S7.4 status subresource", testStatusSubresource}, {"S7.3 dry run", testDryRun},
		{"finalizers", testFinalizers}, {"S12.2 dnssec", testDNSSEC}, {"classes", testClasses}, {"S8.4 retain", testRetain},
		{"server-side apply", testApply}, {"rules of refusals", testRules},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, s) })
	}
}

func testSpecAndStatus(t *testing.T, s *standalone.Server) {
	ctx := t.Context()
	zones, records := s.KubizoneV1alpha1().Zones("dns"), s.KubizoneV1alpha1().Records("dns")
	zone := zoneNamed("s74", "S74.Example.org.")
	zone.Status.Serial = 99
	zone.Labels = map[string]string{v1alpha1.LabelParentZone: "mine", "kept": "yes"}
	created := must.Get(zones.Create(ctx, zone, metav1.CreateOptions{}))(t)
	if created.Status.Serial == 99 || created.Generation != 1 || created.Spec.DomainName != "S74.Example.org." || *created.Spec.TTL != 360 || *created.Spec.Expire != 3600000 || created.Spec.DeletionPolicy != "Delete" {
		t.Errorf("created %+v", created)
	}
	if _, is := created.Labels[v1alpha1.LabelParentZone]; is || created.Labels["kept"] != "yes" {
		t.Errorf("S6.12: labels %v", created.Labels)
	}
	created.Labels["more"] = "yes"
	updated, err := zones.Update(ctx, created, metav1.UpdateOptions{})
	if err != nil || updated.Generation != 1 {
		t.Errorf("a label is no new generation: %v, %d", err, updated.Generation)
	}
	updated.Spec.Contact = "hostmaster@example.org"
	if updated, err = zones.Update(ctx, updated, metav1.UpdateOptions{}); err != nil || updated.Generation != 2 {
		t.Errorf("spec is a new generation: %v, %d", err, updated.Generation)
	}
	updated.Spec.View = "internal"
	if _, err := zones.Update(ctx, updated, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("S1.4: %v", err)
	}

	bad := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Spec: v1alpha1.RecordSpec{DomainName: "www", Type: "A", RData: "x"}}
	if _, err := records.Create(ctx, bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.domainName") || !strings.Contains(err.Error(), "spec.rdata") {
		t.Errorf("422 with every field: %v", err)
	}
}

func testStatusSubresource(t *testing.T, s *standalone.Server) {
	ctx := t.Context()
	zones, records := s.KubizoneV1alpha1().Zones("dns"), s.KubizoneV1alpha1().Records("dns")
	zone := must.Get(zones.Create(ctx, zoneNamed("status", "status.example."), metav1.CreateOptions{}))(t)
	record := must.Get(records.Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "status"},
		Spec: v1alpha1.RecordSpec{DomainName: "www.status.example.", Type: "A", RData: "192.0.2.1"}}, metav1.CreateOptions{}))(t)
	forged := func(kinds ...string) (all []metav1.Condition) {
		for _, kind := range append(kinds, "Mine") {
			all = append(all, metav1.Condition{Type: kind, Status: "True", Reason: "ByMe", LastTransitionTime: metav1.Now()})
		}
		return all
	}
	expect := func(conditions []metav1.Condition, kinds ...string) {
		t.Helper()
		for _, c := range conditions {
			if (c.Reason == "ByMe") != (c.Type == "Mine") {
				t.Errorf("S7.4: condition %+v", c)
			}
		}
		for _, kind := range append(kinds, "Mine") {
			if meta.FindStatusCondition(conditions, kind) == nil {
				t.Errorf("S7.4: %s is gone", kind)
			}
		}
	}
	record.Spec.RData, record.Labels, record.ResourceVersion = "192.0.2.9", map[string]string{"not": "here"}, ""
	record.Status = v1alpha1.RecordStatus{FQDN: "mine.", Serial: 99, LastDeliveryError: "refused by ns1",
		Conditions: forged("Adopted", "Ready", "Stalled")}
	record = must.Get(records.UpdateStatus(ctx, record, metav1.UpdateOptions{}))(t)
	expect(record.Status.Conditions, "Adopted", "Ready")
	if st := record.Status; st.FQDN != "www.status.example." || st.Serial == 99 || st.LastDeliveryError != "" {
		t.Errorf("S7.4: status %+v", st)
	}
	if record.Spec.RData != "192.0.2.1" || record.Labels["not"] != "" || record.Generation != 1 {
		t.Errorf("status wrote more than status: %+v", record)
	}
	zone.Spec.TTL, zone.ResourceVersion = ptr.To[int32](60), ""
	zone.Status = v1alpha1.ZoneStatus{Hash: "forged", Conditions: forged("Servable")}
	zone = must.Get(zones.UpdateStatus(ctx, zone, metav1.UpdateOptions{}))(t)
	expect(zone.Status.Conditions, "Delegated", "Servable", "Settled")
	if zone.Status.Serial == 0 || zone.Status.Hash == "forged" || *zone.Spec.TTL != 360 {
		t.Errorf("S7.4: zone %+v", zone)
	}
}

// A dry run leaves an object as it is. The removal of the last finalizer is that of the object.
func testDryRun(t *testing.T, s *standalone.Server) {
	ctx, dry := t.Context(), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	zones, records := s.KubizoneV1alpha1().Zones("dns"), s.KubizoneV1alpha1().Records("dns")
	must.Get(zones.Create(ctx, zoneNamed("dry", "dry.example."), metav1.CreateOptions{}))(t)
	made := must.Get(records.Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "dry", Finalizers: []string{"example.org/f"}},
		Spec: v1alpha1.RecordSpec{DomainName: "www.dry.example.", Type: "A", RData: "192.0.2.1"}}, metav1.CreateOptions{}))(t)
	patch := []byte(`{"metadata":{"labels":{"kubi.zone/parent-zone":null}},"spec":{"ttl":0}}`)
	patched, err := records.Patch(ctx, "dry", types.MergePatchType, patch, dry)
	if err != nil || patched.Status.Serial != made.Status.Serial+1 || *patched.Spec.TTL != 0 || patched.Generation != 2 ||
		patched.Labels[v1alpha1.LabelParentZone] != "dry.dns" {
		t.Errorf("patch: %v, %+v", err, patched)
	}
	must.Succeed(t, records.Delete(ctx, "dry", metav1.DeleteOptions{DryRun: dry.DryRun}))
	must.Succeed(t, records.Delete(ctx, "dry", metav1.DeleteOptions{}))
	if _, err := records.Patch(ctx, "dry", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), dry); err != nil {
		t.Errorf("last finalizer: %v", err)
	}
	if left := must.Get(records.Get(ctx, "dry", metav1.GetOptions{}))(t); left.DeletionTimestamp == nil || left.Spec.TTL != nil {
		t.Errorf("a dry run wrote: %+v", left)
	}
}

// Attack 77: a write to zones/finalizers adds or removes one finalizer and changes nothing else.
func testFinalizers(t *testing.T, s *standalone.Server) {
	ctx := t.Context()
	zones := s.KubizoneV1alpha1().Zones("dns")
	zone := zoneNamed("held", "held.example.")
	zone.Finalizers = []string{"example.org/other"}
	before := must.Get(zones.Create(ctx, zone, metav1.CreateOptions{}))(t)
	write := func(kind types.PatchType, patch string) (*v1alpha1.Zone, error) {
		return zones.Patch(ctx, "held", kind, []byte(patch), metav1.PatchOptions{FieldManager: "controller"}, "finalizers")
	}
	forged := `"labels":{"a":"b"},"annotations":{"a":"b"},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"u"}]},` +
		`"spec":{"domainName":"stolen.example.","ttl":5,"delegations":[{"records":[{"pattern":"*.*"}]}]},"status":{"serial":9}}`
	same := func(after *v1alpha1.Zone, err error, finalizers ...string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(after.Finalizers, finalizers) {
			t.Errorf("finalizers %q, want %q", after.Finalizers, finalizers)
		}
		if !equality.Semantic.DeepEqual(after.Spec, before.Spec) || after.Status.Serial != before.Status.Serial || after.Labels != nil || after.Annotations != nil || after.OwnerReferences != nil || after.Generation != 1 {
			t.Errorf("more than finalizers was written: %+v", after)
		}
	}
	const other, local = "example.org/other", v1alpha1.FinalizerDelivery
	after, err := write(types.StrategicMergePatchType, `{"metadata":{"finalizers":["kubi.zone/delivery","mallory.test/forever"],`+forged)
	same(after, err, other, local)
	after, err = write(types.MergePatchType, `{"metadata":{"finalizers":null,`+forged)
	same(after, err, other)
	after, err = write(types.StrategicMergePatchType, `{"metadata":{"finalizers":["kubi.zone/delivery"]}}`)
	same(after, err, other, local)
	// S8.3, attack 71: a write of the Zone neither removes nor adds that finalizer.
	freed, err := zones.Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	same(freed, err, local)
	freed.Finalizers = []string{other}
	freed, err = zones.Update(ctx, freed, metav1.UpdateOptions{})
	same(freed, err, other, local)
	tied := zoneNamed("tied", "tied.example.")
	tied.Finalizers = []string{local, other}
	if tied, err = zones.Create(ctx, tied, metav1.CreateOptions{}); err != nil || !slices.Equal(tied.Finalizers, []string{other}) {
		t.Errorf("a new Zone: %v, %q", err, tied.Finalizers)
	}
	if tied, err = zones.Patch(ctx, "tied", types.MergePatchType, []byte(`{"metadata":{"finalizers":["kubi.zone/delivery"]}}`), metav1.PatchOptions{}); err != nil || len(tied.Finalizers) != 0 {
		t.Errorf("its finalizers changed: %v, %q", err, tied.Finalizers)
	}
	for _, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		for _, subresource := range []string{"finalizers", "status"} {
			if _, err := zones.Patch(ctx, "held", kind, []byte(`{"metadata":{"uid":"another","finalizers":null}}`), metav1.PatchOptions{}, subresource); !apierrors.IsConflict(err) {
				t.Errorf("another object's uid, by a %s of %s: %v", kind, subresource, err)
			}
		}
	}
	named := before.DeepCopy()
	named.UID, named.ResourceVersion = "another", ""
	if _, err := zones.UpdateStatus(ctx, named, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("another object's uid, by an update of status: %v", err)
	}
	must.Succeed(t, zones.Delete(ctx, "held", metav1.DeleteOptions{}))
	after, err = write(types.StrategicMergePatchType, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["kubi.zone/delivery"]}}`)
	if err != nil || !slices.Equal(after.Finalizers, []string{other}) || after.DeletionTimestamp == nil {
		t.Errorf("let go while it is deleted: %v, %+v", err, after)
	}
	if _, err := write(types.StrategicMergePatchType, `{"metadata":{"finalizers":["kubi.zone/delivery"]}}`); !apierrors.IsInvalid(err) {
		t.Errorf("a finalizer for what is being deleted: %v", err)
	}
}

// S12.2: only zones/dnssec changes status.dnssec, and nothing else.
func testDNSSEC(t *testing.T, s *standalone.Server) {
	ctx := t.Context()
	zones := s.KubizoneV1alpha1().Zones("dns")
	pending := zoneNamed("signed", "signed")
	pending.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "absent"}
	must.Get(zones.Create(ctx, pending, metav1.CreateOptions{}))(t)
	write := func(kind types.PatchType, dnssec string) (*v1alpha1.Zone, error) {
		forged := `"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"signed","labels":{"a":"b"},"annotations":{"a":"b"},"finalizers":["mallory.test/forever"]},` +
			`"spec":{"domainName":"stolen.example.","ttl":5},"status":{"serial":9,"conditions":[{"type":"Ready","status":"True","reason":"Forged","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}],"dnssec":`
		return zones.Patch(ctx, "signed", kind, []byte(`{`+forged+dnssec+`}}`), metav1.PatchOptions{FieldManager: "controller"}, "dnssec")
	}
	const one = `{"keyTag":1,"algorithm":13,"digestType":1,"digest":"0123456789abcdef0123456789abcdef01234567"}`
	if _, err := write(types.MergePatchType, `{"fqdn":"signed.parent.","ds":[`+one+`]}`); !apierrors.IsInvalid(err) {
		t.Errorf("a zone without a name has DS: %v", err)
	}
	parent := zoneNamed("absent", "parent.")
	parent.Spec.Delegations[0].Zones = []string{"*"}
	must.Get(zones.Create(ctx, parent, metav1.CreateOptions{}))(t)
	for pending.Status.FQDN == "" {
		pending = must.Get(zones.Get(ctx, "signed", metav1.GetOptions{}))(t)
	}
	before := must.Get(zones.Get(ctx, "signed", metav1.GetOptions{}))(t)
	same := func(after *v1alpha1.Zone, err error, ds int) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if dnssec := after.Status.DNSSEC; (dnssec == nil) != (ds < 0) || dnssec != nil && len(dnssec.DS) != ds {
			t.Errorf("status.dnssec %+v, want %d DS", dnssec, ds)
		}
		if ready := meta.FindStatusCondition(after.Status.Conditions, "Ready"); !equality.Semantic.DeepEqual(after.Spec, before.Spec) ||
			after.Status.Serial != before.Status.Serial || ready.Reason == "Forged" || after.Labels["a"] != "" || after.Annotations != nil ||
			after.Finalizers != nil || after.Generation != 1 {
			t.Errorf("more than status.dnssec was written: %+v", after)
		}
	}
	after, err := write(types.MergePatchType, `{"fqdn":"signed.parent.","phase":"Signed","ds":[`+one+`]}`)
	same(after, err, 1)
	for what, wrong := range map[string]string{"another name": `{"fqdn":"other.example."}`, "algorithm 0": `{"ds":[{"keyTag":1,"algorithm":0,"digestType":1,"digest":"0123456789abcdef0123456789abcdef01234567"}]}`} {
		if _, err := write(types.MergePatchType, wrong); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// S7.4: a write of the Zone or of the status does not change status.dnssec.
	forged := after.DeepCopy()
	forged.Status.DNSSEC, forged.ResourceVersion = nil, ""
	after, err = zones.Update(ctx, forged, metav1.UpdateOptions{})
	same(after, err, 1)
	after, err = zones.UpdateStatus(ctx, forged, metav1.UpdateOptions{})
	same(after, err, 1)
	for _, subresource := range []string{"", "status", "finalizers"} {
		after, err = zones.Patch(ctx, "signed", types.MergePatchType, []byte(`{"status":{"dnssec":null}}`), metav1.PatchOptions{}, strings.Fields(subresource)...)
		same(after, err, 1)
	}
	after, err = write(types.MergePatchType, `null`)
	same(after, err, -1)
	after, err = write(types.ApplyPatchType, `{"fqdn":"signed.parent.","ds":[`+one+`]}`)
	same(after, err, 1)
	for _, fields := range after.ManagedFields {
		if text := fields.FieldsV1.GetRawString(); fields.Operation == metav1.ManagedFieldsOperationApply && (!strings.Contains(text, "f:dnssec") || strings.Contains(text, "f:spec") || strings.Contains(text, "f:conditions") || strings.Contains(text, "f:serial")) {
			t.Errorf("%s owns %s", fields.Manager, text)
		}
	}
	after, err = write(types.ApplyPatchType, `{"fqdn":"signed.parent."}`)
	same(after, err, 0)
	after.Status.DNSSEC, after.ResourceVersion = nil, ""
	result := &v1alpha1.Zone{}
	err = s.KubizoneV1alpha1().RESTClient().Put().Namespace("dns").Resource("zones").Name("signed").SubResource("dnssec").Body(after).Do(ctx).Into(result)
	same(result, err, -1)
	if _, err := zones.Patch(ctx, "signed", types.MergePatchType, []byte(`{"metadata":{"uid":"another"},"status":{"dnssec":null}}`), metav1.PatchOptions{}, "dnssec"); !apierrors.IsConflict(err) {
		t.Errorf("another object's uid: %v", err)
	}
}

// DNSClass.spec.namespaces: other namespaces get 403, except for existing references and missing classes.
func testClasses(t *testing.T, s *standalone.Server) {
	ctx := t.Context()
	zones, classes := s.KubizoneV1alpha1().Zones("classed"), s.KubizoneV1alpha1().DNSClasses()
	ours := classFor("ours", "classed")
	ours.Spec.DefaultTTL, ours.Spec.NameServers = ptr.To[int32](77), []v1alpha1.NameServer{{Name: "ns.class.example."}}
	for _, class := range []*v1alpha1.DNSClass{ours, classFor("theirs", "elsewhere")} {
		must.Get(classes.Create(ctx, class, metav1.CreateOptions{}))(t)
	}
	in := func(name string, refs ...v1alpha1.DNSClassReference) *v1alpha1.Zone {
		zone := zoneNamed(name, name+".example.")
		zone.Namespace, zone.Spec.DNSClassRefs = "classed", refs
		return zone
	}
	allowed, foreign, later := v1alpha1.DNSClassReference{Name: "ours"}, v1alpha1.DNSClassReference{Name: "theirs"}, v1alpha1.DNSClassReference{Name: "later"}
	servers := v1alpha1.DNSClassReference{Kind: v1alpha1.KindBind9Cluster, Name: "theirs"}
	refused := func(err error) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `spec.dnsClassRefs[1]: DNSClass "theirs" does not deliver zones of namespace "classed"; a cluster admin can`) {
			t.Errorf("%v", err)
		}
	}
	// S1.9: a class without the view that the Zone names; the controller checks a view from zoneRef.
	inside := in("c0", allowed)
	inside.Spec.View = "inside"
	if _, err := zones.Create(ctx, inside, metav1.CreateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `spec.dnsClassRefs[0]: DNSClass "ours" does not deliver zones of view "inside" (S1.9)`) {
		t.Errorf("%v", err)
	}
	// S11.30: a Bind9Cluster belongs to the namespace, existing or not.
	c1, err := zones.Create(ctx, in("c1", allowed, later, servers), metav1.CreateOptions{})
	if err != nil || *c1.Spec.TTL != 77 {
		t.Fatalf("%v, ttl %v", err, c1.Spec.TTL)
	}
	if kept, err := zones.Patch(ctx, "c1", types.MergePatchType, []byte(`{"spec":{"ttl":5}}`), metav1.PatchOptions{}); err != nil || *kept.Spec.TTL != 5 {
		t.Errorf("its own ttl: %v, %v", err, kept.Spec.TTL)
	}
	// S6.5: a class sets the ttl of a new Zone only.
	if again, err := zones.Patch(ctx, "c1", types.MergePatchType, []byte(`{"spec":{"ttl":null}}`), metav1.PatchOptions{}); err != nil || *again.Spec.TTL != 5 {
		t.Errorf("S6.5: an update without a ttl: %v, %v", err, again.Spec.TTL)
	}
	put := in("c1", later, allowed, servers)
	if replaced, err := zones.Update(ctx, put, metav1.UpdateOptions{}); err != nil || *replaced.Spec.TTL != 5 {
		t.Errorf("S6.5: a PUT without a ttl, and with another first class: %v, %v", err, replaced.Spec.TTL)
	}
	// S6.2: likewise the name servers, which then belong to the Zone: if removed they stay removed.
	servedBy := func(z *v1alpha1.Zone, err error, want ...string) {
		t.Helper()
		var got []string
		for _, one := range z.Spec.NameServers {
			got = append(got, one.Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, name servers %q, want %q", err, got, want)
		}
	}
	servedBy(c1, nil, "ns.class.example.")
	none, err := zones.Patch(ctx, "c1", types.MergePatchType, []byte(`{"spec":{"nameServers":null,"dnsClassRefs":[{"kind":"DNSClass","name":"ours"}]}}`), metav1.PatchOptions{})
	servedBy(none, err)
	own := in("c6", allowed)
	own.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns.own.example."}}
	own, err = zones.Create(ctx, own, metav1.CreateOptions{})
	servedBy(own, err, "ns.own.example.")
	for name, spec := range map[string]string{"c7": `"nameServers":[],`, "c8": ""} {
		made, err := zones.Patch(ctx, name, types.ApplyPatchType, []byte(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"`+name+`"},"spec":{`+spec+`"domainName":"`+name+`.example.","dnsClassRefs":[{"name":"ours"}]}}`),
			metav1.PatchOptions{FieldManager: "test"})
		if want := []string{"ns.class.example."}; spec == "" {
			servedBy(made, err, want...)
		} else {
			servedBy(made, err)
		}
	}
	if made, err := zones.Patch(ctx, "c5", types.ApplyPatchType, []byte(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"c5"},"spec":{"domainName":"c5.example."}}`),
		metav1.PatchOptions{FieldManager: "test"}); err != nil || *made.Spec.TTL != 360 {
		t.Errorf("no class: %v, %v", err, made.Spec.TTL)
	}
	for _, options := range []metav1.CreateOptions{{}, {DryRun: []string{metav1.DryRunAll}}} {
		_, err := zones.Create(ctx, in("c2", allowed, foreign), options)
		refused(err)
	}
	add := []byte(`{"spec":{"dnsClassRefs":[{"kind":"DNSClass","name":"ours"},{"kind":"DNSClass","name":"theirs"}]}}`)
	_, err = zones.Patch(ctx, "c1", types.MergePatchType, add, metav1.PatchOptions{})
	refused(err)
	applied := []byte(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"c3"},"spec":{"domainName":"c3.example.","dnsClassRefs":[{"name":"ours"},{"name":"theirs"}]}}`)
	_, err = zones.Patch(ctx, "c3", types.ApplyPatchType, applied, metav1.PatchOptions{FieldManager: "test"})
	refused(err)
	// The class appears for another namespace: the zone keeps its reference, and accepts other changes.
	must.Get(classes.Create(ctx, classFor("later", "elsewhere"), metav1.CreateOptions{}))(t)
	if _, err := zones.Patch(ctx, "c1", types.MergePatchType, []byte(`{"spec":{"ttl":60}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

// classFor returns a class that delivers nothing.
func classFor(name, namespace string) *v1alpha1.DNSClass {
	return &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.DNSClassSpec{Paused: true,
		Namespaces: &v1alpha1.NamespaceSelection{Names: []string{namespace}},
		RFC2136:    &v1alpha1.RFC2136Provider{Server: "192.0.2.1", TSIGSecretRef: v1alpha1.SecretReference{Namespace: "dns", Name: "key"}}}}
}

// S8.4, attack 71: a class without Retain refuses a new Zone or change with Retain; an existing Zone gets a Warning.
func testRetain(t *testing.T, s *standalone.Server) {
	ctx := t.Context()
	zones, classes := s.KubizoneV1alpha1().Zones("retaining"), s.KubizoneV1alpha1().DNSClasses()
	for _, name := range []string{"kept", "retired", "third"} {
		class := classFor(name, "retaining")
		class.Spec.AllowRetain = true
		must.Get(classes.Create(ctx, class, metav1.CreateOptions{}))(t)
	}
	forbid := func(class string) {
		must.Get(classes.Patch(ctx, class, types.MergePatchType, []byte(`{"spec":{"allowRetain":false}}`), metav1.PatchOptions{}))(t)
	}
	zone := zoneNamed("r1", "r1.example.")
	zone.Namespace, zone.Spec.DeletionPolicy, zone.Spec.DNSClassRefs = "retaining", v1alpha1.DeletionPolicyRetain, []v1alpha1.DNSClassReference{{Name: "kept"}, {Name: "retired"}}
	if _, err := zones.Create(ctx, zone, metav1.CreateOptions{}); err != nil {
		t.Fatalf("classes that allow it: %v", err)
	}
	forbid("retired")
	refused := func(err error) {
		t.Helper()
		message := `spec.deletionPolicy: Invalid value: "Retain": DNSClass "retired" does not allow Retain`
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), message) || !strings.Contains(err.Error(), "spec.allowRetain") ||
			refusal.Of(err)[0].Rule != "S8.4" {
			t.Errorf("%v", err)
		}
	}
	again := zone.DeepCopy()
	again.Name, again.Spec.DomainName = "r2", "r2.example."
	_, err := zones.Create(ctx, again, metav1.CreateOptions{})
	refused(err)
	_, err = zones.Create(ctx, again, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	refused(err)
	again.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete
	must.Get(zones.Create(ctx, again, metav1.CreateOptions{}))(t)
	_, err = zones.Patch(ctx, "r2", types.MergePatchType, []byte(`{"spec":{"deletionPolicy":"Retain"}}`), metav1.PatchOptions{})
	refused(err)
	var warned warnings
	config := must.Get(clientcmd.BuildConfigFromFlags("", s.Kubeconfig))(t)
	config.WarningHandler = &warned
	zones = must.Get(versioned.NewForConfig(config))(t).KubizoneV1alpha1().Zones("retaining")
	if made, err := zones.Patch(ctx, "r1", types.MergePatchType, []byte(`{"spec":{"ttl":60}}`), metav1.PatchOptions{}); err != nil || made.Spec.DeletionPolicy != v1alpha1.DeletionPolicyRetain {
		t.Errorf("a zone that stands: %v", err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], `DNSClass "retired" does not allow Retain`) {
		t.Errorf("warned of %q", warned)
	}
	forbid("third")
	_, err = zones.Patch(ctx, "r1", types.MergePatchType, []byte(`{"spec":{"dnsClassRefs":[{"name":"retired"},{"name":"third"}]}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `DNSClass "third"`) {
		t.Errorf("a class that is added: %v", err)
	}
}

// A 422 has each cited rule as a cause, for any kind of write.
func testRules(t *testing.T, s *standalone.Server) {
	ctx := t.Context()
	zones := s.KubizoneV1alpha1().Zones("dns")
	must.Get(zones.Create(ctx, zoneNamed("ruled", "ruled.example."), metav1.CreateOptions{}))(t)
	wrong := zoneNamed("wrong", "wrong.example.")
	const spec = `"spec":{"domainName":"wrong.example.","refresh":100,"retry":200,"limits":{"recordsPerNamespace":0},"view":"A B"}`
	const apply = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"NAME"},` + spec + `}`
	patch := func(object string, kind types.PatchType, text string, subresources ...string) error {
		_, err := zones.Patch(ctx, object, kind, []byte(strings.ReplaceAll(text, "NAME", object)),
			metav1.PatchOptions{FieldManager: "rules"}, subresources...)
		return err
	}
	must.Succeed(t, json.Unmarshal([]byte(`{`+spec+`}`), wrong))
	_, created := zones.Create(ctx, wrong, metav1.CreateOptions{})
	for what, err := range map[string]error{
		"create": created, "update": patch("ruled", types.MergePatchType, `{`+spec+`}`),
		"apply of a new one": patch("new", types.ApplyPatchType, apply),
		"dnssec":             patch("ruled", types.MergePatchType, `{"status":{"dnssec":{"fqdn":"other.example."}}}`, "dnssec"),
	} {
		var rules []string
		for _, one := range refusal.Of(err) {
			if rules = append(rules, one.Rule); one.Rule != "" != strings.HasSuffix(one.Message, "("+one.Rule+")") {
				t.Errorf("%s: %s: the rule is %q", what, one, one.Rule)
			}
		}
		slices.Sort(rules)
		want := map[string]string{"update": " S1.4 S5.9 S6.6", "dnssec": "S12.2"}[what]
		want = cmp.Or(want, " S5.9 S6.6")
		if got := strings.Join(rules, " "); !apierrors.IsInvalid(err) || got != want {
			t.Errorf("%s: rules %q, want %q: %v", what, got, want, err)
		}
	}
}

// Server-side apply merges lists as their types declare, and status has no manager.
func testApply(t *testing.T, s *standalone.Server) {
	ctx := t.Context()
	zones := s.KubizoneV1alpha1().Zones("dns")
	apply := func(manager, spec string) (*v1alpha1.Zone, error) {
		body := `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"ssa"},"spec":` + spec + `,"status":{"serial":7}}`
		return zones.Patch(ctx, "ssa", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
	}
	must.Get(apply("one", `{"domainName":"ssa.example.","dnsClassRefs":[{"name":"a"}],"delegations":[{"zones":["x"],"namespaces":["n"]}]}`))(t)
	zone := must.Get(apply("two", `{"domainName":"ssa.example.","dnsClassRefs":[{"kind":"Bind9Cluster","name":"a"},{"name":"b"}]}`))(t)
	if len(zone.Spec.DNSClassRefs) != 3 || zone.Status.Serial == 7 {
		t.Errorf("dnsClassRefs are a map by kind and name: %+v", zone.Spec.DNSClassRefs)
	}
	if _, err := apply("two", `{"domainName":"ssa.example.","delegations":[{"zones":["y"]}]}`); !apierrors.IsConflict(err) {
		t.Errorf("delegations are atomic: %v", err)
	}
	for _, field := range zone.ManagedFields {
		if field.Operation == metav1.ManagedFieldsOperationApply && strings.Contains(field.FieldsV1.GetRawString(), "f:status") {
			t.Errorf("%s owns status: %s", field.Manager, field.FieldsV1.GetRawString())
		}
	}
}
