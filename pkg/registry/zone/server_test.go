// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	restclient "k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	generatedopenapi "kubi.zone/kubizone/pkg/generated/openapi"
	"kubi.zone/kubizone/pkg/refusal"
	"kubi.zone/kubizone/pkg/registry/record"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// decision replaces the ledger.
type decision struct {
	mu      sync.Mutex
	refuse  error
	asked   []string
	reviews []string
	// allow lists the users that may establish.
	allow []string
	// classes has the only namespace of each class.
	classes map[string]string
	// withdraws lists the classes without Retain.
	withdraws []string
}

func (d *decision) admitsClass(_ context.Context, class, namespace, view string) (ofNamespace, ofView bool, err error) {
	if class == "unreadable" {
		return false, false, errors.New("etcd is away")
	}
	only, there := d.classes[class]
	return !there || only == namespace, !there || view == "", nil
}

func (d *decision) firstClass(_ context.Context, zone *v1alpha1.Zone) (*v1alpha1.DNSClass, error) {
	if refs := zone.Spec.DNSClassRefs; len(refs) > 0 && refs[0].Name == "ours" {
		return &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{DefaultTTL: ptr.To[int32](77), NameServers: []v1alpha1.NameServer{{Name: "ns.class.example."}}}}, nil
	}
	return nil, nil
}

func (d *decision) listWithdrawing(_ context.Context, zone *v1alpha1.Zone) (refs []v1alpha1.DNSClassReference, err error) {
	for _, ref := range zone.Spec.DNSClassRefs {
		if slices.Contains(d.withdraws, ref.Name) {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

type establishKey struct{}

func withEstablish(ctx context.Context, allowed bool) context.Context {
	return context.WithValue(ctx, establishKey{}, allowed)
}

func (d *decision) decideZone(ctx context.Context, before, after *v1alpha1.Zone) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, fmt.Sprintf("zone before=%v after=%v establish=%v", before != nil, after != nil, ctx.Value(establishKey{})))
	if after != nil {
		after.Status.Serial, after.Status.Hash = 42, "what would be"
	}
	return d.refuse
}

func (d *decision) decideRecord(_ context.Context, before, after *v1alpha1.Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, fmt.Sprintf("record before=%v after=%v", before != nil, after != nil))
	if after != nil {
		after.Status.Serial = 42
	}
	return d.refuse
}

func (d *decision) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.GetSubresource() == "establish" {
		d.reviews = append(d.reviews, fmt.Sprintf("%s %s %s.%s/%s %s/%s", a.GetUser().GetName(), a.GetVerb(), a.GetResource(), a.GetAPIGroup(), a.GetSubresource(), a.GetNamespace(), a.GetName()))
	}
	// A Role with the verbs * on zones, common among tenants.
	if a.GetUser().GetName() == "everything-on-zones" && a.GetResource() == "zones" && a.GetSubresource() == "" {
		return authorizer.DecisionAllow, "", nil
	}
	if slices.Contains(d.allow, a.GetUser().GetName()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (d *decision) takeAsked() (asked, reviews []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked, reviews = d.asked, d.reviews
	d.asked, d.reviews = nil, nil
	return asked, reviews
}

type server struct {
	*httptest.Server
	*decision
	client versioned.Interface
	store  *REST
}

// startServer serves Zones and Records without the ledger.
func startServer(t *testing.T, views Views) *server {
	t.Helper()
	etcd := must.Get(kuberig.StartEtcd(t.Context(), t.TempDir()))(t)
	t.Cleanup(etcd.Close)
	registry := install.New()
	backend := storagebackend.Config{
		Type: storagebackend.StorageTypeETCD3, Prefix: "/registry", Codec: registry.StorageCodec(),
		Transport: storagebackend.TransportConfig{ServerList: []string{etcd.Endpoint}}, EventsHistoryWindow: storagebackend.DefaultEventsHistoryWindow,
	}

	d := &decision{allow: []string{"admin"}, classes: map[string]string{"ours": "classed", "theirs": "elsewhere"}}
	options := func(resource string) generic.RESTOptions {
		return generic.RESTOptions{
			StorageConfig: backend.ForResource(v1alpha1.Resource(resource)), ResourcePrefix: "/" + resource,
			Decorator: genericregistry.StorageWithCacher(), DeleteCollectionWorkers: 1, EnableGarbageCollection: true,
		}
	}
	paths := map[string]rest.Storage{}
	must.Succeed(t, AddStorage(paths, Config{
		Scheme: registry.Scheme, RESTOptions: options("zones"), Preview: d.decideZone, Authorizer: d, WithEstablish: withEstablish,
		Admits: d.admitsClass, FirstClass: d.firstClass, ClassesWithoutRetain: d.listWithdrawing, Views: views,
		WarnOfAbsent: func(context.Context, []string, []string) {},
	}))
	zones := paths["zones"].(*REST)
	t.Cleanup(zones.Destroy)
	records := must.Get(record.Kind.AddStorage(paths, registry.Scheme, options("records"), d.decideRecord))(t)
	t.Cleanup(records.Destroy)

	config := genericapiserver.NewConfig(registry.Codecs)
	config.ExternalAddress, config.PublicAddress = "127.0.0.1:443", net.IPv4(127, 0, 0, 1)
	config.Authorization.Authorizer = authorizer.AuthorizerFunc(d.Authorize)
	config.LoopbackClientConfig = &restclient.Config{}
	config.EffectiveVersion = basecompatibility.NewEffectiveVersionFromString("0.1", "", "")
	namer := openapi.NewDefinitionNamer(registry.Scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.BuildHandlerChainFunc = func(h http.Handler, c *genericapiserver.Config) http.Handler {
		h = genericapifilters.WithWarningRecorder(h)
		h = genericapifilters.WithAuditInit(asUser(h))
		return genericapifilters.WithRequestInfo(h, genericapiserver.NewRequestInfoResolver(&genericapiserver.Config{LegacyAPIGroupPrefixes: sets.NewString("/api")}))
	}
	generic := must.Get(config.Complete(nil).New("test", genericapiserver.NewEmptyDelegate()))(t)
	group := genericapiserver.NewDefaultAPIGroupInfo(v1alpha1.GroupName, registry.Scheme, registry.ParameterCodec, registry.Codecs)
	group.VersionedResourcesStorageMap["v1alpha1"] = paths
	must.Succeed(t, generic.InstallAPIGroup(&group))
	generic.PrepareRun()
	s := &server{Server: httptest.NewServer(generic.Handler), decision: d, store: zones}
	t.Cleanup(s.Close)
	t.Cleanup(generic.Destroy)
	s.client = s.clientAs(t, "admin")
	return s
}

// The default user is admin.
func asUser(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := req.Header.Get("User")
		if name == "" {
			name = "admin"
		}
		h.ServeHTTP(w, req.WithContext(genericapirequest.WithUser(req.Context(), &user.DefaultInfo{Name: name})))
	})
}

type userHeader struct {
	name string
	next http.RoundTripper
}

func (u userHeader) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User", u.name)
	return u.next.RoundTrip(req)
}

func (s *server) clientAs(t *testing.T, name string) versioned.Interface {
	t.Helper()
	return must.Get(versioned.NewForConfig(&restclient.Config{
		Host: s.URL, QPS: -1, WrapTransport: func(next http.RoundTripper) http.RoundTripper { return userHeader{name, next} },
	}))(t)
}

func zoneNamed(object, domainName string) *v1alpha1.Zone {
	return &v1alpha1.Zone{
		ObjectMeta: metav1.ObjectMeta{Name: object, Namespace: "dns"},
		Spec:       v1alpha1.ZoneSpec{DomainName: domainName, Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}},
	}
}

// The parts are independent on a shared server.
func TestServer(t *testing.T) {
	views := &held{snapshots: []*fixed{makeExample(7, 1)}}
	s := startServer(t, views)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *server)
	}{
		{"S7.4 spec and status", testSpecAndStatus}, {"S7.4 status subresource", testStatusSubresource}, {"S7.3 dry run", testDryRun},
		{"S3.3 establish", testEstablish}, {"finalizers", testFinalizers}, {"S12.2 dnssec", testDNSSEC}, {"classes", testClasses}, {"S8.4 retain", testRetain},
		{"server-side apply", testApply}, {"rules of refusals", testRules},
	} {
		t.Run(part.name, func(t *testing.T) {
			s.takeAsked()
			part.run(t, s)
		})
	}
}

func testSpecAndStatus(t *testing.T, s *server) {
	ctx := t.Context()
	zones, records := s.client.KubizoneV1alpha1().Zones("dns"), s.client.KubizoneV1alpha1().Records("dns")
	zone := zoneNamed("s74", "S74.Example.org.")
	zone.Status.Serial = 99
	zone.Labels = map[string]string{v1alpha1.LabelParentZone: "mine", "kept": "yes"}
	created := must.Get(zones.Create(ctx, zone, metav1.CreateOptions{}))(t)
	if created.Status.Serial != 0 || created.Generation != 1 || created.Spec.DomainName != "S74.Example.org." || *created.Spec.TTL != 360 || *created.Spec.Expire != 3600000 || created.Spec.DeletionPolicy != "Delete" {
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

func testStatusSubresource(t *testing.T, s *server) {
	ctx := t.Context()
	records := s.client.KubizoneV1alpha1().Records("dns")
	record := must.Get(records.Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "status"}, Spec: v1alpha1.RecordSpec{DomainName: "www.example.org.", Type: "A", RData: "192.0.2.1"}}, metav1.CreateOptions{}))(t)
	condition := func(kind, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: "True", Reason: reason, LastTransitionTime: metav1.Now()}
	}
	record.Spec.RData = "192.0.2.9"
	record.Labels = map[string]string{"not": "here"}
	record.Status = v1alpha1.RecordStatus{
		FQDN: "mine.", Serial: 99, LastDeliveryError: "refused by ns1",
		Conditions: []metav1.Condition{condition("Adopted", "ByMe"), condition("Ready", "Delivered"), condition("Stalled", "ByMe"),
			condition("Mine", "ByMe")},
	}
	record = must.Get(records.UpdateStatus(ctx, record, metav1.UpdateOptions{}))(t)
	st := record.Status
	if st.FQDN != "" || st.Serial != 0 || st.LastDeliveryError != "" || len(st.Conditions) != 2 || st.Conditions[0].Reason != "Pending" || st.Conditions[1].Type != "Mine" {
		t.Errorf("S7.4: status %+v", st)
	}
	if record.Spec.RData != "192.0.2.1" || record.Labels != nil || record.Generation != 1 {
		t.Errorf("status wrote more than status: %+v", record)
	}
}

func testDryRun(t *testing.T, s *server) {
	ctx := t.Context()
	zones, records := s.client.KubizoneV1alpha1().Zones("dns"), s.client.KubizoneV1alpha1().Records("dns")
	all := []string{metav1.DryRunAll}
	would, err := zones.Create(ctx, zoneNamed("dry", "dry.example.org."), metav1.CreateOptions{DryRun: all})
	if err != nil || would.Status.Serial != 42 || would.Status.Hash != "what would be" {
		t.Errorf("create: %v, %+v", err, would.Status)
	}
	if _, err := zones.Get(ctx, "dry", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run wrote: %v", err)
	}
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "dry"}, Spec: v1alpha1.RecordSpec{DomainName: "www.example.org.", Type: "A", RData: "192.0.2.1"}}
	real, err := records.Create(ctx, record, metav1.CreateOptions{})
	if err != nil || real.Status.Serial != 0 {
		t.Fatalf("a real write is not previewed: %v, %+v", err, real.Status)
	}
	patched, err := records.Patch(ctx, "dry", types.MergePatchType, []byte(`{"spec":{"ttl":5}}`), metav1.PatchOptions{DryRun: all})
	if err != nil || patched.Status.Serial != 42 || *patched.Spec.TTL != 5 {
		t.Errorf("patch: %v, %+v", err, patched)
	}
	if err := records.Delete(ctx, "dry", metav1.DeleteOptions{DryRun: all}); err != nil {
		t.Errorf("delete: %v", err)
	}
	real.Finalizers = []string{"kubi.zone/delivery"}
	if real, err = records.Update(ctx, real, metav1.UpdateOptions{}); err != nil || real.Spec.TTL != nil {
		t.Fatalf("a dry run wrote: %v, %+v", err, real)
	}
	// Only the removal of the last finalizer removes an object marked for deletion.
	if err := records.Delete(ctx, "dry", metav1.DeleteOptions{DryRun: all}); err != nil {
		t.Errorf("delete: %v", err)
	}
	must.Succeed(t, records.Delete(ctx, "dry", metav1.DeleteOptions{}))
	if _, err := records.Patch(ctx, "dry", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{DryRun: all}); err != nil {
		t.Errorf("last finalizer: %v", err)
	}
	asked, _ := s.takeAsked()
	want := []string{"zone before=false after=true establish=true", "record before=true after=true", "record before=true after=false", "record before=true after=false"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}

	s.refuse = apierrors.NewForbidden(v1alpha1.Resource("records"), "x", errors.New("zone example.org. does not delegate A"))
	defer func() { s.refuse = nil }()
	other := record.DeepCopy()
	other.Name = "refused"
	if _, err := records.Create(ctx, other, metav1.CreateOptions{DryRun: all}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "does not delegate") {
		t.Errorf("a dry run says what a commit would: %v", err)
	}
}

func testEstablish(t *testing.T, s *server) {
	ctx := t.Context()
	admin, tenant := s.client.KubizoneV1alpha1().Zones("dns"), s.clientAs(t, "tenant").KubizoneV1alpha1().Zones("dns")
	all := []string{metav1.DryRunAll}

	// The answer is an input of the decision, so no write fails here.
	if _, err := tenant.Create(ctx, zoneNamed("e1", "Bücher.example."), metav1.CreateOptions{DryRun: all}); err != nil {
		t.Error(err)
	}
	internal := zoneNamed("e2", ".")
	internal.Spec.View = "internal"
	if _, err := admin.Create(ctx, internal, metav1.CreateOptions{DryRun: all}); err != nil {
		t.Error(err)
	}
	relative := zoneNamed("e3", "dev")
	relative.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "e4"}
	if _, err := tenant.Create(ctx, relative, metav1.CreateOptions{DryRun: all}); err != nil {
		t.Error(err)
	}
	asked, reviews := s.takeAsked()
	if want := []string{"tenant create zones.kubi.zone/establish dns/xn--bcher-kva.example", "admin create zones.kubi.zone/establish dns/internal:."}; !slices.Equal(reviews, want) {
		t.Errorf("reviews %q, want %q", reviews, want)
	}
	want := []string{"zone before=false after=true establish=false", "zone before=false after=true establish=true", "zone before=false after=true establish=<nil>"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}

	must.Get(admin.Create(ctx, zoneNamed("e4", "e4.example."), metav1.CreateOptions{}))(t)
	s.takeAsked()
	for _, patch := range []string{`{"spec":{"ttl":60}}`, `{"metadata":{"labels":{"a":"b"}}}`, `{"spec":{"domainName":"e5.example."}}`} {
		if _, err := tenant.Patch(ctx, "e4", types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: all}); err != nil {
			t.Error(err)
		}
	}
	asked, reviews = s.takeAsked()
	if want := []string{"tenant create zones.kubi.zone/establish dns/e5.example"}; !slices.Equal(reviews, want) {
		t.Errorf("only a rename is asked for: %q, want %q", reviews, want)
	}
	if last := asked[len(asked)-1]; len(asked) != 3 || last != "zone before=true after=true establish=false" {
		t.Errorf("the answer goes with the rename: %q", asked)
	}
	// Server-side apply creates through an update.
	applied := []byte(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"e6"},"spec":{"domainName":"e6.example."}}`)
	if _, err := admin.Patch(ctx, "e6", types.ApplyPatchType, applied, metav1.PatchOptions{FieldManager: "test", DryRun: all}); err != nil {
		t.Error(err)
	}
	asked, reviews = s.takeAsked()
	if !slices.Equal(reviews, []string{"admin create zones.kubi.zone/establish dns/e6.example"}) || !slices.Equal(asked, []string{"zone before=false after=true establish=true"}) {
		t.Errorf("apply: asked %q, reviews %q", asked, reviews)
	}
	if _, err := s.clientAs(t, "everything-on-zones").KubizoneV1alpha1().Zones("dns").Create(ctx, zoneNamed("e7", "e7.example."),
		metav1.CreateOptions{DryRun: all}); err != nil {
		t.Error(err)
	}
	if asked, _ = s.takeAsked(); !slices.Equal(asked, []string{"zone before=false after=true establish=false"}) {
		t.Errorf("all verbs on zones: asked %q; they are no right to establish", asked)
	}

	// Discovery lists the right as a subresource without more.
	list := must.Get(s.client.Discovery().ServerResourcesForGroupVersion("kubi.zone/v1alpha1"))(t)
	if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Name == "zones/establish" && r.Namespaced && slices.Equal(r.Verbs, metav1.Verbs{"create"})
	}) {
		t.Errorf("discovery: %v; want zones/establish with the verb create", list.APIResources)
	}
	for _, body := range []string{"", `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"e8"},"spec":{"domainName":"e8.example."}}`} {
		err := s.client.KubizoneV1alpha1().RESTClient().Post().Namespace("dns").Resource("zones").Name("e4").SubResource("establish").Body([]byte(body)).Do(ctx).Error()
		if !apierrors.IsMethodNotSupported(err) {
			t.Errorf("POST of %q: %v, want 405", body, err)
		}
	}
}

// Attack 77: a write to zones/finalizers adds or removes one finalizer and changes nothing else.
func testFinalizers(t *testing.T, s *server) {
	ctx := t.Context()
	zones := s.client.KubizoneV1alpha1().Zones("dns")
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
		if !equality.Semantic.DeepEqual(after.Spec, before.Spec) || !equality.Semantic.DeepEqual(after.Status, before.Status) || after.Labels != nil || after.Annotations != nil || after.OwnerReferences != nil || after.Generation != 1 {
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
func testDNSSEC(t *testing.T, s *server) {
	ctx := t.Context()
	zones := s.client.KubizoneV1alpha1().Zones("dns")
	must.Get(zones.Create(ctx, zoneNamed("signed", "signed.example."), metav1.CreateOptions{}))(t)
	write := func(kind types.PatchType, dnssec string) (*v1alpha1.Zone, error) {
		forged := `"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"signed","labels":{"a":"b"},"annotations":{"a":"b"},"finalizers":["mallory.test/forever"]},` +
			`"spec":{"domainName":"stolen.example.","ttl":5},"status":{"serial":9,"conditions":[{"type":"Ready","status":"True","reason":"Forged","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}],"dnssec":`
		return zones.Patch(ctx, "signed", kind, []byte(`{`+forged+dnssec+`}}`), metav1.PatchOptions{FieldManager: "controller"}, "dnssec")
	}
	const one = `{"keyTag":1,"algorithm":13,"digestType":1,"digest":"0123456789abcdef0123456789abcdef01234567"}`
	if _, err := write(types.MergePatchType, `{"fqdn":"signed.example.","ds":[`+one+`]}`); !apierrors.IsInvalid(err) {
		t.Errorf("a zone without a name has DS: %v", err)
	}
	// The ledger sets the name at commit.
	key := must.Get(s.store.KeyFunc(genericapirequest.WithNamespace(ctx, "dns"), "signed"))(t)
	named := func(obj apiruntime.Object, _ storage.ResponseMeta) (apiruntime.Object, *uint64, error) {
		obj.(*v1alpha1.Zone).Status.FQDN = "signed.example."
		return obj, nil, nil
	}
	must.Succeed(t, s.store.Storage.GuaranteedUpdate(ctx, key, &v1alpha1.Zone{}, false, nil, named, false, nil))
	before := must.Get(zones.Get(ctx, "signed", metav1.GetOptions{}))(t)
	same := func(after *v1alpha1.Zone, err error, ds int) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if dnssec := after.Status.DNSSEC; (dnssec == nil) != (ds < 0) || dnssec != nil && len(dnssec.DS) != ds {
			t.Errorf("status.dnssec %+v, want %d DS", dnssec, ds)
		}
		rest := after.DeepCopy()
		rest.Status.DNSSEC = nil
		if !equality.Semantic.DeepEqual(rest.Spec, before.Spec) || !equality.Semantic.DeepEqual(rest.Status, before.Status) || rest.Labels != nil || rest.Annotations != nil || rest.Finalizers != nil || rest.Generation != 1 {
			t.Errorf("more than status.dnssec was written: %+v", rest)
		}
	}
	after, err := write(types.MergePatchType, `{"fqdn":"signed.example.","phase":"Signed","ds":[`+one+`]}`)
	same(after, err, 1)
	for what, wrong := range map[string]string{"another name": `{"fqdn":"other.example."}`, "algorithm 0": `{"ds":[{"keyTag":1,"algorithm":0,"digestType":1,"digest":"0123456789abcdef0123456789abcdef01234567"}]}`} {
		if _, err := write(types.MergePatchType, wrong); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// S7.4: a write of the Zone or of the status does not change status.dnssec.
	forged := after.DeepCopy()
	forged.Status.DNSSEC = nil
	after, err = zones.Update(ctx, forged, metav1.UpdateOptions{})
	same(after, err, 1)
	forged.ResourceVersion = ""
	after, err = zones.UpdateStatus(ctx, forged, metav1.UpdateOptions{})
	same(after, err, 1)
	for _, subresource := range []string{"", "status", "finalizers"} {
		after, err = zones.Patch(ctx, "signed", types.MergePatchType, []byte(`{"status":{"dnssec":null}}`), metav1.PatchOptions{}, strings.Fields(subresource)...)
		same(after, err, 1)
	}
	after, err = write(types.MergePatchType, `null`)
	same(after, err, -1)
	after, err = write(types.ApplyPatchType, `{"fqdn":"signed.example.","ds":[`+one+`]}`)
	same(after, err, 1)
	for _, fields := range after.ManagedFields {
		if text := fields.FieldsV1.GetRawString(); fields.Operation == metav1.ManagedFieldsOperationApply && (!strings.Contains(text, "f:dnssec") || strings.Contains(text, "f:spec") || strings.Contains(text, "f:conditions") || strings.Contains(text, "f:serial")) {
			t.Errorf("%s owns %s", fields.Manager, text)
		}
	}
	after, err = write(types.ApplyPatchType, `{"fqdn":"signed.example."}`)
	same(after, err, 0)
	after.Status.DNSSEC, after.ResourceVersion = nil, ""
	result := &v1alpha1.Zone{}
	err = s.client.KubizoneV1alpha1().RESTClient().Put().Namespace("dns").Resource("zones").Name("signed").SubResource("dnssec").Body(after).Do(ctx).Into(result)
	same(result, err, -1)
	if _, err := zones.Patch(ctx, "signed", types.MergePatchType, []byte(`{"metadata":{"uid":"another"},"status":{"dnssec":null}}`), metav1.PatchOptions{}, "dnssec"); !apierrors.IsConflict(err) {
		t.Errorf("another object's uid: %v", err)
	}
}

// DNSClass.spec.namespaces: other namespaces get 403, except for existing references and missing classes.
func testClasses(t *testing.T, s *server) {
	ctx := t.Context()
	zones := s.client.KubizoneV1alpha1().Zones("classed")
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
	if _, err := zones.Create(ctx, in("c4", v1alpha1.DNSClassReference{Name: "unreadable"}), metav1.CreateOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("a class that cannot be read admits no namespace: %v", err)
	}
	// The class appears for another namespace: the zone keeps its reference, and accepts other changes.
	s.classes["later"] = "elsewhere"
	if _, err := zones.Patch(ctx, "c1", types.MergePatchType, []byte(`{"spec":{"ttl":60}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

// S8.4, attack 71: a class without Retain refuses a new Zone or change with Retain; an existing Zone gets a Warning.
func testRetain(t *testing.T, s *server) {
	ctx := t.Context()
	zones := s.client.KubizoneV1alpha1().Zones("classed")
	zone := zoneNamed("r1", "r1.example.")
	zone.Namespace, zone.Spec.DeletionPolicy, zone.Spec.DNSClassRefs = "classed", v1alpha1.DeletionPolicyRetain, []v1alpha1.DNSClassReference{{Name: "ours"}, {Name: "retired"}}
	if _, err := zones.Create(ctx, zone, metav1.CreateOptions{}); err != nil {
		t.Fatalf("classes that allow it: %v", err)
	}
	s.withdraws = []string{"retired"}
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
	config := restclient.Config{Host: s.URL, QPS: -1, WarningHandler: &warned}
	client := must.Get(versioned.NewForConfig(&config))(t)
	zones = client.KubizoneV1alpha1().Zones("classed")
	if made, err := zones.Patch(ctx, "r1", types.MergePatchType, []byte(`{"spec":{"ttl":60}}`), metav1.PatchOptions{}); err != nil || made.Spec.DeletionPolicy != v1alpha1.DeletionPolicyRetain {
		t.Errorf("a zone that stands: %v", err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], `DNSClass "retired" does not allow Retain`) {
		t.Errorf("warned of %q", warned)
	}
	s.withdraws = []string{"retired", "third"}
	_, err = zones.Patch(ctx, "r1", types.MergePatchType, []byte(`{"spec":{"dnsClassRefs":[{"name":"retired"},{"name":"third"}]}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `DNSClass "third"`) {
		t.Errorf("a class that is added: %v", err)
	}
	s.withdraws = nil
}

// A 422 has each cited rule as a cause, for any kind of write.
func testRules(t *testing.T, s *server) {
	ctx := t.Context()
	zones := s.client.KubizoneV1alpha1().Zones("dns")
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
func testApply(t *testing.T, s *server) {
	ctx := t.Context()
	zones := s.client.KubizoneV1alpha1().Zones("dns")
	apply := func(manager, spec string) (*v1alpha1.Zone, error) {
		body := `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"ssa"},"spec":` + spec + `,"status":{"serial":7}}`
		return zones.Patch(ctx, "ssa", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
	}
	must.Get(apply("one", `{"domainName":"ssa.example.","dnsClassRefs":[{"name":"a"}],"delegations":[{"zones":["x"],"namespaces":["n"]}]}`))(t)
	zone := must.Get(apply("two", `{"domainName":"ssa.example.","dnsClassRefs":[{"kind":"Bind9Cluster","name":"a"},{"name":"b"}]}`))(t)
	if len(zone.Spec.DNSClassRefs) != 3 || zone.Status.Serial != 0 {
		t.Errorf("dnsClassRefs are a map by kind and name: %+v", zone.Spec.DNSClassRefs)
	}
	if _, err := apply("two", `{"domainName":"ssa.example.","delegations":[{"zones":["y"]}]}`); !apierrors.IsConflict(err) {
		t.Errorf("delegations are atomic: %v", err)
	}
	for _, field := range zone.ManagedFields {
		if strings.Contains(field.FieldsV1.GetRawString(), "f:status") {
			t.Errorf("%s owns status: %s", field.Manager, field.FieldsV1.GetRawString())
		}
	}
}
