// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const (
	refusal  = "rdata in 203.0.113.0/24 is not ours"
	reviewed = "reviewed" // label set by the mutating webhook
)

// reviewer is a cluster's own webhook server: /mutate sets a label and moves 192.0.2.1 to 198.51.100.1, /validate
// refuses 203.0.113.0/24.
type reviewer struct {
	*httptest.Server
	ca []byte

	mu    sync.Mutex
	asked []admissionv1.AdmissionRequest // without dry runs
}

func startReviewer(t *testing.T) *reviewer {
	t.Helper()
	authority := must.Get(rig.NewAuthority("webhooks"))(t)
	certificate := must.Get(must.Get(authority.Serving("127.0.0.1"))(t).TLS())(t)
	r := &reviewer{ca: authority.PEM}
	mux := http.NewServeMux()
	mux.HandleFunc("/mutate", r.reviewRequest(func(record *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		patch := []map[string]any{{"op": "add", "path": "/metadata/labels", "value": map[string]string{reviewed: "yes"}}}
		if rdataOf(record) == "192.0.2.1" {
			patch = append(patch, map[string]any{"op": "replace", "path": "/spec/rdata", "value": "198.51.100.1"})
		}
		kind := admissionv1.PatchTypeJSONPatch
		response.PatchType = &kind
		response.Patch, _ = json.Marshal(patch)
	}))
	mux.HandleFunc("/validate", r.reviewRequest(func(record *unstructured.Unstructured, response *admissionv1.AdmissionResponse) {
		if strings.HasPrefix(rdataOf(record), "203.0.113.") {
			response.Allowed, response.Result = false, &metav1.Status{Code: http.StatusForbidden, Message: refusal}
		}
	}))
	r.Server = httptest.NewUnstartedServer(mux)
	r.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	r.StartTLS()
	t.Cleanup(r.Close)
	return r
}

func (r *reviewer) reviewRequest(judge func(*unstructured.Unstructured, *admissionv1.AdmissionResponse)) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		var review admissionv1.AdmissionReview
		record := &unstructured.Unstructured{}
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		if err := record.UnmarshalJSON(review.Request.Object.Raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if review.Request.DryRun == nil || !*review.Request.DryRun {
			r.mu.Lock()
			r.asked = append(r.asked, *review.Request)
			r.mu.Unlock()
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		judge(record, review.Response)
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(review)
	}
}

func (r *reviewer) getLastRequest(t *testing.T) admissionv1.AdmissionRequest {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.asked) == 0 {
		t.Fatal("no webhook was asked")
	}
	return r.asked[len(r.asked)-1]
}

func rdataOf(record *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(record.Object, "spec", "rdata")
	return text
}

// registerWebhooks creates both configurations under the same name.
func (r *reviewer) registerWebhooks(ctx context.Context, t *testing.T, typed *kubernetes.Clientset, namespace string) {
	t.Helper()
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		url := r.URL + path
		return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: r.ca}
	}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"kubi.zone"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"records"}},
	}}
	only := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
	none, fail, versions := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, []string{"v1"}
	name := metav1.ObjectMeta{Name: namespace}

	mutating := typed.AdmissionregistrationV1().MutatingWebhookConfigurations()
	must.Get(mutating.Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: name, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate.hooks.example", ClientConfig: at("/mutate"), Rules: rules, NamespaceSelector: only,
			SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: versions,
		}},
	}, metav1.CreateOptions{}))(t)
	validating := typed.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	t.Cleanup(func() {
		// The test's context is cancelled by now.
		for _, remove := range []func(context.Context, string, metav1.DeleteOptions) error{mutating.Delete, validating.Delete} {
			if err := remove(context.Background(), namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	})
	must.Get(validating.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: name, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.hooks.example", ClientConfig: at("/validate"), Rules: rules, NamespaceSelector: only,
			SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: versions,
		}},
	}, metav1.CreateOptions{}))(t)
}

// waitAnswer retries until the outcome is wanted: the server follows webhook configurations by informers.
func waitAnswer(ctx context.Context, t *testing.T, what string, try func() error, wanted func(error) bool) {
	t.Helper()
	for {
		err := try()
		if wanted(err) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: never so; last: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A cluster's webhooks validate and mutate a tenant's records as for a built-in kind, though kube-apiserver does not
// call them. The request names the tenant, who reads a denial, and nothing is written. Mutations are in the stored
// object and in the zone. An unavailable webhook refuses or passes by failurePolicy.
func TestWebhooks_judgeAndChangeRecords(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	const namespace = "hooks"
	kubeconfig := must.Get(c.makeTenant(ctx, namespace, "hooks-user", "hooks.example."))(t)
	_, tenant := makeClients(t, must.Get(kuberig.ClientConfig(kubeconfig))(t))
	typed, _ := makeClients(t, c.kube.Admin())
	kubizone := tenant.Resource(records).Namespace(namespace)
	// On a busy machine kube-apiserver may take the API for unavailable for a moment: 503.
	waitAnswer(ctx, t, "zone", func() error {
		_, err := tenant.Resource(zones).Namespace(namespace).Create(ctx,
			zoneObject(namespace, "zone", "hooks.example.", everyName(namespace)), metav1.CreateOptions{})
		return err
	}, func(err error) bool { return err == nil || apierrors.IsAlreadyExists(err) })
	r := startReviewer(t)
	r.registerWebhooks(ctx, t, typed, namespace)

	dryRun := func(address string) error { return createAt(ctx, kubizone, "probe", address, metav1.DryRunAll) }
	waitAnswer(ctx, t, "validating webhook", func() error { return dryRun("203.0.113.1") }, func(err error) bool { return err != nil && strings.Contains(err.Error(), refusal) })
	waitAnswer(ctx, t, "mutating webhook", func() error {
		record, err := kubizone.Create(ctx, recordObject(namespace, "probe", "probe.hooks.example."), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && record.GetLabels()[reviewed] != "yes" {
			err = errors.New("it has not the label")
		}
		return err
	}, func(err error) bool { return err == nil })

	// Mutated on creation: the answer, the stored object, the label index and the zone agree.
	must.Succeed(t, createAt(ctx, kubizone, "www", "192.0.2.1"))
	if asked := r.getLastRequest(t); asked.UserInfo.Username != "hooks-user" || asked.Namespace != namespace || asked.Name != "www" ||
		asked.Resource.Resource != "records" || asked.Operation != admissionv1.Create {
		t.Errorf("asked of %s %s/%s %s by %q", asked.Resource.Resource, asked.Namespace, asked.Name, asked.Operation, asked.UserInfo.Username)
	}
	labelled, err := kubizone.List(ctx, metav1.ListOptions{LabelSelector: reviewed + "=yes"})
	if err != nil || len(labelled.Items) != 1 || rdataOf(&labelled.Items[0]) != "198.51.100.1" {
		t.Fatalf("%v, %v", labelled, err)
	}
	serial := c.zoneHas(ctx, t, namespace, map[string]string{"www": "198.51.100.1"}, 0)

	// The tenant reads the reason, and nothing is written.
	denied := func(what string, err error) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `admission webhook "validate.hooks.example" denied the request: `+refusal) {
			t.Errorf("%s: %v", what, err)
		}
		c.zoneHas(ctx, t, namespace, map[string]string{"www": "198.51.100.1"}, serial)
	}
	denied("create", createAt(ctx, kubizone, "foreign", "203.0.113.1"))
	_, err = kubizone.Patch(ctx, "www", types.MergePatchType, []byte(`{"spec":{"rdata":"203.0.113.1"}}`), metav1.PatchOptions{})
	denied("patch", err)

	// failurePolicy Fail names the webhook, and nothing is written.
	r.Close()
	for what, err := range map[string]error{"create": createAt(ctx, kubizone, "later", "192.0.2.7"), "dry run": dryRun("192.0.2.7")} {
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `failed calling webhook "mutate.hooks.example"`) {
			t.Errorf("%s with the webhook down: %v", what, err)
		}
	}
	c.zoneHas(ctx, t, namespace, map[string]string{"www": "198.51.100.1"}, serial)

	// Unavailable with Ignore for the mutating and Fail for the validating webhook: still refused.
	ignore := []byte(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`)
	must.Get(typed.AdmissionregistrationV1().MutatingWebhookConfigurations().Patch(ctx, namespace, types.JSONPatchType, ignore,
		metav1.PatchOptions{}))(t)
	waitAnswer(ctx, t, "mutating webhook ignored", func() error { return dryRun("192.0.2.7") }, func(err error) bool {
		return err != nil && strings.Contains(err.Error(), `failed calling webhook "validate.hooks.example"`)
	})
	must.Get(typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(ctx, namespace, types.JSONPatchType, ignore,
		metav1.PatchOptions{}))(t)
	waitAnswer(ctx, t, "both webhooks ignored", func() error { return dryRun("192.0.2.7") }, func(err error) bool { return err == nil })
	// Ignored webhooks neither change nor refuse an object.
	for name, address := range map[string]string{"plain": "192.0.2.1", "foreign": "203.0.113.1"} {
		if err := createAt(ctx, kubizone, name, address); err != nil {
			t.Error(err)
		}
	}
	if after := c.zoneHas(ctx, t, namespace, map[string]string{"www": "198.51.100.1", "plain": "192.0.2.1", "foreign": "203.0.113.1"}, 0); after == serial {
		t.Errorf("the serial is still %d", after)
	}
}

func createAt(ctx context.Context, in dynamic.ResourceInterface, name, address string, dryRun ...string) error {
	record := recordObject("hooks", name, name+".hooks.example.")
	if err := unstructured.SetNestedField(record.Object, address, "spec", "rdata"); err != nil {
		return err
	}
	_, err := in.Create(ctx, record, metav1.CreateOptions{DryRun: dryRun})
	return err
}

// zoneHas requires exactly these addresses in records and zone, and the serial unless 0.
func (c *cluster) zoneHas(ctx context.Context, t *testing.T, namespace string, want map[string]string, serial int64) int64 {
	t.Helper()
	objects, entries, now := c.readContents(ctx, t, c.server.URL(), namespace)
	for what, have := range map[string]map[string]string{"records": objects, "entries": entries} {
		if !maps.Equal(have, want) {
			t.Errorf("%s: %v instead of %v", what, have, want)
		}
	}
	if serial != 0 && now != serial {
		t.Errorf("serial %d became %d", serial, now)
	}
	return now
}
