// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// traced is a cluster whose server, controller and primary send spans to a collector.
type traced struct {
	*cluster
	t         *testing.T
	ctx       context.Context
	collector *rig.Collector
	server    *kuberig.Server
	config    string // the TracingConfiguration
}

func newTraced(t *testing.T, perMillion int) *traced {
	c := requireCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*waitTimeout)
	t.Cleanup(cancel)
	dir := t.TempDir()
	x := &traced{cluster: c, t: t, ctx: ctx, config: filepath.Join(dir, "tracing.yaml")}
	x.collector = rig.NeedServer(rig.StartCollector(ctx, dir))(t)
	must.Succeed(t, os.WriteFile(x.config, fmt.Appendf(nil, "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"+
		"endpoint: %s\nsamplingRatePerMillion: %d\n", x.collector.Addr, perMillion), 0o600))
	x.server = must.Get(kuberig.StartServer(ctx, filepath.Join(dir, "server"), kuberig.ServerConfig{
		Program: c.kubizone, Kube: c.kube, Kubeconfig: c.kubeconfig, Etcd: c.etcd.Endpoint, Serving: c.serving,
		Args: []string{"--tracing-config-file", x.config},
	}))(t)
	c.service.Set(x.server.Addr)
	must.Succeed(t, c.server.Stop(ctx)) // kube-apiserver's connections to it end
	must.Succeed(t, c.waitReady(ctx))
	t.Cleanup(func() {
		must.Succeed(t, errors.Join(c.startServer(context.Background()), x.server.Close()))
	})
	return x
}

func (x *traced) runKubectl(stdin string, args ...string) string {
	x.t.Helper()
	return kubectlAs(x.t, x.cluster, x.kube.AdminKubeconfig(), stdin, args...)
}

// allowSources grants what the chart grants with tracing.
func (x *traced) allowSources(name string) {
	x.t.Helper()
	must.Succeed(x.t, x.kube.Grant(x.ctx, "", "system:serviceaccount:"+kuberig.InstallNamespace+":kubizone-"+name,
		rbacv1.PolicyRule{APIGroups: []string{"kubi.zone"}, Resources: []string{"records"}, Verbs: []string{"list"}}))
}

// startBeside starts controller or primary with the rights of the installation.
func (x *traced) startBeside(name string, args ...string) *rig.Process {
	x.t.Helper()
	account := must.Get(x.kube.ServiceAccount(x.ctx, kuberig.InstallNamespace, "kubizone-"+name))(x.t)
	x.runKubectl("", "apply", "-f", "../../artifacts/deploy/"+name+"/rbac.yaml")
	b := rig.RunProcess(x.t, x.kubizone, append([]string{name, "--kubeconfig", account, "--health-listen", "127.0.0.1:0",
		"--tracing-config-file", x.config}, args...)...)
	waitUntil(x.t, name+" is ready", func() bool { return strings.Contains(b.Log(), "\nready") })
	return b
}

// webhook is the reference server behind a proxy that notes the traceparent of requests.
type webhook struct {
	*httptest.Server
	mu      sync.Mutex
	parents []string
}

func (x *traced) startWebhook(zone string) *webhook {
	dir := x.t.TempDir()
	file, secret := filepath.Join(dir, "zone"), filepath.Join(dir, "secret")
	must.Succeed(x.t, os.WriteFile(secret, []byte("known to both"), 0o600))
	must.Succeed(x.t, os.WriteFile(file, []byte("$TTL 300\n@ IN SOA ns.example.net. host.example.net. 1 7200 900 1209600 300\n"+
		"@ IN NS ns.example.net.\n"), 0o600))
	at := must.Get(rig.FreePort())(x.t)
	rig.RunProcess(x.t, must.Get(rig.WebhookServer(x.ctx, dir))(x.t), "--listen", at.String(), "--hmac-secret-file", secret,
		"--zone-file", zone+"="+file, "--zone-check=", "--zone-reload=")
	w := &webhook{}
	proxy := httputil.NewSingleHostReverseProxy(must.Get(url.Parse("http://" + at.String()))(x.t))
	w.Server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		w.mu.Lock()
		w.parents = append(w.parents, request.Header.Get("traceparent"))
		w.mu.Unlock()
		proxy.ServeHTTP(answer, request)
	}))
	x.t.Cleanup(w.Close)
	return w
}

func (w *webhook) hasParent(traceID string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.parents, func(parent string) bool { return strings.HasPrefix(parent, "00-"+traceID+"-") })
}

var traceparent = regexp.MustCompile(`"traceparent":"00-([0-9a-f]{32})-[0-9a-f]{16}-01"`)

func (x *traced) readChanges(namespace string) string {
	return x.runKubectl("", "get", "--raw", "/apis/kubi.zone/v1alpha1/namespaces/"+namespace+"/zones/main/changes?sources=true")
}

// createAt sends a Record past kube-apiserver with a traceparent of the client.
func (x *traced) createAt(kubeconfig, namespace, name, parent string) {
	x.t.Helper()
	config := must.Get(x.server.Direct(kubeconfig))(x.t)
	body := fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":%[1]q},"spec":{"domainName":%[1]q,
		"zoneRef":{"name":"main"},"type":"A","rdata":"192.0.2.1"}}`, name)
	request := must.Get(http.NewRequestWithContext(x.ctx, http.MethodPost, config.Host+"/apis/kubi.zone/v1alpha1/namespaces/"+namespace+
		"/records", strings.NewReader(body)))(x.t)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("traceparent", parent)
	response := must.Get(httpClient(x.t, config).Do(request))(x.t)
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		x.t.Fatalf("%s: %s", name, response.Status)
	}
}

// A client can mark its request as sampled in the traceparent header. A tenant's mark does not count, and the server's
// own rate decides, here never; only system:masters can force a trace. A primary without the right to list Records
// serves without traces, and its log names the missing right.
func TestTraces_sampleForeignParentsByOurRate(t *testing.T) {
	x := newTraced(t, 0)
	const namespace, zone = "untraced", "untraced.example."
	must.Succeed(t, x.kube.Namespace(x.ctx, namespace))
	tenant := must.Get(x.kube.Tenant("untraced-tenant"))(t)
	must.Succeed(t, x.kube.Bind(x.ctx, namespace, "untraced-tenant", "kubizone-record-editor"))
	dns := must.Get(rig.FreePort())(t)
	primary := x.startBeside("primary", "--dns-listen", dns.String())
	x.runKubectl(fmt.Sprintf(`{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: main, namespace: %[1]s}, spec: {
  domainName: %[2]s, nameServers: [{name: ns.example.net.}], delegations: [{namespace: %[1]s, records: [{pattern: "*"}]}]}}`,
		namespace, zone), "create", "-f", "-")
	const sampled = "0af7651916cd43dd8448eb211c80319c"
	x.createAt(tenant, namespace, "tenant", "00-"+sampled+"-b7ad6b7169203331-01")
	if changes := x.readChanges(namespace); strings.Contains(changes, "traceparent") {
		t.Errorf("a tenant made a trace:\n%s", changes)
	}
	x.createAt(x.kube.AdminKubeconfig(), namespace, "admin", "00-"+sampled+"-b7ad6b7169203331-01")
	if changes := x.readChanges(namespace); len(traceparent.FindAllString(changes, -1)) != 1 || !strings.Contains(changes, sampled) {
		t.Errorf("system:masters made no trace:\n%s", changes)
	}
	waitUntil(t, "the primary has both", func() bool {
		at, ok, err := (rig.Dig{Server: dns}).Serial(x.ctx, zone)
		return err == nil && ok && strings.Contains(x.readChanges(namespace), fmt.Sprintf(`"until":%d,`, at))
	})
	if log := primary.Log(); !strings.Contains(log, "allow this account to list records") {
		t.Error("the primary does not say why it has no traces")
	}
}

// A write by kubectl is a single trace from the request to the secondary and the webhook, of three processes. No span
// has record data.
func TestTraces_connectKubectlToTheNameServers(t *testing.T) {
	x := newTraced(t, 1_000_000)
	const namespace, zone = "traced", "traced.example."
	must.Succeed(t, x.kube.Namespace(x.ctx, namespace))
	dns := must.Get(rig.FreePort())(t)
	secondary := rig.NeedServer(rig.StartBIND(x.ctx, rig.BINDConfig{Secondaries: []rig.SecondaryZone{{Zone: zone, Primary: dns}}}))(t)
	hook := x.startWebhook(zone)
	x.runKubectl("", "create", "secret", "generic", "hook", "-n", namespace, "--from-literal=key=known to both")
	must.Succeed(t, x.kube.Grant(x.ctx, namespace, "system:serviceaccount:"+kuberig.InstallNamespace+":kubizone-controller",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"},
			ResourceNames: []string{"hook"}}))
	x.allowSources("primary")
	x.allowSources("controller")
	x.startBeside("primary", "--dns-listen", dns.String(), "--transfer-allow", "192.0.2.0/24")
	x.startBeside("controller", "--lease-duration", lease)
	x.runKubectl(describeTraced(namespace, zone, hook.URL, secondary.Addr), "apply", "-f", "-")
	x.runKubectl("", "wait", "-n", namespace, "--for=condition=Ready", "zone/main", "--timeout=3m")

	const rdata = "192.0.2.177"
	x.runKubectl(fmt.Sprintf(`{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: www, namespace: %s}, spec: {domainName: www,
  zoneRef: {name: main}, type: A, rdata: %s}}`, namespace, rdata), "create", "-f", "-")
	x.runKubectl("", "wait", "-n", namespace, "--for=condition=Ready", "record/www", "--timeout=3m")
	changes := x.readChanges(namespace)
	parents := traceparent.FindAllStringSubmatch(changes, -1)
	if len(parents) < 2 {
		t.Fatalf("the step has no traceparent of 55 octets:\n%s", changes)
	}
	traceID := parents[len(parents)-1][1]
	want := map[string][]string{
		"kubizone-apiserver": {"POST /apis/kubi.zone/v1alpha1/namespaces/{:namespace}/records", "Admission mutating",
			"Admission validating", "Commit", "Queue", "Law", "Batch", "Transaction", "etcdserverpb.KV/Txn"},
		"kubizone-primary":    {"NOTIFY", "ixfr"},
		"kubizone-controller": {"Deliver", "POST", "Confirmed", "Confirmed"},
	}
	waitUntil(t, "all spans have arrived", func() bool {
		found := x.collector.Spans()
		for service, names := range want {
			for _, name := range names {
				i := slices.IndexFunc(found, func(s rig.Span) bool {
					return s.TraceID == traceID && s.Service == service && s.Name == name
				})
				if i < 0 {
					return false
				}
				found = slices.Delete(found, i, i+1)
			}
		}
		return true
	})
	spans := x.collector.Spans()
	t.Logf("\n%s", rig.Tree(spans, traceID))
	known := map[string]bool{}
	for _, span := range spans {
		known[span.SpanID] = true
	}
	for _, span := range spans {
		if span.TraceID != traceID {
			continue
		}
		if !known[span.ParentSpanID] && span.Name != "authentication" { // upstream's first
			t.Errorf("%s of %s has no parent in the trace", span.Name, span.Service)
		}
		linked := []string{"Batch", "Transaction", "NOTIFY", "ixfr", "Deliver", "Confirmed"}
		if slices.Contains(linked, span.Name) && len(span.Links) == 0 {
			t.Errorf("%s of %s links to no cause", span.Name, span.Service)
		}
	}
	if !hook.hasParent(traceID) {
		t.Errorf("the webhook got no traceparent of trace %s: %q", traceID, hook.parents)
	}
	if strings.Contains(x.collector.Raw(), rdata) {
		t.Error("a span has the record's data")
	}
}

func describeTraced(namespace, zone, hook string, secondary netip.AddrPort) string {
	return fmt.Sprintf(`
{apiVersion: kubi.zone/v1alpha1, kind: DNSClass, metadata: {name: traced-hook}, spec: {namespaces: {names: [%[1]s]},
  allowLocalAddresses: true, webhook: {server: %[3]q, hmacAuth: {secretRef: {name: hook, namespace: %[1]s, key: key}}}}}
---
{apiVersion: kubi.zone/v1alpha1, kind: DNSClass, metadata: {name: traced-transfer}, spec: {namespaces: {names: [%[1]s]},
  allowLocalAddresses: true, transfer: {secondaries: [{address: %[4]q}]}}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: main, namespace: %[1]s}, spec: {domainName: %[2]s,
  dnsClassRefs: [{name: traced-hook}, {name: traced-transfer}], nameServers: [{name: ns.example.net.}],
  delegations: [{namespace: %[1]s, records: [{pattern: "*"}]}]}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: first, namespace: %[1]s}, spec: {domainName: first, zoneRef: {name: main},
  type: A, rdata: 192.0.2.1}}
`, namespace, zone, hook, secondary.String())
}
