// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

type running struct {
	*process
	t      *testing.T
	dir    string
	dns    string
	config *rest.Config
	client versioned.Interface
}

func runUp(t *testing.T, dir string, args ...string) *running {
	t.Helper()
	ports := [2]string{}
	for i := range ports {
		at := must.Get(rig.FreePort())(t)
		ports[i] = at.String()
	}
	args = append([]string{"up", "--data-dir", dir, "--listen", ports[0], "--dns-listen", ports[1]}, args...)
	p := must.Get(startProcess(t.TempDir(), os.Environ(), binaries.kubizone, args...))(t)
	t.Cleanup(p.Kill)
	if err := p.waitLine(ready); err != nil {
		t.Fatalf("%v\n%s", err, p.Log())
	}
	r := &running{process: p, t: t, dir: dir, dns: ports[1]}
	r.config = must.Get(clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig")))(t)
	r.client = must.Get(versioned.NewForConfig(r.config))(t)
	return r
}

func (r *running) startPrimary() (apart *process, dns, metrics string) {
	r.t.Helper()
	ports := [2]string{}
	for i := range ports {
		at := must.Get(rig.FreePort())(r.t)
		ports[i] = at.String()
	}
	apart = must.Get(startProcess(r.t.TempDir(), os.Environ(), binaries.kubizone, "primary", "--kubeconfig",
		filepath.Join(r.dir, "kubeconfig"),
		"--dns-listen", ports[0], "--health-listen", ports[1], "--secrets-dir", r.t.TempDir()))(r.t)
	r.t.Cleanup(apart.Kill)
	if err := apart.waitLine(regexp.MustCompile(`(?m)^health on`)); err != nil {
		r.t.Fatalf("%v\n%s", err, apart.Log())
	}
	return apart, ports[0], "http://" + ports[1] + "/metrics"
}

func (r *running) makeZone(object, fqdn string) {
	r.t.Helper()
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: object}, Spec: v1alpha1.ZoneSpec{
		Limits:     &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))},
		DomainName: fqdn, NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}
	must.Get(r.client.KubizoneV1alpha1().Zones("dns").Create(r.t.Context(), zone, metav1.CreateOptions{}))(r.t)
	r.makeRecord(object+"-www", "www."+fqdn, "192.0.2.1")
}

func (r *running) makeRecord(object, fqdn, address string) {
	r.t.Helper()
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: object}, Spec: v1alpha1.RecordSpec{DomainName: fqdn, Type: "A", RData: address}}
	must.Get(r.client.KubizoneV1alpha1().Records("dns").Create(r.t.Context(), record, metav1.CreateOptions{}))(r.t)
}

func (r *running) readEntries(object string) (string, error) {
	text, err := r.client.KubizoneV1alpha1().RESTClient().Get().Namespace("dns").Resource("zones").Name(object).SubResource("entries").Param("format", "text").DoRaw(r.t.Context())
	return string(text), err
}

func (r *running) sendQuery(server, qname string, qtype uint16) *mdns.Msg {
	r.t.Helper()
	q := new(mdns.Msg)
	q.SetQuestion(qname, qtype)
	client := &mdns.Client{Timeout: 10 * time.Second, Net: "tcp"}
	answer, _, err := client.Exchange(q, server)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer
}

func (r *running) waitForZone(zone, server string) (serial uint32) {
	r.t.Helper()
	is := must.Get(r.client.KubizoneV1alpha1().Zones("dns").Get(r.t.Context(), zone, metav1.GetOptions{}))(r.t)
	waitUntil(r.t, server+" with the serial of "+zone, func() bool {
		answer := r.sendQuery(server, is.Spec.DomainName, mdns.TypeSOA).Answer
		return len(answer) == 1 && int64(answer[0].(*mdns.SOA).Serial) == int64(is.Status.Serial)
	})
	return uint32(is.Status.Serial)
}

func waitUntil(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(waitTimeout); !true(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func (r *running) readMetrics() metricsText {
	r.t.Helper()
	text := must.Get(r.client.KubizoneV1alpha1().RESTClient().Get().AbsPath("/metrics").DoRaw(r.t.Context()))(r.t)
	return metricsText(text)
}

type metricsText string

var line = regexp.MustCompile(`(?m)^(kubizone_[a-z_]+(?:\{[^}]*\})?) (\S+)$`)

func (f metricsText) parseMetrics() map[string]float64 {
	found := make(map[string]float64)
	for _, match := range line.FindAllStringSubmatch(string(f), -1) {
		found[match[1]], _ = strconv.ParseFloat(match[2], 64)
	}
	return found
}

func metricsOf(t *testing.T, url string) metricsText {
	t.Helper()
	answer := must.Get(http.Get(url))(t)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v: %s\n%s", err, answer.Status, text)
	}
	return metricsText(text)
}

// forbidden labels reveal tenants or grow with their data. The label namespace has ten values at most.
var forbidden = regexp.MustCompile(`(?m)^kubizone_.*\b(zone|name|fqdn|peer|record|uid)="|^kubizone_.*(example\.(org|net)|192\.0\.2\.)`)

func (f metricsText) namesTenants() string {
	return strings.Join(forbidden.FindAllString(string(f), -1), "\n")
}
