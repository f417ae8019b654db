// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	hooksv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/quota"
	"kubi.zone/kubizone/test/must"
)

// installPlugins adds webhooks, a ValidatingAdmissionPolicy and a ResourceQuota of some Records to the chain.
func (w *watched) installPlugins(t *testing.T, config *genericapiserver.RecommendedConfig) {
	hooks := httptest.NewTLSServer(http.HandlerFunc(answerHook))
	t.Cleanup(hooks.Close)
	core := fake.NewClientset(append(makeHooks(hooks), makePolicy()...)...)
	factory := informers.NewSharedInformerFactory(core, 0)
	options := genericoptions.NewAdmissionOptions()
	resourcequota.Register(options.Plugins)
	options.RecommendedPluginOrder = append(options.RecommendedPluginOrder, resourcequota.PluginName)
	options.DisablePlugins = []string{"NamespaceLifecycle", "MutatingAdmissionPolicy"}
	must.Succeed(t, options.ApplyTo(&config.Config, factory, core, dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
		config.FeatureGate, config.EffectiveVersion, quota.Initializer{}))
	w.plugins = config.AdmissionControl
	config.AdmissionControl = w
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
}

const hookedName = "a"

// answerHook is a webhook. It labels the Record hookedName, warns of it, and refuses its second address.
func answerHook(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	var record v1alpha1.Record
	isDeleted := review.Request.Operation == admissionv1.Delete
	if err := json.Unmarshal(review.Request.Object.Raw, &record); err != nil && !isDeleted {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch {
	case review.Request.Name != hookedName && record.Name != hookedName:
	case r.URL.Path == "/mutate" && !isDeleted:
		answer.Patch = []byte(`[{"op":"add","path":"/metadata/labels","value":{"hook":"yes"}}]`)
		answer.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
		answer.Warnings = []string{"the hook labels it"}
		answer.AuditAnnotations = map[string]string{"labelled": record.Spec.Type}
	case r.URL.Path == "/validate" && record.Spec.RData == "192.0.2.2":
		answer.Allowed, answer.Result = false, &metav1.Status{Code: http.StatusTeapot, Message: "not this address", Reason: "Vetoed"}
	}
	review.Response = answer
	_ = json.NewEncoder(w).Encode(review)
}

func makeHooks(hooks *httptest.Server) []runtime.Object {
	client := func(path string) hooksv1.WebhookClientConfig {
		return hooksv1.WebhookClientConfig{URL: ptr.To(hooks.URL + path),
			CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hooks.Certificate().Raw})}
	}
	none, once, equivalent, fail := hooksv1.SideEffectClassNone, hooksv1.NeverReinvocationPolicy, hooksv1.Equivalent, hooksv1.Fail
	return []runtime.Object{
		&hooksv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "mutates"},
			Webhooks: []hooksv1.MutatingWebhook{{Name: "mutates.example.org", ClientConfig: client("/mutate"), Rules: ofRecords(),
				SideEffects: &none, ReinvocationPolicy: &once, MatchPolicy: &equivalent, FailurePolicy: &fail,
				NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{}, TimeoutSeconds: ptr.To[int32](30),
				AdmissionReviewVersions: []string{"v1"}}}},
		&hooksv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validates"},
			Webhooks: []hooksv1.ValidatingWebhook{{Name: "validates.example.org", ClientConfig: client("/validate"), Rules: ofRecords(),
				SideEffects: &none, MatchPolicy: &equivalent, FailurePolicy: &fail, TimeoutSeconds: ptr.To[int32](30),
				NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				AdmissionReviewVersions: []string{"v1"}}}},
	}
}

func ofRecords() []hooksv1.RuleWithOperations {
	return []hooksv1.RuleWithOperations{{Operations: []hooksv1.OperationType{hooksv1.OperationAll}, Rule: hooksv1.Rule{
		APIGroups: []string{v1alpha1.GroupName}, APIVersions: []string{"*"}, Resources: []string{"records"},
		Scope: ptr.To(hooksv1.AllScopes)}}}
}

// makePolicy refuses a TTL of 300, and Records beyond a quota.
func makePolicy() []runtime.Object {
	const records = "count/records.kubi.zone"
	equivalent, fail := hooksv1.Equivalent, hooksv1.Fail
	return []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "platform"}},
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "records", Namespace: "team"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{records: resource.MustParse("9")}},
			Status: corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{records: resource.MustParse("9")},
				Used: corev1.ResourceList{records: resource.MustParse("0")}}},
		&hooksv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "ttl"}, Spec: hooksv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &hooksv1.MatchResources{MatchPolicy: &equivalent, NamespaceSelector: &metav1.LabelSelector{},
				ObjectSelector: &metav1.LabelSelector{},
				ResourceRules:  []hooksv1.NamedRuleWithOperations{{RuleWithOperations: ofRecords()[0]}}},
			Validations: []hooksv1.Validation{{
				Expression: "request.operation == 'DELETE' || !has(object.spec.ttl) || object.spec.ttl != 300",
				Message:    "no TTL of 300"}},
			AuditAnnotations: []hooksv1.AuditAnnotation{{Key: "asked", ValueExpression: "request.operation"}},
		}},
		&hooksv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "ttl"},
			Spec: hooksv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "ttl",
				ValidationActions: []hooksv1.ValidationAction{hooksv1.Deny, hooksv1.Audit}}},
	}
}

func (w *watched) admitByPlugins(ctx context.Context, a admission.Attributes, of admission.ObjectInterfaces) error {
	if plugins, ok := w.plugins.(admission.MutationInterface); ok && plugins.Handles(a.GetOperation()) {
		return plugins.Admit(ctx, a, of)
	}
	return nil
}

func (w *watched) validateByPlugins(ctx context.Context, a admission.Attributes, of admission.ObjectInterfaces) error {
	if plugins, ok := w.plugins.(admission.ValidationInterface); ok && plugins.Handles(a.GetOperation()) {
		return plugins.Validate(ctx, a, of)
	}
	return nil
}
