// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// reverting is a server, and a proxy before it that kills client or server at a write.
type reverting struct {
	*running
	ports      []string
	transport  http.RoundTripper
	kubeconfig string

	mu     sync.Mutex
	client *exec.Cmd
	left   int // writes until the kill
	kill   string
	killed bool
}

// kills are chosen in turn, a write each; the long form has each of them at each write.
var kills = []string{"client before", "server after", "client after", "server before"}

// ServeHTTP kills before the server has the chosen write, or after it is done.
func (r *reverting) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	if request.Method != http.MethodGet && !request.URL.Query().Has("dryRun") {
		r.left--
	}
	dies := r.left == 0 && r.kill != "" && request.Method != http.MethodGet
	r.mu.Unlock()
	to := must.Get(url.Parse(r.config.Host))(r.t)
	proxy := &httputil.ReverseProxy{Transport: r.transport, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}
	answer := httptest.NewRecorder()
	if !dies {
		proxy.ServeHTTP(w, request)
		return
	}
	if strings.HasSuffix(r.kill, "after") {
		proxy.ServeHTTP(answer, request)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed, r.left = true, -1000
	if strings.HasPrefix(r.kill, "client") {
		_ = r.client.Process.Kill()
	} else {
		r.Kill()
	}
	panic(http.ErrAbortHandler)
}

func (r *reverting) startServer(dir string) {
	r.running = runUp(r.t, dir, "--listen", r.ports[0], "--dns-listen", r.ports[1])
	r.config.QPS = -1
	r.transport = must.Get(rest.TransportFor(r.config))(r.t)
}

// runRevert kills the client or its server at the n-th write.
func (r *reverting) runRevert(kill string, n int) (out string, failed error) {
	r.mu.Lock()
	r.kill, r.left, r.killed = kill, n, false
	r.client = exec.Command(binaries.client, "revert", "crash.test", "--deleted", "--yes", "--kubeconfig", r.kubeconfig)
	var text strings.Builder
	r.client.Stdout, r.client.Stderr = &text, &text
	must.Succeed(r.t, r.client.Start())
	r.mu.Unlock()
	failed = r.client.Wait()
	return text.String(), failed
}

var noSerial = regexp.MustCompile(`(?m)^;.*\n|^\S+\s+\d+\s+IN\s+SOA.*\n`)

func (r *reverting) readContent() string {
	r.t.Helper()
	return noSerial.ReplaceAllString(must.Get(r.readEntries("crash-test"))(r.t), "")
}

// pruneZone deletes the zone with its Delegation, and all Records but one.
func (r *reverting) pruneZone() {
	r.t.Helper()
	api, ctx := r.running.client.KubizoneV1alpha1(), r.t.Context()
	for _, x := range [][2]string{{"dns", "a"}, {"dns", "b"}, {"team", "c"}} {
		must.Succeed(r.t, api.Records(x[0]).Delete(ctx, x[1], metav1.DeleteOptions{}))
	}
	must.Succeed(r.t, api.Delegations("dns").Delete(ctx, "team", metav1.DeleteOptions{}))
	zone := must.Get(api.Zones("dns").Get(ctx, "crash-test", metav1.GetOptions{}))(r.t)
	metav1.SetMetaDataAnnotation(&zone.ObjectMeta, v1alpha1.AnnotationDelete, string(zone.UID))
	zone = must.Get(api.Zones("dns").Update(ctx, zone, metav1.UpdateOptions{}))(r.t)
	must.Succeed(r.t, api.Zones("dns").Delete(ctx, "crash-test", metav1.DeleteOptions{}))
	waitUntil(r.t, "the history has the removal", func() bool {
		answer := &v1alpha1.ZoneChanges{}
		err := api.RESTClient().Get().Namespace("dns").Resource("zones").Name("-").SubResource("changes").Param("form", "history").
			Param("fqdn", "crash.test.").Do(ctx).Into(answer)
		return err == nil && answer.History[0].Zone != nil && answer.History[0].Zone.UID == string(zone.UID)
	})
}

// The return of a deleted Zone is interrupted by kill -9 before and after each write. A second revert completes the
// zone, and a third writes nothing.
func TestRevert_killedAtEachWrite(t *testing.T) {
	r := &reverting{running: &running{t: t}, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	for range 2 {
		at := must.Get(rig.FreePort())(t)
		r.ports = append(r.ports, at.String())
	}
	proxy := httptest.NewServer(r)
	defer proxy.Close()
	must.Succeed(t, os.WriteFile(r.kubeconfig, fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: "+
		"[{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c, namespace: dns}}]\n", proxy.URL), 0o600))
	dir := t.TempDir()
	r.startServer(dir)
	api := r.running.client.KubizoneV1alpha1()
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "crash-test"}, Spec: v1alpha1.ZoneSpec{DomainName: "crash.test.",
		NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: "dns", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	must.Get(api.Zones("dns").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	must.Get(api.Delegations("dns").Create(t.Context(), &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec: v1alpha1.DelegationSpec{ZoneRef: v1alpha1.DelegatedZone{Name: "crash-test"}, Namespaces: []string{"team"},
			Records: []v1alpha1.RecordDelegation{{Pattern: "*.team"}}}}, metav1.CreateOptions{}))(t)
	for _, x := range [][3]string{{"dns", "a", "a"}, {"dns", "b", "b"}, {"team", "c", "c.team"}, {"team", "stays", "d.team"}} {
		must.Get(api.Records(x[0]).Create(t.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: x[1]},
			Spec: v1alpha1.RecordSpec{DomainName: x[2] + ".crash.test.", Type: "A", RData: "192.0.2.1"}},
			metav1.CreateOptions{FieldManager: "kubectl-create"}))(t)
	}
	want, died := r.readContent(), 0
	rounds := 1
	if rig.Long() {
		rounds = len(kills)
	}
	for round := range rounds {
		for n := 1; ; n++ {
			kill := kills[(round+n)%len(kills)]
			r.pruneZone()
			out, failed := r.runRevert(kill, n)
			if !r.killed {
				if failed != nil || n < 5 {
					t.Errorf("%d writes: %v\n%s", n-1, failed, out)
				}
				break
			}
			if died++; strings.HasPrefix(kill, "server") {
				if failed == nil || !strings.Contains(out, "this goes on: kubectl kubizone revert crash.test --deleted") {
					t.Errorf("%s write %d: %v\n%s", kill, n, failed, out)
				}
				r.startServer(dir)
			}
			if out, failed = r.runRevert("", 0); failed != nil {
				t.Fatalf("after a kill of the %s write %d: %v\n%s", kill, n, failed, out)
			}
			if got := r.readContent(); got != want {
				t.Errorf("after a kill of the %s write %d:\n%s\nwant\n%s", kill, n, got, want)
			}
			if out, failed = r.runRevert("", 0); failed != nil || !strings.Contains(out, "nothing to write") {
				t.Errorf("once more after a kill of the %s write %d: %v\n%s", kill, n, failed, out)
			}
		}
	}
	t.Logf("%d kills", died)
	must.Succeed(t, r.stopProcess())
	if out, err := exec.Command(binaries.kubizone, "fsck", "--data-dir", dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A Record of external-dns is deleted by hand and reverted. Its writer owns the Record again, and publishes a moved
// address.
func TestRevert_returnsARecordToExternalDNS(t *testing.T) {
	t.Parallel()
	b := runBridge(t)
	if code := b.runCycle(endpointOf("ingress/team-a/web www.a A 192.0.2.1")); code != http.StatusNoContent {
		t.Fatalf("%d", code)
	}
	api := b.client.KubizoneV1alpha1()
	good := must.Get(api.Zones("dns").Get(t.Context(), "example-org", metav1.GetOptions{}))(t).Status.Serial
	records := must.Get(api.Records("team-a").List(t.Context(), metav1.ListOptions{}))(t).Items
	must.Succeed(t, api.Records("team-a").Delete(t.Context(), records[0].Name, metav1.DeleteOptions{}))
	out, err := exec.Command(binaries.client, "revert", "dns/example-org", "--to", fmt.Sprint(good), "--include-managed", "--yes",
		"--kubeconfig", filepath.Join(b.dir, "kubeconfig")).CombinedOutput()
	if then := b.readContents(); err != nil || then != "team-a www.a A 192.0.2.1" {
		t.Fatalf("%v, %s\n%s", err, then, out)
	}
	if code := b.runCycle(endpointOf("ingress/team-a/web www.a A 192.0.2.9")); code != http.StatusNoContent {
		t.Errorf("%d", code)
	}
	if then := b.readContents(); then != "team-a www.a A 192.0.2.9" {
		t.Error(then)
	}
}
