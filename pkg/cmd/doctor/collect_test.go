// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	discoveryfake "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorfake "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"

	versionedfake "kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/version"
	"kubi.zone/kubizone/test/must"
)

// startServer answers /readyz and /healthz over TLS, as the service of type ExternalName that the clients know.
func startServer(t *testing.T, answer string) (client *fake.Clientset, registrations *aggregatorfake.Clientset, at *httptest.Server) {
	t.Helper()
	at = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := map[string]string{"/readyz?verbose": answer, "/healthz?verbose": healthz}[r.URL.String()]
		if said == "" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s, authorization %q", r.URL, r.Header.Get("Authorization"))
		}
		w.Write([]byte(said))
	}))
	t.Cleanup(at.Close)
	host, text, _ := net.SplitHostPort(at.Listener.Addr().String())
	number, _ := strconv.Atoi(text)
	port := int32(number)
	client = fake.NewClientset(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kubizone-system", Name: "kubizone-apiserver"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host},
	})
	registrations = aggregatorfake.NewClientset(&apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1alpha1.kubi.zone"},
		Spec:       apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Namespace: "kubizone-system", Name: "kubizone-apiserver", Port: &port}},
	})
	client.Resources = []*metav1.APIResourceList{
		{GroupVersion: "admissionregistration.k8s.io/v1", APIResources: []metav1.APIResource{
			{Name: "mutatingwebhookconfigurations"}, {Name: "validatingwebhookconfigurations"}, {Name: "validatingadmissionpolicies"}, // as 1.35 without a third
		}},
		{GroupVersion: "flowcontrol.apiserver.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "flowschemas"}, {Name: "flowschemas/status"}, {Name: "prioritylevelconfigurations"}}},
	}
	return client, registrations, at
}

func TestCollect_seesAServerAndWhatItMayNotDo(t *testing.T) {
	client, registrations, at := startServer(t, readyz)
	var asked []string
	client.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		asked = append(asked, review.Spec.User)
		review.Status.Allowed = review.Spec.ResourceAttributes.Resource != "secrets"
		return true, review, nil
	})
	f := collectFacts(t.Context(), client, registrations, versionedfake.NewClientset())
	if want := []string{"validatingadmissionpolicybindings.admissionregistration.k8s.io"}; !slices.Equal(f.absent, want) || f.absentErr != nil {
		t.Errorf("absent %q, %v", f.absent, f.absentErr)
	}
	if len(f.answers) != 1 || f.answers[0].err != nil || f.answers[0].readyz != readyz || f.answers[0].health != healthz || !f.answers[0].chain[0].Equal(at.Certificate()) {
		t.Errorf("answers %+v", f.answers)
	}
	if slices.ContainsFunc(asked, func(user string) bool { return user != "system:serviceaccount:kubizone-system:kubizone-apiserver" }) || len(asked) == 0 {
		t.Errorf("asked for %q", asked)
	}
	if len(f.refused) != 4 || !slices.Equal(f.refused[0].lacks, []string{"get secrets kubizone-apiserver-serving",
		"update secrets kubizone-apiserver-serving"}) {
		t.Errorf("refused %v", f.refused)
	}
	for _, action := range slices.Concat(client.Actions(), registrations.Actions()) {
		if verb := action.GetVerb(); verb != "get" && verb != "list" && action.GetResource().Resource != "subjectaccessreviews" {
			t.Errorf("D1: %s %s", verb, action.GetResource().Resource)
		}
	}
}

// D1: a user without permissions gets a WARN, and no OK for what could not be read.
func TestCollect_saysWhatItMayNotSee(t *testing.T) {
	client, registrations, _ := startServer(t, readyz)
	refuse := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden }
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetResource().Resource == "version" || action.GetResource().Resource == "resource" || action.GetResource().Resource == "group" {
			return false, nil, nil
		}
		return refuse(action)
	})
	registrations.PrependReactor("*", "*", refuse)
	objects := versionedfake.NewClientset()
	objects.PrependReactor("*", "*", refuse)
	for _, finding := range judgeFacts(collectFacts(t.Context(), client, registrations, objects), now) {
		switch finding.Check {
		case "version":
		default:
			if finding.Status != Warn {
				t.Errorf("%+v", finding)
			}
		}
	}
}

func TestCollect_stopsWhereNobodyAnswers(t *testing.T) {
	client, registrations, _ := startServer(t, readyz)
	client.Discovery().(*discoveryfake.FakeDiscovery).PrependReactor("get", "version", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
	})
	findings := judgeFacts(collectFacts(t.Context(), client, registrations, versionedfake.NewClientset()), now)
	if len(findings) != 1 || findings[0].Status != Fail || !strings.Contains(findings[0].Message, "dial") {
		t.Errorf("%+v", findings)
	}
}

// S8.5: what a namespace left that is gone is counted by it, and what one has that is there is not.
func TestCollect_countsWhatGoneNamespacesLeft_S8_5(t *testing.T) {
	client, registrations, _ := startServer(t, readyz)
	must.Succeed(t, client.Tracker().Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "there"}}))
	var objects []runtime.Object
	for _, namespace := range []string{"there", "gone"} {
		at := metav1.ObjectMeta{Namespace: namespace, Name: "one"}
		objects = append(objects, &v1alpha1.Zone{ObjectMeta: at}, &v1alpha1.Delegation{ObjectMeta: at}, &v1alpha1.Record{ObjectMeta: at})
	}
	f := collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(objects...))
	if f.objectsErr != nil || !maps.Equal(f.left, map[string]int{"gone": 3}) {
		t.Errorf("%v %v", f.left, f.objectsErr)
	}
}

// A standalone server is no installation with everything missing.
func TestCollect_standaloneNeedsNoInstallation(t *testing.T) {
	client, registrations, _ := startServer(t, readyz)
	client.Discovery().(*discoveryfake.FakeDiscovery).FakedServerVersion = &apimachineryversion.Info{GitVersion: "v1.37.0+kubizone-v" +
		version.Number()}
	findings := judgeFacts(collectFacts(t.Context(), client, registrations, versionedfake.NewClientset()), now)
	if len(findings) != 1 || findings[0].Status != Warn || !strings.Contains(findings[0].Message, "kubizone up") {
		t.Errorf("%+v", findings)
	}
}
