// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
	"k8s.io/utils/ptr"

	versionedfake "kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/version"
	"kubi.zone/kubizone/test/must"
)

var healthy = map[string]string{"/readyz?verbose&exclude=etcd": readyz, "/healthz?verbose&exclude=etcd": healthz}

// A path without an answer hangs.
func startServer(t *testing.T, answers map[string]string) (client *fake.Clientset, registrations *aggregatorfake.Clientset,
	at *httptest.Server) {
	t.Helper()
	at = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if healthy[r.URL.String()] == "" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s, authorization %q", r.URL, r.Header.Get("Authorization"))
		}
		message, answered := answers[r.URL.String()]
		if !answered {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.Write([]byte(message))
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
			{Name: "mutatingwebhookconfigurations"}, {Name: "validatingwebhookconfigurations"}, {Name: "validatingadmissionpolicies"}, // as 1.35, without a third
		}},
		{GroupVersion: "flowcontrol.apiserver.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "flowschemas"}, {Name: "flowschemas/status"}, {Name: "prioritylevelconfigurations"}}},
	}
	return client, registrations, at
}

func TestCollect_seesAServerAndWhatItMayNotDo(t *testing.T) {
	client, registrations, at := startServer(t, healthy)
	var asked []string
	var lock sync.Mutex
	client.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		lock.Lock()
		defer lock.Unlock()
		asked = append(asked, review.Spec.User)
		review.Status.Allowed = review.Spec.ResourceAttributes.Resource != "secrets"
		return true, review, nil
	})
	f := collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(), newClocks())
	if want := []string{"validatingadmissionpolicybindings.admissionregistration.k8s.io"}; !slices.Equal(f.absent, want) || f.absentErr != nil {
		t.Errorf("absent %q, %v", f.absent, f.absentErr)
	}
	if len(f.answers) != 1 || f.answers[0].err != nil || f.answers[0].checks != readyz+"\n"+healthz ||
		!f.answers[0].chain[0].Equal(at.Certificate()) {
		t.Errorf("answers %+v", f.answers)
	}
	if d := f.ahead[at.Listener.Addr().String()]; d < 55*time.Minute || d > 65*time.Minute {
		t.Errorf("the clocks are %v", f.ahead)
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

// D1: a user without permissions gets a WARN, and no OK for unread facts.
func TestCollect_saysWhatItMayNotSee(t *testing.T) {
	client, registrations, _ := startServer(t, healthy)
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
	for _, finding := range judgeFacts(collectFacts(t.Context(), client, registrations, objects, newClocks()), now) {
		switch finding.Check {
		case "version", "clocks":
		default:
			if finding.Status != Warn {
				t.Errorf("%+v", finding)
			}
		}
	}
}

func TestCollect_stopsWhereNobodyAnswers(t *testing.T) {
	client, registrations, _ := startServer(t, healthy)
	client.Discovery().(*discoveryfake.FakeDiscovery).PrependReactor("get", "version", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
	})
	findings := judgeFacts(collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(), newClocks()), now)
	if len(findings) != 1 || findings[0].Status != Fail || !strings.Contains(findings[0].Message, "dial") {
		t.Errorf("%+v", findings)
	}
}

// S8.5: objects of deleted namespaces are counted by namespace.
func TestCollect_countsWhatGoneNamespacesLeft_S8_5(t *testing.T) {
	client, registrations, _ := startServer(t, healthy)
	must.Succeed(t, client.Tracker().Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "there"}}))
	var objects []runtime.Object
	for _, namespace := range []string{"there", "gone"} {
		at := metav1.ObjectMeta{Namespace: namespace, Name: "one"}
		objects = append(objects, &v1alpha1.Zone{ObjectMeta: at}, &v1alpha1.Delegation{ObjectMeta: at}, &v1alpha1.Record{ObjectMeta: at})
	}
	f := collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(objects...), newClocks())
	if f.objectsErr != nil || !maps.Equal(f.left, map[string]int{"gone": 3}) {
		t.Errorf("%v %v", f.left, f.objectsErr)
	}
}

// All APIServices of the manifests are collected, also optional groups such as --acme's; the Service's group is
// first.
func TestCollect_readsTheAPIServicesOfTheManifests(t *testing.T) {
	client, registrations, _ := startServer(t, healthy)
	for name, of := range map[string]string{
		"v1alpha1.acme.kubi.zone": partOf, "v1alpha1.bind9.kubi.zone": partOf, "v1.other.example": "other",
	} {
		must.Succeed(t, registrations.Tracker().Add(&apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{partOfLabel: of}}}))
	}
	var names []string
	for _, one := range collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(), newClocks()).registrations {
		names = append(names, one.Name)
	}
	if want := []string{"v1alpha1.kubi.zone", "v1alpha1.bind9.kubi.zone", "v1alpha1.acme.kubi.zone"}; !slices.Equal(names, want) {
		t.Errorf("collected %q, want %q", names, want)
	}
}

// A standalone server is not reported as a broken installation.
func TestCollect_standaloneNeedsNoInstallation(t *testing.T) {
	client, registrations, _ := startServer(t, healthy)
	client.Discovery().(*discoveryfake.FakeDiscovery).FakedServerVersion = &apimachineryversion.Info{GitVersion: "v1.37.0+kubizone-v" +
		version.Number()}
	findings := judgeFacts(collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(), newClocks()), now)
	if len(findings) != 1 || findings[0].Status != Warn || !strings.Contains(findings[0].Message, "kubizone up") {
		t.Errorf("%+v", findings)
	}
}

func storeRelease(t *testing.T, client *fake.Clientset, chart, status string, revision int) {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	fmt.Fprintf(zipped, `{"name": "dns", "version": %d, "chart": {"metadata": {"name": %q}}, "config": {}}`, revision, chart)
	must.Succeed(t, zipped.Close())
	must.Succeed(t, client.Tracker().Add(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kubizone-system", Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", chart, revision),
			Labels: map[string]string{"owner": "helm", "name": "of-" + chart, "status": status, "version": strconv.Itoa(revision)}},
		Type: "helm.sh/release.v1", Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))},
	}))
}

// D4: the newest revision of a release of this chart, under any release name.
func TestCollect_findsTheReleaseOfHelm_D4(t *testing.T) {
	client, registrations, _ := startServer(t, healthy)
	storeRelease(t, client, "other", "deployed", 9)
	f := collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(), newClocks())
	if f.release.name != "" || f.releaseErr != nil {
		t.Errorf("without one: %+v, %v", f.release, f.releaseErr)
	}
	storeRelease(t, client, "kubizone", "superseded", 11)
	storeRelease(t, client, "kubizone", "failed", 2)
	storeRelease(t, client, "kubizone", "deployed", 3)
	f = collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(), newClocks())
	if f.release != (release{"of-kubizone", 3}) {
		t.Errorf("%+v, %v", f.release, f.releaseErr)
	}
	if next := f.installAgain(); !strings.Contains(next, "helm rollback of-kubizone 3 -n kubizone-system ") {
		t.Error(next)
	}
}

// listenInSilence accepts connections and never answers, as a firewall may.
func listenInSilence(t *testing.T) *net.TCPAddr {
	t.Helper()
	silent := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { silent.Close() })
	if answerTime >= 5*time.Second {
		t.Error("the checks take longer than five seconds together")
	}
	return silent.Addr().(*net.TCPAddr)
}

// D5
func TestDoctor_givesUpASilentKubeAPIServer_D5(t *testing.T) {
	t.Parallel()
	silent := listenInSilence(t)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	must.Succeed(t, os.WriteFile(config, []byte(`{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "https://`+silent.String()+`", insecure-skip-tls-verify: true}}],
users: [{name: u, user: {token: t}}],
contexts: [{name: c, context: {cluster: c, user: u}}]}`), 0o600))
	command := NewCommand()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{"--kubeconfig", config})
	command.SilenceErrors = true
	err := command.ExecuteContext(t.Context())
	if !errors.Is(err, ErrUnanswered) || !strings.HasPrefix(out.String(), "CAUSE: kube-apiserver: ") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// D5: a silent server takes no more time, and kube-apiserver's facts are judged.
func TestCollect_givesUpASilentServer_D5(t *testing.T) {
	t.Parallel()
	silent := listenInSilence(t)
	client, registrations, _ := startServer(t, healthy)
	service := must.Get(registrations.ApiregistrationV1().APIServices().Get(t.Context(), apiServices[0], metav1.GetOptions{}))(t)
	service.Spec.Service.Port = ptr.To(int32(silent.Port))
	must.Get(registrations.ApiregistrationV1().APIServices().Update(t.Context(), service, metav1.UpdateOptions{}))(t)
	f := collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(), newClocks())
	if len(f.answers) != 1 || !errors.Is(f.answers[0].err, context.DeadlineExceeded) || f.objectsErr != nil || f.service == nil {
		t.Errorf("%+v, %v, service %v", f.answers, f.objectsErr, f.service)
	}
}

// While etcd hangs, one path exceeds the time of all checks; the other reports the fault.
func TestCollect_keepsTheAnswerOfOnePath(t *testing.T) {
	t.Parallel()
	for path := range healthy {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			client, registrations, _ := startServer(t, map[string]string{path: "[+]ping ok\n[-]etcd failed: reason withheld\n"})
			findings := judgeFacts(collectFacts(t.Context(), client, registrations, versionedfake.NewClientset(), newClocks()), now)
			ready := findCheck(t, findings, "ready")
			if ready.Status != Fail || ready.Depth != Root || !strings.Contains(ready.Message, ": etcd") {
				t.Errorf("%+v", ready)
			}
		})
	}
}

// kube-apiserver's clock shows in direct answers, a pod's clock in proxied answers.
func TestClocks_distinguishPodsFromKubeAPIServer(t *testing.T) {
	const pod = "/api/v1/namespaces/n/pods/https:kubizone-apiserver-0:https/proxy/readyz"
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ahead := map[string]time.Duration{"/version": -time.Hour, pod: time.Hour}
		w.Header().Set("Date", time.Now().Add(ahead[r.URL.Path]).UTC().Format(http.TimeFormat))
	}))
	t.Cleanup(at.Close)
	seen := newClocks()
	client := &http.Client{Transport: seen.watch(http.DefaultTransport)}
	for _, path := range []string{"/version", pod, "/apis/kubi.zone/v1alpha1/zones"} {
		must.Get(client.Get(at.URL + path))(t).Body.Close()
	}
	got := seen.list()
	if d := got[kubeAPIServer].Round(10 * time.Minute); d != -time.Hour || len(got) != 2 {
		t.Errorf("%v", got)
	}
	if d := got["pod kubizone-apiserver-0"].Round(10 * time.Minute); d != time.Hour {
		t.Errorf("%v", got)
	}
}
