// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// dnsEndpoints is the kind of external-dns' source crd, reduced to the fields that the source reads.
const dnsEndpoints = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: dnsendpoints.externaldns.k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes-sigs/external-dns/pull/2007"}
spec:
  group: externaldns.k8s.io
  names: {kind: DNSEndpoint, listKind: DNSEndpointList, plural: dnsendpoints, singular: dnsendpoint}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

var dnsEndpointResource = schema.GroupVersionResource{Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsendpoints"}

var sources = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"services", "pods", "nodes", "namespaces"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"ingresses"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"externaldns.k8s.io"}, Resources: []string{"dnsendpoints"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"gateway.networking.k8s.io"}, Resources: []string{"httproutes", "gateways"},
		Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"externaldns.k8s.io"}, Resources: []string{"dnsendpoints/status"}, Verbs: []string{"update"}},
}

type pair struct {
	t        *testing.T
	cluster  *cluster
	core     kubernetes.Interface
	objects  dynamic.Interface
	records  versioned.Interface
	external *rig.Process
	// run ends the names of namespaces and labels of a run, as tests share a cluster.
	run string
}

func kubectlAs(t *testing.T, c *cluster, kubeconfig, stdin string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), c.kubectl, append([]string{"--kubeconfig", kubeconfig}, args...)...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func readRoles(t *testing.T) string {
	t.Helper()
	text := string(must.Get(os.ReadFile("../../charts/kubizone/templates/external-dns/rbac.yaml"))(t))
	_, text, _ = strings.Cut(text, "{{- if .Values.externalDNS.enabled }}")
	text, _, ok := strings.Cut(text, "{{- range")
	if !ok || strings.Contains(text, "{{") {
		t.Fatalf("the roles of the chart are not read right:\n%s", text)
	}
	return text
}

// startPair grants the account of external-dns the rights of both charts.
func startPair(t *testing.T, c *cluster, local *kuberig.Kube, run, external string, arguments ...string) *pair {
	t.Helper()
	program := rig.Need(rig.Tool("external-dns"))(t)
	ctx := t.Context()
	core, objects := makeClients(t, local.Admin())
	p := &pair{t: t, cluster: c, core: core, objects: objects, run: run, records: must.Get(versioned.NewForConfig(c.kube.Admin()))(t)}
	kubeconfig := must.Get(local.ServiceAccount(ctx, "external-dns-"+run, "external-dns"))(t)
	user := "system:serviceaccount:external-dns-" + run + ":external-dns"
	must.Succeed(t, local.Grant(ctx, "", user, sources...))
	kubectlAs(t, c, local.AdminKubeconfig(), readRoles(t), "apply", "-f", "-")
	for _, role := range []string{"kubizone-external-dns", "kubizone-external-dns-namespaces"} {
		kubectlAs(t, c, local.AdminKubeconfig(), "", "create", "clusterrolebinding", role+"-"+run, "--clusterrole="+role, "--user="+user)
	}
	kubectlAs(t, c, local.AdminKubeconfig(), dnsEndpoints, "apply", "-f", "-")
	kubectlAs(t, c, local.AdminKubeconfig(), "", "wait", "--for=condition=Established", "crd/dnsendpoints.externaldns.k8s.io")

	serving := regexp.MustCompile(`(?m)^ready: serving external-dns on (\S+)`)
	if !slices.Contains(arguments, "--kubeconfig") {
		arguments = append(arguments, "--kubeconfig", kubeconfig)
	}
	provider := must.Get(rig.StartProcess(nil, t.TempDir(), c.kubizone, append([]string{"external-dns", "-v=1", "--listen", "127.0.0.1:0",
		"--health-listen", "127.0.0.1:0", "--owner", run}, arguments...)...))(t)
	t.Cleanup(provider.End)
	waitUntil(p.t, "the webhook provider serves", func() bool { return serving.MatchString(provider.Log()) })
	url := serving.FindStringSubmatch(provider.Log())[1]
	p.external = must.Get(rig.StartProcess(nil, t.TempDir(), program, append(strings.Fields(external), "--provider=webhook",
		"--webhook-provider-url", url, "--source=service", "--source=ingress", "--source=crd", "--interval=1s",
		"--kubeconfig", kubeconfig, "--metrics-address", must.Get(rig.FreePort())(t).String(),
		"--label-filter=run in (all,"+run+")")...))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("external-dns:\n%s\nwebhook provider:\n%s", p.external.Log(), provider.Log())
		}
		p.external.End()
	})
	t.Cleanup(func() {
		select {
		case <-p.external.Ended():
			t.Errorf("external-dns has ended: %v", p.external.Err())
		default:
		}
	})
	return p
}

func (p *pair) waitForLines(count int, text string) {
	p.t.Helper()
	before := strings.Count(p.external.Log(), text)
	for n := range count {
		waitUntil(p.t, fmt.Sprintf("external-dns says %q %d times", text, n+1), func() bool {
			return strings.Count(p.external.Log(), text) > before+n
		})
	}
}

const (
	inOrder  = "All records are already up to date"
	syncNoop = "--registry=noop --policy=sync"
)

func (p *pair) makeNamespace(name string) string {
	p.t.Helper()
	_, err := p.core.CoreV1().Namespaces().Create(p.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + p.run}},
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		p.t.Fatal(err)
	}
	return name + "-" + p.run
}

func (p *pair) makeMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"run": p.run}}
}

// bindWriter creates the RoleBinding of docs/external-dns.md.
func (p *pair) bindWriter(namespaces ...string) {
	p.t.Helper()
	for _, namespace := range namespaces {
		kubectlAs(p.t, p.cluster, p.cluster.kube.AdminKubeconfig(), "", "create", "rolebinding", "-n", namespace, "kubizone-external-dns",
			"--clusterrole=kubizone-external-dns-writer", "--serviceaccount=external-dns-"+p.run+":external-dns")
	}
}

func (p *pair) listVersions(namespace string) map[string]string {
	p.t.Helper()
	versions := map[string]string{}
	for _, r := range must.Get(p.records.KubizoneV1alpha1().Records(namespace).List(p.t.Context(), metav1.ListOptions{}))(p.t).Items {
		versions[r.Name] = string(r.UID) + r.ResourceVersion
	}
	return versions
}

func (p *pair) makeService(namespace, name, host, address string) {
	p.t.Helper()
	meta := p.makeMeta(namespace, name)
	meta.Annotations = map[string]string{"external-dns.kubernetes.io/hostname": host, "external-dns.alpha.kubernetes.io/hostname": host}
	services := p.core.CoreV1().Services(namespace)
	must.Get(services.Create(p.t.Context(), &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 443}}}}, metav1.CreateOptions{}))(p.t)
	if address != "" {
		p.setAddress(namespace, name, address)
	}
}

func (p *pair) setAddress(namespace, name, address string) {
	p.t.Helper()
	must.Get(p.core.CoreV1().Services(namespace).Patch(p.t.Context(), name, types.MergePatchType,
		[]byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"`+address+`"}]}}}`), metav1.PatchOptions{}, "status"))(p.t)
}

func (p *pair) makeIngress(namespace, name, host, address string) {
	p.t.Helper()
	ingresses := p.core.NetworkingV1().Ingresses(namespace)
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "x",
		Port: networkingv1.ServiceBackendPort{Number: 80}}}
	made := must.Get(ingresses.Create(p.t.Context(), &networkingv1.Ingress{ObjectMeta: p.makeMeta(namespace, name),
		Spec: networkingv1.IngressSpec{DefaultBackend: &backend, Rules: []networkingv1.IngressRule{{Host: host}}}},
		metav1.CreateOptions{}))(p.t)
	made.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: address}}
	must.Get(ingresses.UpdateStatus(p.t.Context(), made, metav1.UpdateOptions{}))(p.t)
}

func (p *pair) makeEndpoint(namespace, name, host, target string, labels map[string]any) {
	p.t.Helper()
	meta := map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{"run": p.run}}
	must.Get(p.objects.Resource(dnsEndpointResource).Namespace(namespace).Create(p.t.Context(), &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint", "metadata": meta,
			"spec": map[string]any{"endpoints": []any{map[string]any{"dnsName": host, "recordType": "A", "targets": []any{target},
				"labels": labels}}}}}, metav1.CreateOptions{}))(p.t)
}

func (p *pair) readRecords(namespace string) string {
	p.t.Helper()
	var lines []string
	for _, r := range must.Get(p.records.KubizoneV1alpha1().Records(namespace).List(p.t.Context(), metav1.ListOptions{}))(p.t).Items {
		lines = append(lines, strings.TrimSuffix(r.Spec.DomainName, ".")+" "+strings.Join(r.Spec.Values, ","))
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

func (p *pair) waitForRecords(namespace, want string) {
	p.t.Helper()
	var has string
	for end := time.Now().Add(waitTimeout); ; time.Sleep(100 * time.Millisecond) {
		if has = p.readRecords(namespace); has == want {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s never has %q but %q", namespace, want, has)
		}
	}
}

func (p *pair) waitForEvent(namespace, kind, name, text string) {
	p.t.Helper()
	waitUntil(p.t, fmt.Sprintf("Event of %s %s/%s with %q", kind, namespace, name, text), func() bool {
		all := must.Get(p.core.CoreV1().Events(namespace).List(p.t.Context(), metav1.ListOptions{}))(p.t)
		return slices.ContainsFunc(all.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name && e.InvolvedObject.UID != "" && e.Type == "Warning" &&
				strings.Contains(e.Message, text)
		})
	})
}

// makeZone also delegates a subtree to each namespace.
func (p *pair) makeZone(namespace, fqdn string, tenants map[string]string) {
	p.t.Helper()
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: strings.TrimSuffix(fqdn, ".")},
		Spec: v1alpha1.ZoneSpec{DomainName: fqdn, NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}}}
	for tenant, label := range tenants {
		zone.Spec.Delegations = append(zone.Spec.Delegations, v1alpha1.DelegationRule{Namespace: tenant,
			Records: []v1alpha1.RecordDelegation{{Pattern: label}, {Pattern: "*." + label}}})
	}
	must.Get(p.records.KubizoneV1alpha1().Zones(namespace).Create(p.t.Context(), zone, metav1.CreateOptions{}))(p.t)
	p.t.Cleanup(func() { deleteZone(p.t, p.records, namespace, zone.Name) })
}

func deleteZone(t *testing.T, records versioned.Interface, namespace, name string) {
	t.Helper()
	zones := records.KubizoneV1alpha1().Zones(namespace)
	is, err := zones.Get(context.Background(), name, metav1.GetOptions{})
	if err == nil {
		is.Annotations = map[string]string{v1alpha1.AnnotationDelete: string(is.UID)}
		_, err = zones.Update(context.Background(), is, metav1.UpdateOptions{})
	}
	if err == nil {
		err = zones.Delete(context.Background(), name, metav1.DeleteOptions{})
	}
	if err != nil {
		t.Error(err)
	}
}

func requireRealParts(t *testing.T) *cluster {
	t.Helper()
	rig.Need(rig.Tool("external-dns"))(t)
	return requireCluster(t)
}

// The real external-dns serves tenants in one cluster. Each object's name is a Record in the same namespace, or the
// object gets an Event with the reason, and no tenant affects another's names (attacks: another tenant's name, a
// forged label, an own address in another's RRset, no RoleBinding).
func TestExternalDNS_servesTenants(t *testing.T) {
	c := requireRealParts(t)
	applyGateway(t, c)
	p := startPair(t, c, c.kube, "tenants", syncNoop+" --source=gateway-httproute")
	dns, a, b, unbound := p.makeNamespace("dns"), p.makeNamespace("team-a"), p.makeNamespace("team-b"), p.makeNamespace("unbound")
	p.bindWriter(a, b)
	p.makeZone(dns, "tenants.example.", map[string]string{a: "a", b: "b", unbound: "u"})

	p.makeService(a, "web", "web.a.tenants.example", "192.0.2.1")
	p.makeIngress(a, "shop", "shop.a.tenants.example", "192.0.2.2")
	p.makeEndpoint(b, "api", "api.b.tenants.example", "192.0.2.3", nil)
	p.makeRoute(dns, b, "route.b.tenants.example", "192.0.2.5")
	p.makeIngress(unbound, "www", "www.u.tenants.example", "192.0.2.4")
	// A label with another namespace, another tenant's name, and an existing name of another tenant with an own
	// address, which external-dns joins to the tenant's.
	p.makeEndpoint(b, "forged", "forged.b.tenants.example", "203.0.113.6", map[string]any{"resource": "ingress/" + a + "/shop"})
	p.makeIngress(b, "stolen", "stolen.a.tenants.example", "203.0.113.6")
	p.makeIngress(b, "joined", "shop.a.tenants.example", "203.0.113.6")

	p.waitForRecords(a, "shop.a.tenants.example 192.0.2.2; web.a.tenants.example 192.0.2.1")
	p.waitForRecords(b, "api.b.tenants.example 192.0.2.3; forged.b.tenants.example 203.0.113.6; route.b.tenants.example 192.0.2.5")
	p.waitForEvent(b, "Ingress", "stolen", "does not delegate A at stolen.a.tenants.example.")
	p.waitForEvent(b, "Ingress", "joined", "another object has this name")
	p.waitForEvent(unbound, "Ingress", "www", "kubectl create rolebinding -n "+unbound)
	p.waitForRecords(unbound, "")
	p.bindWriter(unbound)
	p.waitForRecords(unbound, "www.u.tenants.example 192.0.2.4")
	p.waitForRecords(a, "shop.a.tenants.example 192.0.2.2; web.a.tenants.example 192.0.2.1")

	// A Record from kubizone v0's ingress mirroring exists beside, until the page's command.
	shop := must.Get(p.core.NetworkingV1().Ingresses(a).Get(t.Context(), "shop", metav1.GetOptions{}))(t)
	mirrored := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "shop-shop-a-tenants-example-192-0-2-2",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "shop", UID: shop.UID}}},
		Spec: v1alpha1.RecordSpec{DomainName: "shop.a.tenants.example.", Type: "A", Values: []string{"192.0.2.2"}}}
	must.Get(p.records.KubizoneV1alpha1().Records(a).Create(t.Context(), mirrored, metav1.CreateOptions{}))(t)
	_, command, _ := strings.Cut(readPage(t), "```sh\n")
	command, _, _ = strings.Cut(command, "```")
	runCommand(t, c, command)
	p.waitForRecords(a, "shop.a.tenants.example 192.0.2.2; web.a.tenants.example 192.0.2.1")

	must.Succeed(t, p.core.NetworkingV1().Ingresses(a).Delete(t.Context(), "shop", metav1.DeleteOptions{}))
	must.Succeed(t, p.core.NetworkingV1().Ingresses(b).Delete(t.Context(), "joined", metav1.DeleteOptions{}))
	p.waitForRecords(a, "web.a.tenants.example 192.0.2.1")
}

func applyGateway(t *testing.T, c *cluster) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "sigs.k8s.io/gateway-api")
	list.Dir, list.Env = "../../hack/tools/external-dns", append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var module struct{ Dir string }
	must.Succeed(t, json.Unmarshal(must.Get(list.Output())(t), &module))
	for _, kind := range []string{"gateways", "httproutes"} {
		kubectlAs(t, c, c.kube.AdminKubeconfig(), "", "apply", "--server-side", "-f",
			filepath.Join(module.Dir, "config/crd/standard/gateway.networking.k8s.io_"+kind+".yaml"))
		kubectlAs(t, c, c.kube.AdminKubeconfig(), "", "wait", "--for=condition=Established", "crd/"+kind+".gateway.networking.k8s.io")
	}
}

// makeRoute creates a Gateway with an address, and an accepted HTTPRoute of another namespace.
func (p *pair) makeRoute(platform, tenant, host, address string) {
	p.t.Helper()
	at := `,"observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"x","message":""`
	for _, one := range []struct{ kind, namespace, spec, status string }{
		{"Gateway", platform, `"gatewayClassName":"x","listeners":[{"name":"http","port":80,"protocol":"HTTP","allowedRoutes":` +
			`{"namespaces":{"from":"All"}}}]`, `"addresses":[{"type":"IPAddress","value":"` + address + `"}]`},
		{"HTTPRoute", tenant, `"hostnames":["` + host + `"],"parentRefs":[{"name":"x","namespace":"` + platform + `"}]`,
			`"parents":[{"controllerName":"example.org/x","parentRef":{"name":"x","namespace":"` + platform + `"},` +
				`"conditions":[{"type":"Accepted","status":"True"` + at + `}]}]`},
	} {
		object := fmt.Sprintf(`{"apiVersion":"gateway.networking.k8s.io/v1","kind":%q,"metadata":{"name":"x","namespace":%q,`+
			`"labels":{"run":%q}},"spec":{%s}}`, one.kind, one.namespace, p.run, one.spec)
		kubectlAs(p.t, p.cluster, p.cluster.kube.AdminKubeconfig(), object, "apply", "-f", "-")
		kubectlAs(p.t, p.cluster, p.cluster.kube.AdminKubeconfig(), "", "patch", strings.ToLower(one.kind), "-n", one.namespace, "x",
			"--subresource=status", "--type=merge", "-p", `{"status":{`+one.status+`}}`)
	}
}

var away = flag.Duration("away", 0, "for how long Kubizone is away from external-dns, at least; 0: for a hundred cycles")

// failedInARow matches external-dns' log of a failed cycle, and of the first successful cycle afterwards.
var failedInARow = regexp.MustCompile(`(succeeded after|soft errors:) (\d+)`)

func (p *pair) countFailures() (failed int, over bool) {
	p.t.Helper()
	counted := failedInARow.FindAllStringSubmatch(p.external.Log(), -1)
	if len(counted) == 0 {
		return 0, false
	}
	last := counted[len(counted)-1]
	return must.Get(strconv.Atoi(last[2]))(p.t), strings.HasPrefix(last[1], "succeeded")
}

// E4, X2: two namespaces claim one host, with the same target and with two. A hundred cycles write nothing. Then
// Kubizone is down: external-dns neither exits nor deletes, and the first successful cycle writes all changes.
func TestExternalDNS_servesCalmly(t *testing.T) {
	c := requireRealParts(t)
	p := startPair(t, c, c.kube, "calm", syncNoop)
	dns, a, b := p.makeNamespace("dns"), p.makeNamespace("team-a"), p.makeNamespace("team-b")
	p.bindWriter(a, b)
	p.makeZone(dns, "calm.example.", map[string]string{a: "a", b: "b"})
	p.makeIngress(a, "web", "web.a.calm.example", "192.0.2.1")
	p.makeIngress(a, "shop", "shop.a.calm.example", "192.0.2.1")
	p.waitForRecords(a, "shop.a.calm.example 192.0.2.1; web.a.calm.example 192.0.2.1")
	p.makeIngress(b, "web", "web.a.calm.example", "192.0.2.1")
	p.makeIngress(b, "shop", "shop.a.calm.example", "192.0.2.2")
	p.waitForEvent(b, "Ingress", "shop", "another object has this name")
	before := p.listVersions(a)
	p.waitForLines(100, inOrder)
	if after := p.listVersions(a); !maps.Equal(before, after) {
		t.Errorf("written: %v, %v", before, after)
	}
	p.waitForRecords(b, "")

	must.Succeed(t, c.server.Stop(t.Context()))
	back := sync.OnceFunc(func() {
		must.Succeed(t, c.startServer(context.Background()))
		_, _, err := c.kube.WaitAvailable(context.Background(), true)
		must.Succeed(t, err)
	})
	t.Cleanup(back)
	p.makeIngress(a, "late", "late.a.calm.example", "192.0.2.3")
	for _, namespace := range []string{a, b} { // both, since either may be chosen for a shared name
		must.Succeed(t, p.core.NetworkingV1().Ingresses(namespace).Delete(t.Context(), "shop", metav1.DeleteOptions{}))
	}
	began, failed := time.Now(), 0
	for failed < 100 || time.Since(began) < *away {
		before := failed
		waitUntil(p.t, fmt.Sprintf("a cycle after %d that failed fails", before), func() bool {
			now, over := p.countFailures()
			if !over {
				failed = now
			}
			return failed > before
		})
	}
	gone := time.Since(began)
	back()
	waitUntil(p.t, "a cycle succeeds", func() bool {
		var over bool
		failed, over = p.countFailures()
		return over
	})
	if has := p.readRecords(a); has != "late.a.calm.example 192.0.2.3; web.a.calm.example 192.0.2.1" {
		t.Errorf("after the first cycle: %s", has)
	}
	t.Logf("Kubizone was away for %s, and %d cycles of one process failed", gone.Round(time.Second), failed)
	const web = "ext--web.a.calm.example-a.calm"
	if after := p.listVersions(a); before[web] == "" || after[web] != before[web] {
		t.Errorf("written: %v, %v", before, after)
	}
	p.waitForLines(5, inOrder)
}

// external-dns works with the registry txt, although its TXT records are in no zone, and with the policy upsert-only,
// which deletes nothing.
func TestExternalDNS_servesRegistries(t *testing.T) {
	c := requireRealParts(t)
	dns := (&pair{t: t, run: "txt", core: must.Get(kubernetes.NewForConfig(c.kube.Admin()))(t)}).makeNamespace("dns")
	for _, one := range []struct{ run, external, end string }{
		{"txt", "--registry=txt --txt-owner-id=x --policy=sync", ""},
		{"both", "--registry=txt --txt-owner-id=y --policy=upsert-only", "web.both.txt.example 192.0.2.2"},
	} {
		t.Run(one.run, func(t *testing.T) {
			p := startPair(t, c, c.kube, one.run, one.external)
			a := p.makeNamespace("team-a")
			p.bindWriter(a)
			p.makeZone(dns, one.run+".txt.example.", map[string]string{a: "web"})
			host := "web." + one.run + ".txt.example"
			p.makeService(a, "web", host, "192.0.2.1")
			p.waitForRecords(a, host+" 192.0.2.1")
			p.waitForLines(3, inOrder)
			p.setAddress(a, "web", "192.0.2.2")
			p.waitForRecords(a, host+" 192.0.2.2")
			p.waitForLines(3, inOrder)
			must.Succeed(t, p.core.CoreV1().Services(a).Delete(t.Context(), "web", metav1.DeleteOptions{}))
			p.waitForRecords(a, one.end)
			p.waitForLines(3, inOrder)
			p.waitForRecords(a, one.end)
			if one.end != "" { // external-dns owns its old records, and updates them again
				p.makeService(a, "web", host, "192.0.2.3")
				p.waitForRecords(a, host+" 192.0.2.3")
			}
		})
	}
}

// With --create-ptr, external-dns also asks for PTR records. A namespace gets those for its own hosts if the reverse
// zone delegates the name to it; otherwise the Service gets an Event.
func TestExternalDNS_servesPointers(t *testing.T) {
	c := requireRealParts(t)
	p := startPair(t, c, c.kube, "ptr", syncNoop+" --create-ptr --managed-record-types=A --managed-record-types=PTR")
	dns, a, b := p.makeNamespace("dns"), p.makeNamespace("team-a"), p.makeNamespace("team-b")
	p.bindWriter(a, b)
	p.makeZone(dns, "ptr.example.", map[string]string{a: "a", b: "b"})
	p.makeZone(dns, "100.51.198.in-addr.arpa.", map[string]string{a: "1"})
	p.makeService(a, "web", "web.a.ptr.example", "198.51.100.1")
	p.makeService(b, "web", "web.b.ptr.example", "198.51.100.2")
	p.waitForRecords(a, "1.100.51.198.in-addr.arpa web.a.ptr.example.; web.a.ptr.example 198.51.100.1")
	p.waitForRecords(b, "web.b.ptr.example 198.51.100.2")
	p.waitForEvent(b, "Service", "web", "does not delegate PTR at 2.100.51.198.in-addr.arpa.")
	must.Succeed(t, p.core.CoreV1().Services(a).Delete(t.Context(), "web", metav1.DeleteOptions{}))
	p.waitForRecords(a, "")
}

func readPage(t *testing.T) string {
	t.Helper()
	return string(must.Get(os.ReadFile("../../docs/external-dns.md"))(t))
}

func runCommand(t *testing.T, c *cluster, command string) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "bash", "-c", "set -euo pipefail\n"+command)
	shell.Env = append(os.Environ(), "KUBECONFIG="+c.kube.AdminKubeconfig(), "PATH="+filepath.Dir(c.kubectl)+":"+os.Getenv("PATH"))
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func readCommands(t *testing.T, name string) (commands []string) {
	t.Helper()
	for line := range strings.Lines(readPage(t)) {
		if command := strings.TrimSpace(line); strings.HasPrefix(command, "kubectl ") && strings.Contains(command, "paris") {
			commands = append(commands, strings.ReplaceAll(command, "paris", name))
		}
	}
	if len(commands) != 4 {
		t.Fatalf("the page has other commands than the test knows: %q", commands)
	}
	return commands
}

// Several clusters share one DNS: external-dns reads its local kube-apiserver, and writes Records at a central
// cluster, in namespaces labelled for the local cluster. The local objects report missing rights. Two clusters write
// an RRset together, and the documented command removes one cluster's records.
func TestExternalDNS_servesAnotherCluster(t *testing.T) {
	c := requireRealParts(t)
	ctx := t.Context()
	local := must.Get(kuberig.StartKube(ctx, filepath.Join(t.TempDir(), "local"), kuberig.KubeConfig{}))(t)
	t.Cleanup(func() { _ = local.Close() })
	kubectlAs(t, c, c.kube.AdminKubeconfig(), readRoles(t), "apply", "-f", "-")
	admin := func(command string) {
		t.Helper()
		runCommand(t, c, command)
	}
	admin("kubectl create namespace dns-far")
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns-far", Name: "far.example"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "far.example.", NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{{Namespaces: []string{"paris-team-a", "berlin-team-a"},
			Records: []v1alpha1.RecordDelegation{{Pattern: "*", Shared: true}}}}}}
	records := must.Get(versioned.NewForConfig(c.kube.Admin()))(t)
	must.Get(records.KubizoneV1alpha1().Zones("dns-far").Create(ctx, zone, metav1.CreateOptions{}))(t)
	t.Cleanup(func() { deleteZone(t, records, "dns-far", "far.example") })

	// Berlin has another load balancer.
	pairs := map[string]*pair{}
	for name, targets := range map[string]string{"paris": "", "berlin": " --force-default-targets --default-targets=192.0.2.7"} {
		central := must.Get(c.kube.ServiceAccount(ctx, "clusters", name))(t)
		localConfig := must.Get(local.ServiceAccount(ctx, "external-dns-"+name, "external-dns"))(t)
		admin(readCommands(t, name)[0])
		pairs[name] = startPair(t, c, local, name, syncNoop+targets, "--kubeconfig", central, "--local-kubeconfig", localConfig,
			"--cluster", name, "--namespace-template", "{cluster}-{namespace}")
	}
	p := pairs["paris"]
	p.run = "all"
	for _, namespace := range []string{"team-a", "unlabelled", strings.Repeat("x", 60)} {
		must.Succeed(t, local.Namespace(ctx, namespace))
	}
	admin("kubectl create namespace paris-unlabelled")
	p.makeIngress("team-a", "web", "web.far.example", "192.0.2.1")
	p.makeIngress("unlabelled", "web", "u.far.example", "192.0.2.2")
	p.makeIngress(strings.Repeat("x", 60), "web", "x.far.example", "192.0.2.2")
	p.waitForEvent("team-a", "Ingress", "web", readCommands(t, "paris")[1])
	p.waitForEvent("unlabelled", "Ingress", "web", "kubectl label namespace paris-unlabelled kubi.zone/cluster=paris")
	p.waitForEvent(strings.Repeat("x", 60), "Ingress", "web", "shorter --namespace-template")
	for name := range pairs {
		for _, command := range readCommands(t, name)[1:3] {
			admin(command)
		}
	}
	p.waitForRecords("paris-team-a", "web.far.example 192.0.2.1")
	p.waitForRecords("berlin-team-a", "web.far.example 192.0.2.7")
	p.waitForRecords("paris-unlabelled", "")

	own := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "paris-team-a", Name: "own"},
		Spec: v1alpha1.RecordSpec{DomainName: "own.far.example.", Type: "A", Values: []string{"192.0.2.9"}}}
	must.Get(p.records.KubizoneV1alpha1().Records(own.Namespace).Create(ctx, own, metav1.CreateOptions{}))(t)
	// The cluster dies: its external-dns no longer acts, and its records stay until the command.
	must.Succeed(t, p.external.Pause())
	p.waitForRecords("paris-team-a", "own.far.example 192.0.2.9; web.far.example 192.0.2.1")
	admin(readCommands(t, "paris")[3])
	p.waitForRecords("paris-team-a", "own.far.example 192.0.2.9")
	pairs["berlin"].waitForLines(3, inOrder)
	p.waitForRecords("berlin-team-a", "web.far.example 192.0.2.7")
}
