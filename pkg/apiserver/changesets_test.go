// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// watched is a server with fake authorization and admission. It records audit events.
type watched struct {
	api      typed.KubizoneV1alpha1Interface
	reach    *restclient.Config
	warnings *warningTexts
	server   *Server

	mu sync.Mutex
	// denied are `VERB RESOURCE NAME` forbidden to all; refused are Records that admission refuses.
	denied, refused []string
	admit           func(ctx context.Context, operation admission.Operation, name string)
	// rights, mutate and validate replace the decisions about Records.
	rights           func(authorizer.Attributes) (authorizer.Decision, string, error)
	mutate, validate func(context.Context, admission.Attributes) error
	events           []*auditinternal.Event
	plugins          admission.Interface // nil for none
}

type warningTexts struct {
	mu    sync.Mutex
	texts []string
}

func (h *warningTexts) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, text)
}

func (w *watched) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	what := a.GetVerb() + " " + a.GetResource() + " " + a.GetName()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rights != nil && a.GetResource() == "records" {
		return w.rights(a)
	}
	if slices.Contains(w.denied, what) {
		return authorizer.DecisionDeny, "the test says so", nil
	}
	return authorizer.DecisionAllow, "", nil
}

func (w *watched) Handles(operation admission.Operation) bool { return true }

func (w *watched) Admit(ctx context.Context, a admission.Attributes, of admission.ObjectInterfaces) error {
	// Policies and webhooks match other API versions by this mapper.
	if known := of.GetEquivalentResourceMapper(); known.KindFor(a.GetResource(), a.GetSubresource()) != a.GetKind() {
		return fmt.Errorf("%s is of no known kind", a.GetResource())
	}
	if a.GetResource().Resource != "records" {
		return nil
	}
	if w.mutate != nil {
		if err := w.mutate(ctx, a); err != nil {
			return err
		}
	}
	return w.admitByPlugins(ctx, a, of)
}

func (w *watched) Validate(ctx context.Context, a admission.Attributes, of admission.ObjectInterfaces) error {
	if a.GetResource().Resource != "records" {
		return nil
	}
	w.mu.Lock()
	admit := w.admit
	refused := slices.Contains(w.refused, a.GetName())
	w.mu.Unlock()
	if admit != nil {
		admit(ctx, a.GetOperation(), a.GetName())
	}
	if refused {
		return admission.NewForbidden(a, errors.New("the test's policy"))
	}
	if w.validate != nil {
		if err := w.validate(ctx, a); err != nil {
			return err
		}
	}
	return w.validateByPlugins(ctx, a, of)
}

func (w *watched) EvaluatePolicyRule(a authorizer.Attributes) audit.RequestAuditConfig {
	if a.GetResource() != "records" && a.GetResource() != "changesets" {
		return audit.RequestAuditConfig{Level: auditinternal.LevelNone}
	}
	return audit.RequestAuditConfig{Level: auditinternal.LevelRequestResponse, OmitStages: []auditinternal.Stage{auditinternal.StageRequestReceived, auditinternal.StageResponseStarted}}
}

func (w *watched) ProcessEvents(events ...*auditinternal.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		w.events = append(w.events, e.DeepCopy())
	}
	return true
}
func (w *watched) Run(<-chan struct{}) error { return nil }
func (w *watched) Shutdown()                 {}
func (w *watched) String() string            { return "test" }

// newWatched starts a server with a zone example.org. of namespace platform. Every namespace may write there.
func newWatched(t *testing.T, budgets *budget.Limits, change ...func(*Server)) *watched {
	t.Helper()
	return makeWatched(t, budgets, func(*watched, *genericapiserver.RecommendedConfig) {}, change...)
}

func makeWatched(t *testing.T, budgets *budget.Limits, extend func(*watched, *genericapiserver.RecommendedConfig),
	change ...func(*Server)) *watched {
	t.Helper()
	w := &watched{warnings: &warningTexts{}}
	etcd := must.Get(kuberig.StartEtcd(t.Context(), t.TempDir()))(t)
	t.Cleanup(etcd.Close)
	us := must.Get(pki.Open(t.TempDir(), pki.Hosts("127.0.0.1"), time.Now()))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	registry := install.New(addReviews)
	config := must.Get(genericConfig(registry))(t)
	cfg := Config{Listener: listener, ServingCert: us.ServingCert, ServingKey: us.ServingKey, ClientCA: us.CA, Zones: zoneview.NewSet(zoneview.Config{}), Etcd: storagebackend.TransportConfig{ServerList: []string{etcd.Endpoint}}}
	must.Succeed(t, errors.Join(serveStandalone(&config.Config, cfg), applyStandalone(&config.Config, cfg.ClientCA)))
	config.Authorization.Authorizer, config.AdmissionControl, config.AuditBackend, config.AuditPolicyRuleEvaluator = authorizer.AuthorizerFunc(w.Authorize), w, w, w
	extend(w, config)
	options := etcdOptions(registry, cfg.Etcd)
	server := must.Get(connectEtcd(t.Context(), config, options, budgets, nil))(t)
	for _, f := range change {
		f(server)
	}
	must.Succeed(t, server.assembleServer(registry, config, options, storageOptions{zones: cfg.Zones}))
	w.server = server
	runServer(t, server)
	kubeconfig := must.Get(us.Kubeconfig("https://" + listener.Addr().String()))(t)
	w.reach = must.Get(clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig)))(t)
	w.reach.QPS, w.reach.WarningHandler = -1, w.warnings
	client := must.Get(versioned.NewForConfig(w.reach))(t)
	w.api = client.KubizoneV1alpha1()
	for name, domain := range map[string]string{"org": "example.org.", "net": "example.net."} {
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ZoneSpec{DomainName: domain, Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
		must.Get(w.api.Zones("platform").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	}
	return w
}

// ended receives the errors of Run and RunLedger.
func closeAfterTest(t testing.TB, server *Server, stop context.CancelFunc, ended <-chan error) {
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		server.Close()
	})
}

func runServer(t testing.TB, server *Server) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- server.RunLedger(ctx) }()
	go func() { ended <- server.Run(ctx) }()
	closeAfterTest(t, server, stop, ended)
	waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must.Succeed(t, server.WaitForAPI(waiting))
}

func applyItem(name, address string) v1alpha1.ChangeSetItem {
	return applyRaw(fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":%q},"spec":{"domainName":"%s.example.org.","type":"A","rdata":%q}}`, name, name, address))
}

func applyRaw(raw string) v1alpha1.ChangeSetItem {
	return v1alpha1.ChangeSetItem{Apply: &runtime.RawExtension{Raw: []byte(raw)}}
}

func createRaw(raw string) v1alpha1.ChangeSetItem {
	return v1alpha1.ChangeSetItem{Create: &runtime.RawExtension{Raw: []byte(raw)}}
}

func deleteItem(name string) v1alpha1.ChangeSetItem {
	return v1alpha1.ChangeSetItem{Delete: &v1alpha1.ChangeSetDelete{Name: name}}
}

func makeChangeSet(items ...v1alpha1.ChangeSetItem) *v1alpha1.ChangeSet {
	return &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{Items: items, FieldManager: "bridge"}}
}

func (w *watched) sendSet(t *testing.T, set *v1alpha1.ChangeSet) (*v1alpha1.ChangeSet, error) {
	return w.api.ChangeSets("team").Create(t.Context(), set, metav1.CreateOptions{})
}

func (w *watched) postSet(t *testing.T, query string, set *v1alpha1.ChangeSet) (code int, text string, err error) {
	t.Helper()
	client := must.Get(restclient.HTTPClientFor(w.reach))(t)
	body := must.Get(json.Marshal(set))(t)
	answer, err := client.Post(w.reach.Host+"/apis/kubi.zone/v1alpha1/namespaces/team/changesets?"+query, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(read), err
}

func (w *watched) mustSend(t *testing.T, set *v1alpha1.ChangeSet) v1alpha1.ChangeSetStatus {
	t.Helper()
	made := must.Get(w.sendSet(t, set))(t)
	return made.Status
}

func (w *watched) readSerial(t *testing.T) int64 {
	t.Helper()
	zone := must.Get(w.api.Zones("platform").Get(t.Context(), "org", metav1.GetOptions{}))(t)
	return zone.Status.Serial
}

func (w *watched) listNames(t *testing.T) (names []string) {
	t.Helper()
	records := must.Get(w.api.Records("team").List(t.Context(), metav1.ListOptions{}))(t)
	for _, r := range records.Items {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}

func listCauses(err error) (out []string) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			out = append(out, c.Field+": "+string(c.Type))
		}
	}
	return out
}

// Each part uses its own names on a shared server.
func TestChangeSets(t *testing.T) {
	w := newWatched(t, nil)

	t.Run("answers what became of each item, at one serial S10.1", func(t *testing.T) {
		before := w.mustSend(t, makeChangeSet(applyItem("one", "192.0.2.1"), applyItem("two", "192.0.2.2"),
			applyItem("three", "192.0.2.3")))
		after := w.mustSend(t, makeChangeSet(applyItem("one", "192.0.2.11"), applyItem("two", "192.0.2.2"), deleteItem("three"),
			applyItem("four", "192.0.2.4")))
		if before.Serial == 0 || after.Serial != before.Serial+1 || after.Serial != w.readSerial(t) || after.ZoneRef == nil ||
			after.ZoneRef.Name != "org" {
			t.Errorf("serial %d, then %d in %v", before.Serial, after.Serial, after.ZoneRef)
		}
		var operations []string
		versions := map[string]bool{}
		for i, item := range after.Items {
			operations = append(operations, item.Name+" "+item.Operation)
			if item.UID == "" || item.Operation != v1alpha1.OperationDeleted && (item.Generation == 0 || item.ResourceVersion == "") {
				t.Errorf("item %d: %+v", i, item)
			}
			if item.Operation == v1alpha1.OperationDeleted {
				continue
			}
			versions[item.ResourceVersion] = true
			record, err := w.api.Records("team").Get(t.Context(), item.Name, metav1.GetOptions{})
			if err != nil || record.ResourceVersion != item.ResourceVersion || record.UID != item.UID || record.Generation != item.Generation {
				t.Errorf("item %d: %+v, %v", i, item, err)
			}
		}
		if got := fmt.Sprint(operations); got != "[one Updated two Unchanged three Deleted four Created]" || len(versions) != 3 {
			t.Errorf("%s, %d versions", got, len(versions))
		}
		if got := fmt.Sprint(w.listNames(t)); got != "[four one two]" {
			t.Errorf("records %s", got)
		}
	})

	t.Run("tells all refusals, and writes nothing S10.2", func(t *testing.T) {
		names, serial := w.listNames(t), w.readSerial(t)
		w.mu.Lock()
		w.denied, w.refused = []string{"patch records authz"}, []string{"policy"}
		w.mu.Unlock()
		_, err := w.sendSet(t, makeChangeSet(applyItem("fine", "192.0.2.1"), applyItem("authz", "192.0.2.1"),
			applyItem("policy", "192.0.2.1"), applyItem("bad", "no address"), deleteItem("missing"),
			applyRaw(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"away"},"spec":{"domainName":"away.example.net.","type":"A","rdata":"192.0.2.1"}}`),
			applyRaw(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"none"},"spec":{"domainName":"www.nowhere.test.","type":"A","rdata":"192.0.2.1"}}`)))
		want := "spec.items[1]: Forbidden spec.items[2]: Forbidden spec.items[3].apply.spec.rdata: FieldValueInvalid spec.items[4]: NotFound spec.items[5].apply.spec.domainName: FieldValueForbidden spec.items[6].apply.spec.domainName: FieldValueForbidden"
		if got := strings.Join(listCauses(err), " "); !apierrors.IsInvalid(err) || got != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
		if after := w.listNames(t); !slices.Equal(after, names) || w.readSerial(t) != serial {
			t.Errorf("%v became %v", names, after)
		}
		// Equal codes give the set's code.
		if _, err := w.sendSet(t, makeChangeSet(applyItem("authz", "192.0.2.1"), applyItem("policy", "192.0.2.1"))); !apierrors.IsForbidden(
			err) || !strings.Contains(err.Error(), "the test's policy") || !strings.Contains(err.Error(), "the test says so") {
			t.Errorf("two of 403 are %v", err)
		}
		w.mu.Lock()
		w.denied, w.refused = nil, nil
		w.mu.Unlock()
	})

	t.Run("applies for its manager S10.3", func(t *testing.T) {
		w.mustSend(t, makeChangeSet(applyItem("owned", "192.0.2.1"), applyItem("owned2", "192.0.2.1")))
		other := makeChangeSet(applyItem("owned", "192.0.2.2"), applyItem("owned2", "192.0.2.2"))
		other.Spec.FieldManager = "other"
		_, err := w.sendSet(t, other)
		if got := strings.Join(listCauses(err), " "); !apierrors.IsConflict(err) || got != "spec.items[0].apply.spec.rdata: "+
			"FieldManagerConflict spec.items[1].apply.spec.rdata: FieldManagerConflict" {
			t.Errorf("a conflict is %v: %s", err, got)
		}
		other.Spec.Force = true
		w.mustSend(t, other)
		unnamed := makeChangeSet(applyItem("owned", "192.0.2.2"))
		unnamed.Spec.FieldManager = ""
		if _, err := w.sendSet(t, unnamed); !apierrors.IsInvalid(err) || fmt.Sprint(listCauses(err)) != "[spec.fieldManager: "+
			"FieldValueRequired]" {
			t.Errorf("an apply without a field manager: %v", err)
		}
		if _, err := w.api.ChangeSets("team").Create(t.Context(), unnamed, metav1.CreateOptions{FieldManager: "other"}); err != nil {
			t.Errorf("the request names the field manager: %v", err)
		}
	})

	t.Run("refuses what is no set of one zone S10.4", func(t *testing.T) {
		w.mustSend(t, makeChangeSet(applyItem("held", "192.0.2.1"), applyItem("mover", "192.0.2.1")))
		must.Get(w.api.Records("team").Patch(t.Context(), "held", types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":["example.org/held"]}}`), metav1.PatchOptions{}))(t)
		move := applyRaw(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"mover"},"spec":{"domainName":"mover.example.net.","type":"A","rdata":"192.0.2.1"}}`)
		many, large := makeChangeSet(), makeChangeSet()
		for i := range 101 {
			many.Spec.Items = append(many.Spec.Items, applyItem(fmt.Sprintf("many%d", i), "192.0.2.1"))
		}
		for i := range 5 {
			large.Spec.Items = append(large.Spec.Items,
				applyRaw(fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"large%d"},"spec":{"domainName":"large%d.example.org.","type":"TXT","rdata":%q}}`, i, i, strings.Repeat("x", 60000))))
		}
		required := makeChangeSet(applyItem("beside", "192.0.2.1"))
		required.Spec.Prerequisites = []v1alpha1.ChangeSetPrerequisite{{Name: "www"}}
		unmet := makeChangeSet(v1alpha1.ChangeSetItem{Create: applyItem("created", "192.0.2.1").Apply})
		unmet.Spec.Prerequisites = []v1alpha1.ChangeSetPrerequisite{{Name: "absent.example.org.", Type: "A", Values: []string{"192.0.2.1"}}}
		for what, c := range map[string]struct {
			set  *v1alpha1.ChangeSet
			want string
			text string
		}{
			"a relative prerequisite": {required, "spec.prerequisites[0].name: FieldValueInvalid spec.prerequisites[0]: FieldValueInvalid",
				"is not absolute"},
			"a prerequisite that is not met (S10.5)": {unmet,
				"spec.prerequisites[0]: PrerequisiteFailed spec.prerequisites[0]: kubi.zone/S10.5", "nothing was written"},
			"finalizers": {makeChangeSet(deleteItem("held"), applyItem("beside", "192.0.2.1")), "spec.items[0]: FieldValueForbidden",
				"finalizers"},
			"a move": {makeChangeSet(applyItem("beside", "192.0.2.1"), move),
				"spec.items[1].apply.spec.domainName: FieldValueInvalid spec.items[1].apply.spec.domainName: kubi.zone/S1.7",
				"to move it, delete"},
			"twice": {makeChangeSet(applyItem("beside", "192.0.2.1"), deleteItem("beside")), "spec.items[1]: FieldValueDuplicate",
				"beside"},
			"nothing":   {makeChangeSet(), "spec.items: FieldValueRequired", "1 to 100"},
			"too many":  {many, "spec.items: FieldValueTooMany spec.items: kubi.zone/S10.4", "at most 100"},
			"too large": {large, "spec.items: FieldValueInvalid spec.items: kubi.zone/S10.4", "may have 262144"},
			"both": {makeChangeSet(v1alpha1.ChangeSetItem{Apply: applyItem("x", "192.0.2.1").Apply, Delete: deleteItem("x").Delete}),
				"spec.items[0]: FieldValueInvalid", "one of apply or create"},
			"no Record": {makeChangeSet(applyRaw(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`)),
				"spec.items[0].apply.apiVersion: FieldValueNotSupported spec.items[0].apply.kind: FieldValueNotSupported", "Secret"},
			"a path": {makeChangeSet(deleteItem("../../other/records/x"),
				applyRaw(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"held/status"}}`)),
				"spec.items[0]: FieldValueInvalid spec.items[1]: FieldValueInvalid", "RFC 1123 subdomain"},
			"elsewhere": {makeChangeSet(applyRaw(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"x","namespace":"other"}}`)), "spec.items[0].apply.metadata.namespace: FieldValueInvalid", "other"},
		} {
			_, err := w.sendSet(t, c.set)
			refused := apierrors.IsInvalid(err) || apierrors.ReasonForError(err) == v1alpha1.StatusReasonPrerequisiteFailed
			if got := strings.Join(listCauses(err), " "); !refused || got != c.want ||
				!strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v\n%s", what, err, got)
			}
		}
		if slices.Contains(w.listNames(t), "beside") {
			t.Error("a part of a refused set was written")
		}
	})

	t.Run("says what becomes of a Record in deletion S10.2", func(t *testing.T) {
		held := applyRaw(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record",` +
			`"metadata":{"name":"leaving","finalizers":["example.org/x"]},` +
			`"spec":{"domainName":"leaving.example.org.","type":"A","rdata":"192.0.2.1"}}`)
		w.mustSend(t, makeChangeSet(held))
		must.Succeed(t, w.api.Records("team").Delete(t.Context(), "leaving", metav1.DeleteOptions{}))
		for want, item := range map[string]v1alpha1.ChangeSetItem{
			"has finalizers":          deleteItem("leaving"),
			"object is being deleted": {Create: applyItem("leaving", "192.0.2.1").Apply},
		} {
			_, err := w.sendSet(t, makeChangeSet(item, applyItem("beside", "192.0.2.1")))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: want %q", err, want)
			}
		}
		done := w.mustSend(t, makeChangeSet(applyItem("leaving", "192.0.2.1")))
		if got := done.Items[0]; got.Operation != v1alpha1.OperationDeleted || slices.Contains(w.listNames(t), "leaving") {
			t.Errorf("an apply without the finalizer: %+v", got)
		}
	})

	// S10.2: the answer lists every refusal, and an unmet prerequisite hides none.
	t.Run("refuses an item beside a prerequisite that is not met S10.2", func(t *testing.T) {
		unmet := makeChangeSet(applyItem("beside", "192.0.2.1"), deleteItem("missing"))
		unmet.Spec.Prerequisites = []v1alpha1.ChangeSetPrerequisite{{Name: "absent.example.org.", Type: "A", Values: []string{"192.0.2.1"}}}
		if _, err := w.sendSet(t, unmet); !apierrors.IsNotFound(err) {
			t.Errorf("%v: want the refusal of the item", err)
		}
	})

	t.Run("bounds items that no scan of its body has seen S5.12", func(t *testing.T) {
		reach := restclient.CopyConfig(w.reach)
		reach.ContentType = runtime.ContentTypeProtobuf
		client := must.Get(versioned.NewForConfig(reach))(t)
		many := make([]string, 10_001)
		for i := range many {
			many[i] = fmt.Sprintf(`"l%d":""`, i)
		}
		for what, test := range map[string]struct {
			labels string
			code   int
		}{
			"deep": {strings.Repeat("[", 70) + strings.Repeat("]", 70), http.StatusBadRequest},
			"many": {"{" + strings.Join(many, ",") + "}", http.StatusRequestEntityTooLarge},
		} {
			for _, item := range []func(raw string) v1alpha1.ChangeSetItem{applyRaw, createRaw} {
				set := makeChangeSet(item(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"bounded","x":` +
					test.labels + `},"spec":{}}`))
				_, err := client.KubizoneV1alpha1().ChangeSets("team").Create(t.Context(), set, metav1.CreateOptions{})
				var status apierrors.APIStatus
				if !errors.As(err, &status) || int(status.Status().Code) != test.code || !strings.Contains(err.Error(), "(S5.12)") {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	})

	t.Run("previews S7.3", func(t *testing.T) {
		serial, names := w.readSerial(t), w.listNames(t)
		set := must.Get(w.api.ChangeSets("team").Create(t.Context(), makeChangeSet(applyItem("dry", "192.0.2.1"), deleteItem("one"),
			applyItem("two", "192.0.2.2"), applyItem("four", "192.0.2.44")), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))(t)
		if set.Status.Serial != serial+1 || set.Status.Items[0].Operation != v1alpha1.OperationCreated || set.Status.Items[1].Operation != v1alpha1.OperationDeleted || set.Status.Items[2].Operation != v1alpha1.OperationUnchanged {
			t.Errorf("%+v", set.Status)
		}
		four := must.Get(w.api.Records("team").Get(t.Context(), "four", metav1.GetOptions{}))(t)
		if updated := set.Status.Items[3]; updated.ResourceVersion != four.ResourceVersion || updated.Generation != four.Generation+1 {
			t.Errorf("an update in a dry run is answered %+v, of version %s", updated, four.ResourceVersion)
		}
		if w.readSerial(t) != serial || !slices.Equal(names, w.listNames(t)) {
			t.Error("a dry run wrote")
		}
		if _, err := w.api.ChangeSets("team").Create(t.Context(), makeChangeSet(applyItem("dry", "192.0.2.1"), deleteItem("held")),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); fmt.Sprint(listCauses(err)) != "[spec.items[1]: "+
			"FieldValueForbidden]" {
			t.Errorf("a dry run of what is refused: %v", err)
		}
	})

	t.Run("is audited by item S10.3", func(t *testing.T) {
		w.mu.Lock()
		w.events = nil
		w.mu.Unlock()
		w.mustSend(t, makeChangeSet(applyItem("audited", "192.0.2.1"), deleteItem("one")))
		w.mu.Lock()
		defer w.mu.Unlock()
		seen := map[string]string{}
		for _, e := range w.events {
			seen[e.ObjectRef.Resource+" "+e.Verb] = string(e.AuditID) + " " + e.UserAgent + " " + strings.Join(e.SourceIPs, ",")
			if e.ObjectRef.Resource == "changesets" {
				if got := e.Annotations["changesets.kubi.zone/item-0"] + e.Annotations["changesets.kubi.zone/item-1"]; !strings.HasPrefix(got, "apply audited: 201, resourceVersion ") || !strings.HasSuffix(got, "delete one: 200") {
					t.Errorf("annotations %v", e.Annotations)
				}
				if e.RequestObject == nil || !strings.Contains(string(e.RequestObject.Raw), "ChangeSet") {
					t.Error("the event of the set has an item's object")
				}
			}
		}
		if len(w.events) != 3 || seen["records patch"] == "" || seen["records patch"] != seen["changesets create"] || seen["records delete"] != seen["changesets create"] {
			t.Errorf("%d events: %v", len(w.events), seen)
		}
	})

	t.Run("warns of nothing that it brings itself", func(t *testing.T) {
		w.warnings.mu.Lock()
		w.warnings.texts = nil
		w.warnings.mu.Unlock()
		item := func(name, owner, rrtype, value string) v1alpha1.ChangeSetItem {
			return applyRaw(fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":%q},"spec":{`+
				`"domainName":%q,"zoneRef":{"name":"org"},"type":%q,"rdata":%q}}`, name, owner, rrtype, value))
		}
		set := makeChangeSet(item("signed", "cut", "DS", "1 8 2 "+strings.Repeat("0", 64)), item("alias", "alias", "CNAME", "h.apps"),
			item("cut", "cut", "NS", "ns.cut"), item("glue", "ns.cut", "A", "192.0.2.1"), item("host", "h.apps", "A", "192.0.2.2"))
		must.Get(w.api.ChangeSets("platform").Create(t.Context(), set, metav1.CreateOptions{}))(t)
		w.warnings.mu.Lock()
		defer w.warnings.mu.Unlock()
		if len(w.warnings.texts) > 0 {
			t.Errorf("warnings %q", w.warnings.texts)
		}
	})

	t.Run("ends with its request S10.4", func(t *testing.T) {
		entered, leave := make(chan struct{}, 2), make(chan struct{})
		w.mu.Lock()
		w.admit = func(ctx context.Context, _ admission.Operation, name string) {
			if name == "slow" { // a webhook without an answer
				entered <- struct{}{}
				select {
				case <-ctx.Done():
				case <-leave:
				}
			}
		}
		w.mu.Unlock()
		defer close(leave)
		ctx, gone := context.WithCancel(t.Context())
		defer gone()
		ended := make(chan error, 1)
		go func() {
			_, err := w.api.ChangeSets("team").Create(ctx, makeChangeSet(applyItem("slow", "192.0.2.1"), applyItem("beside", "192.0.2.1")),
				metav1.CreateOptions{})
			ended <- err
		}()
		<-entered
		// No other writer of the zone or record waits.
		w.mustSend(t, makeChangeSet(applyItem("beside", "192.0.2.9"), applyItem("quick", "192.0.2.9")))
		gone()
		if err := <-ended; err == nil {
			t.Error("a client that has gone is answered")
		}
		code, text, err := w.postSet(t, "timeout=1s", makeChangeSet(applyItem("slow", "192.0.2.1"), applyItem("beside", "192.0.2.1")))
		// If the time ends during the answer, upstream's filter aborts the stream.
		if aborted := err != nil && strings.Contains(err.Error(), "INTERNAL_ERROR"); code != http.StatusGatewayTimeout && !aborted {
			t.Errorf("a webhook that does not answer: %d %s, %v", code, text, err)
		}
		w.mu.Lock()
		w.admit = nil
		w.mu.Unlock()
		if record, err := w.api.Records("team").Get(t.Context(), "beside", metav1.GetOptions{}); err != nil ||
			record.Spec.RData != "192.0.2.9" || slices.Contains(w.listNames(t), "slow") {
			t.Errorf("%v, %v", record.Spec, err)
		}
	})

	t.Run("survives an item that cannot be served S10.4", func(t *testing.T) {
		w.mu.Lock()
		w.admit = func(_ context.Context, _ admission.Operation, name string) {
			if name == "panics" {
				panic("the test says so")
			}
		}
		w.mu.Unlock()
		for range 5 { // beyond the slots of a namespace
			_, err := w.sendSet(t, makeChangeSet(applyItem("panics", "192.0.2.1"), applyItem("beside", "192.0.2.1")))
			if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "spec.items[0] (panics)") || strings.Contains(err.Error(), ".go:") || strings.Contains(err.Error(), "the test says so") {
				t.Errorf("%v: want 500 without the panic and its stack", err)
			}
		}
		w.mu.Lock()
		w.admit = nil
		w.mu.Unlock()
		w.mustSend(t, makeChangeSet(applyItem("panics", "192.0.2.1"), applyItem("beside", "192.0.2.1")))
	})

	t.Run("many at once S10.4", func(t *testing.T) {
		var wrong sync.Map
		var all sync.WaitGroup
		for n := range 30 {
			all.Go(func() {
				address := fmt.Sprintf("192.0.2.%d", n+1)
				set := makeChangeSet(applyItem("left", address), applyItem("right", address), applyItem(fmt.Sprintf("own%d", n), address))
				if _, err := w.sendSet(t, set); err != nil {
					wrong.Store(n, err)
				}
			})
		}
		all.Wait()
		wrong.Range(func(n, err any) bool { t.Errorf("set %v: %v", n, err); return true })
		left, err1 := w.api.Records("team").Get(t.Context(), "left", metav1.GetOptions{})
		right, err2 := w.api.Records("team").Get(t.Context(), "right", metav1.GetOptions{})
		if err := errors.Join(err1, err2); err != nil || left.Spec.RData != right.Spec.RData || left.Status.Serial != right.Status.Serial {
			t.Errorf("left %s, right %s, %v", left.Spec.RData, right.Spec.RData, err)
		}
	})

	t.Run("says what etcd takes S10.4", func(t *testing.T) {
		set := makeChangeSet()
		for i := range 100 {
			set.Spec.Items = append(set.Spec.Items, applyItem(fmt.Sprintf("hundred%d", i), "192.0.2.1"))
		}
		_, err := w.sendSet(t, set)
		if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "more than etcd accepts; nothing was written") ||
			len(listCauses(err)) != 0 {
			t.Errorf("a hundred items for an etcd of 128 operations: %v %v", err, listCauses(err))
		}
		if set.Spec.Items = set.Spec.Items[:30]; slices.Contains(w.listNames(t), "hundred0") {
			t.Error("a part was written")
		}
		serial := w.readSerial(t)
		if status := w.mustSend(t, set); status.Serial != serial+1 || len(status.Items) != 30 {
			t.Errorf("serial %d to %d", serial, status.Serial)
		}
	})
}

// S9.1, S10.3: the items of a set count together.
func TestChangeSets_areBudgetedTogether_S9_1(t *testing.T) {
	w := newWatched(t, &budget.Limits{Stored: budget.Stock{Octets: 128 << 10}})
	var set []v1alpha1.ChangeSetItem
	for i := range 8 {
		set = append(set, applyRaw(fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"large%d"},"spec":{"domainName":"large%d.example.org.","type":"TXT","values":["1%[3]s","2%[3]s","3%[3]s","4%[3]s","5%[3]s"]}}`, i, i, strings.Repeat("x", 3900))))
	}
	if _, err := w.sendSet(t, makeChangeSet(set...)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "limit is 128.0 KiB") {
		t.Errorf("%v", err)
	}
	if names := w.listNames(t); len(names) != 0 {
		t.Errorf("written: %v", names)
	}
	w.mustSend(t, makeChangeSet(set[:1]...))
}

var (
	_ admission.ValidationInterface = (*watched)(nil)
	_ audit.Backend                 = (*watched)(nil)
	_ audit.PolicyRuleEvaluator     = (*watched)(nil)
)
