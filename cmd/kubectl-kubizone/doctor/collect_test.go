// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/test/must"
)

const (
	readyz  = "[+]ping ok\n[+]etcd ok\nreadyz check passed\n"
	healthz = "[+]ping ok\n[+]etcd ok\n[+]etcd-space ok\n[+]etcd-corrupt ok\nhealthz check passed\n"

	apisPath = "/apis/kubi.zone/v1alpha1/"
	podsPath = "/api/v1/namespaces/kubizone-system/pods"
)

// cluster is kube-apiserver with an API server of a healthy installation. A path in hangs gets no answer, and a path in
// answers another one.
type cluster struct {
	t        *testing.T
	hangs    []string // prefixes
	answers  map[string]func(w http.ResponseWriter)
	objects  map[string]any // by path
	requests chan *http.Request
}

func startCluster(t *testing.T) (*cluster, *rest.Config) {
	t.Helper()
	c := &cluster{t: t, requests: make(chan *http.Request, 100), answers: map[string]func(http.ResponseWriter){}}
	// The addresses of servers are of this server, too.
	at := httptest.NewTLSServer(c)
	t.Cleanup(at.Close)
	host, text, err := net.SplitHostPort(at.Listener.Addr().String())
	must.Succeed(t, err)
	port := must.Get(strconv.Atoi(text))(t)
	registered := func(name, group string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"group": group,
			"service": map[string]any{"namespace": installNamespace, "name": serverName, "port": port}}}
	}
	list := func(items ...any) map[string]any { return map[string]any{"items": items} }
	running := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: installNamespace, Name: "a"}}
	running.Status.Phase = corev1.PodRunning
	zone := v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "z"}}
	zone.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonDelivered}}
	paused := v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: v1alpha1.DNSClassSpec{Paused: true}}
	c.objects = map[string]any{
		"/version": map[string]any{"gitVersion": "v1.37.1"},
		"/apis/apiregistration.k8s.io/v1/apiservices": list(registered(nameServerAPI, "bind9.kubi.zone"), registered(mainAPI, groupName),
			registered("v1alpha1.acme.kubi.zone", "acme.kubi.zone"), registered("v1.other.example", "other.example")),
		"/api/v1/namespaces/kubizone-system/services/kubizone-apiserver": corev1.Service{Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: host}},
		podsPath: list(running),
		"/api/v1/namespaces/kubizone-system/secrets/kubizone-apiserver-serving": corev1.Secret{},
		apisPath + "zones":                              list(zone),
		apisPath + "records":                            list(),
		apisPath + "updatekeys":                         list(),
		apisPath + "dnsclasses":                         list(paused),
		apisPath + "installations/kubizone":             v1alpha1.Installation{Status: v1alpha1.InstallationStatus{Version: "1"}},
		"/apis/bind9.kubi.zone/v1alpha1/bind9instances": list(makeInstance("ns-0", "Ready", metav1.ConditionTrue)),
		"/apis/events.k8s.io/v1/events":                 list(),
	}
	return c, &rest.Config{Host: at.URL, BearerToken: "token", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case c.requests <- r:
	default:
	}
	if slices.ContainsFunc(c.hangs, func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) }) {
		<-r.Context().Done()
		return
	}
	if answer := c.answers[r.URL.Path]; answer != nil {
		answer(w)
		return
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/readyz"), strings.HasSuffix(path, "/healthz"):
		isProxied, isAuthorized := strings.HasPrefix(path, podsPath), r.Header.Get("Authorization") != ""
		if r.URL.RawQuery != "verbose&exclude=etcd" || isProxied != isAuthorized {
			c.t.Errorf("%s, authorization %q", r.URL, r.Header.Get("Authorization"))
		}
		_, _ = w.Write([]byte(map[bool]string{true: readyz, false: healthz}[strings.HasSuffix(path, "/readyz")]))
	case c.objects[path] != nil:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.objects[path])
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404})
	}
}

func collectFrom(t *testing.T, config *rest.Config) *facts {
	t.Helper()
	c := must.Get(newCollector(config))(t)
	return c.collectFacts(t.Context())
}

// D1: each request reads.
func TestCollect_readsAll_D1(t *testing.T) {
	c, config := startCluster(t)
	f := collectFrom(t, config)
	var names []string
	for _, one := range f.registrations {
		names = append(names, one.Name)
	}
	if want := []string{mainAPI, nameServerAPI, "v1alpha1.acme.kubi.zone"}; !slices.Equal(names, want) {
		t.Errorf("APIServices %q, want %q", names, want)
	}
	if missing := listMissing(f); len(missing) > 0 || len(f.answers) != 2 || len(f.answers[0].chain) != 1 {
		t.Errorf("missing %q; answers %+v", missing, f.answers)
	}
	if len(f.clockSkews) != 3 {
		t.Errorf("clocks %v", f.clockSkews)
	}
	close(c.requests)
	for r := range c.requests {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
	}
}

// listMissing names the facts without an answer.
func listMissing(f *facts) (missing []string) {
	for name, has := range map[string]bool{
		"version": f.versionErr == nil, "apiservices": len(f.registrations) > 0, "secrets": len(f.secrets) > 0,
		"service":        slices.ContainsFunc(f.answers, func(a answer) bool { return len(a.chain) > 0 }),
		"pods":           slices.ContainsFunc(f.answers, func(a answer) bool { return a.from == "pod a" }),
		"bind9instances": len(f.instances) > 0,
		"zones":          f.overview.ZonesRead, "dnsclasses": len(f.overview.Paused) > 0, "installations": f.overview.Installation != nil,
		"answers": slices.ContainsFunc(f.answers, func(a answer) bool { return a.err == nil }),
	} {
		if !has {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// D5: a request without an answer costs its own fact alone.
func TestCollect_keepsTheOtherAnswers_D5(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for fact, prefix := range map[string]string{
		"zones": apisPath + "zones", "dnsclasses": apisPath + "dnsclasses", "installations": apisPath + "installations",
		"bind9instances": "/apis/bind9", "service": "/api/v1/namespaces/kubizone-system/services",
		"secrets": "/api/v1/namespaces/kubizone-system/secrets", "pods": podsPath,
	} {
		c, config := startCluster(t)
		c.hangs = []string{prefix}
		all.Go(func() {
			if missing := listMissing(collectFrom(t, config)); strings.Join(missing, " ") != fact {
				t.Errorf("without %s the facts %q are missing", prefix, missing)
			}
		})
	}
	all.Wait()
}

// While etcd is stopped, the API answers no object, /healthz takes two seconds and /readyz hangs. The doctor still
// finishes within five seconds, 15 on a loaded machine, and names etcd as the cause (D5).
func TestDoctor_namesAStoppedEtcd_D5(t *testing.T) {
	t.Parallel()
	c, config := startCluster(t)
	c.hangs = []string{"/apis/kubi.zone", "/apis/bind9.kubi.zone", "/readyz", podsPath + "/https:a:https/proxy/readyz"}
	for _, path := range []string{"/healthz", podsPath + "/https:a:https/proxy/healthz"} {
		c.answers[path] = func(w http.ResponseWriter) {
			time.Sleep(2030 * time.Millisecond)
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte("[+]ping ok\n[-]etcd-readiness failed: reason withheld\n"))
		}
	}
	var out bytes.Buffer
	begin := time.Now()
	err := diagnoseCluster(t.Context(), config, &out, &output.Format{})
	if took := time.Since(begin); !errors.Is(err, ErrFailed) || !strings.Contains(out.String(), "CAUSE: etcd: ") || took > 15*time.Second {
		t.Errorf("%v after %s:\n%s", err, took, out.String())
	}
}

// D3, D5
func TestDoctor_givesUpASilentKubeAPIServer_D5(t *testing.T) {
	t.Parallel()
	c, config := startCluster(t)
	c.hangs = []string{"/"}
	var out bytes.Buffer
	begin := time.Now()
	err := diagnoseCluster(t.Context(), config, &out, &output.Format{})
	if !errors.Is(err, ErrUnanswered) || !strings.Contains(out.String(), "CAUSE: kube-apiserver: ") || time.Since(begin) > 15*time.Second {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A user without rights gets a warning for each fact that the doctor could not read. The exit code is then 2, since the
// doctor cannot say that all is well (D1, D3).
func TestDoctor_saysWhatItMayNotRead_D3(t *testing.T) {
	c, config := startCluster(t)
	for path := range c.objects {
		if path != "/version" {
			c.answers[path] = func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: 403})
			}
		}
	}
	var out bytes.Buffer
	if err := diagnoseCluster(t.Context(), config, &out, &output.Format{}); !errors.Is(err, ErrUnread) {
		t.Error(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "OK") && !strings.Contains(line, "kube-apiserver") && !strings.Contains(line, "clocks") {
			t.Error(line)
		}
	}
}

// D3: kubizone up has no cluster, but zones.
func TestDoctor_standaloneNeedsNoInstallation_D3(t *testing.T) {
	c, config := startCluster(t)
	for path := range c.objects {
		if !strings.HasPrefix(path, apisPath) {
			delete(c.objects, path)
		}
	}
	c.objects["/version"] = map[string]any{"gitVersion": "v1.37.0+" + version.Component + "-v" + version.Number()}
	var out bytes.Buffer
	if err := diagnoseCluster(t.Context(), config, &out, &output.Format{}); err != nil || strings.Contains(out.String(), "FAIL") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if regexp.MustCompile("apiservices|certificates").MatchString(out.String()) || !strings.Contains(out.String(), "all 1 are current") {
		t.Errorf("\n%s", out.String())
	}
	zones := c.objects[apisPath+"zones"].(map[string]any)["items"].([]any)
	late := zones[0].(v1alpha1.Zone)
	late.Status.Conditions[0].Status, late.Status.Conditions[0].Reason = metav1.ConditionUnknown, v1alpha1.ReasonPaused
	if err := diagnoseCluster(t.Context(), config, &out, &output.Format{}); !errors.Is(err, ErrFailed) {
		t.Error(err)
	}
}

// The doctor compares clocks by the Date header of answers. A direct answer has the clock of kube-apiserver, and an
// answer proxied to a pod has the pod's clock.
func TestCollect_distinguishesTheClocksOfPods(t *testing.T) {
	c, config := startCluster(t)
	for path, ahead := range map[string]time.Duration{"/version": -time.Hour, podsPath + "/https:a:https/proxy/readyz": time.Hour} {
		c.answers[path] = func(w http.ResponseWriter) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
			_, _ = w.Write([]byte(map[bool]string{true: `{"gitVersion":"v1"}`, false: readyz}[path == "/version"]))
		}
	}
	got := collectFrom(t, config).clockSkews
	if len(got) != 3 || got[kubeAPIServer].Round(10*time.Minute) != -time.Hour || got["pod a"].Round(10*time.Minute) != time.Hour {
		t.Errorf("%v", got)
	}
}

// Of a server that is not ready for want of a permission, the check of that name has the missing rule.
func TestAskServer_readsTheMissingRule(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
			http.Error(w, "[+]ping ok\n[-]permissions failed: reason withheld\n", http.StatusInternalServerError)
		case "/readyz/permissions":
			http.Error(w, "internal server error: the identity lacks the RBAC rule x\nthe identity lacks y", http.StatusInternalServerError)
		default:
			_, _ = w.Write([]byte(healthz))
		}
	}))
	t.Cleanup(server.Close)
	a := askServer(t.Context(), server.Client(), "pod a", server.URL)
	if a.lacks != "the identity lacks the RBAC rule x" || !slices.Equal(a.failedChecks, []string{"permissions"}) {
		t.Errorf("%+v", a)
	}
}
