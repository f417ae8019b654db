// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package oncall

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
	"kubi.zone/kubizone/test/rig/noderig"
)

const (
	team, platform = "team", "platform"
	// host is this machine as pods reach it.
	host = noderig.Host
	// quota of etcd, in octets.
	quota       = 48 << 20
	waitTimeout = 8 * time.Minute
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(noderig.Main(m, func(ctx context.Context, dir string) (noderig.Programs, error) {
		for program, install := range map[string]string{"named": "apt-get install bind9", "promtool": "hack/install-peers.sh"} {
			if _, err := rig.Find(program, install); err != nil {
				return nil, err
			}
		}
		kubizone, err := rig.Kubizone(ctx, dir, "")
		return noderig.Programs{"kubizone": kubizone}, err
	}))
}

// world is a cluster with an installation in the mode external-etcd, so that each process has a pod of its own.
type world struct {
	ctx      context.Context
	t        *testing.T
	dir      string
	kube     *kuberig.Kube
	node     *noderig.Node
	core     *kubernetes.Clientset
	kubizone *versioned.Clientset

	etcd   *gate
	key    rig.Pair // of a client of etcd
	etcdCA *rig.Authority
	named  map[string]*rig.BIND // by the zone; "" has most
	serial int                  // of the last change of a Record
}

// gate forwards connections to etcd. While it is locked, etcd seems to be stopped.
type gate struct {
	sync.RWMutex
	listener net.Listener
	to       string
}

func openGate(t *testing.T, to string) *gate {
	t.Helper()
	g := &gate{listener: must.Get(net.Listen("tcp", host+":0"))(t), to: to}
	t.Cleanup(func() { g.listener.Close() })
	go func() {
		for {
			from, err := g.listener.Accept()
			if err != nil {
				return
			}
			go g.forwardOctets(from)
		}
	}()
	return g
}

func (g *gate) forwardOctets(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", g.to)
	if err != nil {
		return
	}
	defer to.Close()
	pass := func(to io.Writer, from io.Reader) {
		octets := make([]byte, 1<<16)
		for {
			n, err := from.Read(octets)
			if err != nil {
				return
			}
			g.RLock()
			_, err = to.Write(octets[:n])
			g.RUnlock()
			if err != nil {
				return
			}
		}
	}
	go func() { pass(from, to); from.Close() }()
	pass(to, from)
}

func (w *world) waitUntil(what string, fact func() error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, waitTimeout)
	defer cancel()
	begin := time.Now()
	rig.Until(ctx, w.t, what, fact)
	w.t.Logf("%s: after %s", what, time.Since(begin).Round(100*time.Millisecond))
}

func (w *world) applyObjects(objects string) {
	w.t.Helper()
	kubectl := rig.Need(rig.KubeProgram("kubectl"))(w.t)
	command := exec.CommandContext(w.ctx, kubectl, "--kubeconfig", w.kube.AdminKubeconfig(), "apply", "-f", "-")
	command.Stdin, command.Env = strings.NewReader(objects), append(os.Environ(), "KUBECACHEDIR="+filepath.Join(w.dir, "cache"))
	if out, err := command.CombinedOutput(); err != nil {
		w.t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

func (w *world) renderChart(set ...string) string {
	w.t.Helper()
	arguments := []string{"template", "kubizone", "../../charts/kubizone", "-n", kuberig.InstallNamespace}
	for _, one := range set {
		arguments = append(arguments, "--set", one)
	}
	command := exec.CommandContext(w.ctx, rig.Need(rig.Tool("helm"))(w.t), arguments...)
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+w.dir, "HELM_CONFIG_HOME="+w.dir, "HELM_DATA_HOME="+w.dir)
	var wrong strings.Builder
	command.Stderr = &wrong
	out, err := command.Output()
	if err != nil {
		w.t.Fatalf("helm template: %v\n%s", err, &wrong)
	}
	return string(out)
}

func (w *world) setSecret(namespace, name string, data map[string]string) {
	w.t.Helper()
	secrets := w.core.CoreV1().Secrets(namespace)
	_ = secrets.Delete(w.ctx, name, metav1.DeleteOptions{})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	must.Get(secrets.Create(w.ctx, secret, metav1.CreateOptions{}))(w.t)
}

// The keys of classes. Most have keyOfMost.
var keyOfMost, keyOfSecret, keyOfMissing = makeKey("most"), makeKey("secret"), makeKey("missing")

func makeKey(name string) rig.TSIGKey {
	return rig.TSIGKey{Name: name + "-key.example", Algorithm: "hmac-sha256", Secret: "c2VjcmV0IG9mIHRoZSB0ZXN0IG9mIG9uLWNhbGw="}
}

func (w *world) setKey(key rig.TSIGKey, secret string) {
	name, _, _ := strings.Cut(key.Name, "-")
	w.setSecret(platform, "tsig-"+name, map[string]string{"name": key.Name, "algorithm": key.Algorithm, "secret": secret})
}

func keyOf(zone string) rig.TSIGKey {
	switch zone {
	case "secret":
		return keyOfSecret
	case "missing":
		return keyOfMissing
	}
	return keyOfMost
}

// zones have a class and a Record each. Those of own have a name server for themselves.
var (
	zones = []string{"paused", "classpaused", "down", "secret", "missing", "held", "withdrawn", "old", "signer", "notify", "primary",
		"controller"}
	own = []string{"down", "old", "signer", "notify"}
)

func startWorld(t *testing.T) *world {
	w := &world{ctx: t.Context(), t: t, dir: noderig.Dir(t), named: map[string]*rig.BIND{}}
	w.kube = rig.NeedServer(kuberig.StartKube(w.ctx, filepath.Join(w.dir, "kube"), noderig.KubeConfig()))(t)
	ctx, end := context.WithCancel(w.ctx)
	t.Cleanup(end)
	w.node = must.Get(noderig.StartNode(ctx, w.kube, func(err error) { t.Error(err) }))(t)
	w.core = must.Get(w.kube.Clients())(t)
	w.kubizone = must.Get(versioned.NewForConfig(w.kube.Admin()))(t)
	for _, namespace := range []string{kuberig.InstallNamespace, team, platform} {
		must.Succeed(t, w.kube.Namespace(w.ctx, namespace))
	}
	w.etcdCA = must.Get(rig.NewAuthority("etcd"))(t)
	etcd := must.Get(kuberig.StartSecureEtcd(w.ctx, filepath.Join(w.dir, "etcd"), w.etcdCA, quota, host))(t)
	t.Cleanup(etcd.Close)
	w.etcd = openGate(t, strings.TrimPrefix(etcd.Endpoint, "https://"))
	w.key = must.Get(w.etcdCA.Client("kubizone"))(t)
	w.setSecret(kuberig.InstallNamespace, "kubizone-etcd-client", map[string]string{"ca.crt": string(w.etcdCA.PEM),
		"tls.crt": string(w.key.Cert), "tls.key": string(w.key.Key)})
	for _, key := range []rig.TSIGKey{keyOfMost, keyOfSecret, keyOfMissing} {
		w.setKey(key, key.Secret)
	}
	w.applyObjects(w.renderChart("image.repository=registry.example/kubizone", "mode=external-etcd", "externalEtcd.replicas=1",
		"externalEtcd.servers={https://"+w.etcd.listener.Addr().String()+"}", "controller.replicas=1", "primary.enabled=true",
		"primary.tsigSecretName=", "classes.all.transfer=true", "classes.all.secrets."+platform+"={tsig-most,tsig-secret,tsig-missing}"))
	t.Cleanup(func() {
		if t.Failed() {
			for container, log := range w.node.Logs(kuberig.InstallNamespace, "") {
				t.Logf("== %s\n%s", container, log[max(0, len(log)-3000):])
			}
		}
	})
	if _, _, err := w.kube.WaitAvailable(w.ctx, true); err != nil {
		t.Fatal(err)
	}
	w.startNameServers()
	w.waitUntil("classes and zones are made", func() error {
		var objects strings.Builder
		for _, zone := range zones {
			objects.WriteString(w.describeZone(zone))
		}
		_, err := w.kubizone.KubizoneV1alpha1().Zones("").List(w.ctx, metav1.ListOptions{})
		if err == nil {
			w.applyObjects(objects.String())
		}
		return err
	})
	return w
}

// allowNotify admits the addresses of pods, which are none of the primary's Service.
const allowNotify = "allow-notify { any; };"

func (w *world) startNameServers() {
	service := must.Get(w.core.CoreV1().Services(kuberig.InstallNamespace).Get(w.ctx, "kubizone-primary", metav1.GetOptions{}))(w.t)
	primary := netip.AddrPortFrom(netip.MustParseAddr(service.Spec.ClusterIP), 53)
	keys := []rig.TSIGKey{keyOfMost, keyOfSecret, keyOfMissing}
	start := func(of string, c rig.BINDConfig) {
		c.Addr = netip.AddrPortFrom(netip.MustParseAddr(host), must.Get(rig.FreePort())(w.t).Port())
		c.Keys, c.Clients, c.Options = keys, "any;", allowNotify
		w.named[of] = rig.NeedServer(rig.StartBIND(w.ctx, c))(w.t)
	}
	var catalogs []rig.SecondaryZone
	for _, zone := range zones {
		one := rig.SecondaryZone{Zone: zone + ".catalog.example.", Primary: primary, Key: keyOf(zone).Name}
		if !slices.Contains(own, zone) {
			catalogs = append(catalogs, one)
		} else if zone == "down" || zone == "notify" {
			start(zone, rig.BINDConfig{Catalogs: []rig.SecondaryZone{one}})
		}
	}
	start("", rig.BINDConfig{Catalogs: catalogs})
	start("old", rig.BINDConfig{Secondaries: []rig.SecondaryZone{{Zone: "old.example.", Primary: primary, Key: keyOfMost.Name}}})
	// As docs/dnssec.md has it.
	start("signer", rig.BINDConfig{Statements: fmt.Sprintf(`dnssec-policy "kubizone" {
	keys { csk lifetime unlimited algorithm ecdsap256sha256; };
};
zone "signer.example" {
	type secondary; file "signer.example.db"; primaries { %s port 53 key %q; };
	dnssec-policy "kubizone"; inline-signing yes; allow-transfer { key %[2]q; };
};
`, primary.Addr(), keyOfMost.Name)})
}

// describeZone returns a zone with its class and its Record; two names of the zone are in the Record's address.
func (w *world) describeZone(zone string) string {
	server := w.named[""]
	if of := w.named[zone]; of != nil {
		server = of
	}
	key, _, _ := strings.Cut(keyOf(zone).Name, "-")
	use := map[string]string{"signer": ", catalog: Ignore, signs: true", "old": ", catalog: Ignore"}[zone]
	return fmt.Sprintf(`---
apiVersion: kubi.zone/v1alpha1
kind: DNSClass
metadata: {name: %[1]s}
spec:
  namespaces: {names: [%[5]s]}
  transfer:
    tsigSecretRef: {name: tsig-%[3]s, namespace: platform}
    catalogZone: %[1]s.catalog.example.
    secondaries: [{address: "%[2]s"%[4]s}]
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: %[1]s, namespace: %[5]s}
spec: {domainName: %[1]s.example., ttl: 5, dnsClassRefs: [{name: %[1]s}], nameServers: [{name: ns, addresses: [192.0.2.53]}],
  delegations: [{namespace: team, records: [{pattern: www}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: www-%[1]s, namespace: team}
spec: {domainName: www.%[1]s.example., type: A, rdata: 192.0.2.1}
`, zone, server.Addr, key, use, namespaceOf(zone))
}

func namespaceOf(zone string) string {
	return map[bool]string{true: platform, false: team}[zone == "withdrawn"]
}

func (w *world) patchZone(zone, patch string) {
	w.t.Helper()
	must.Get(w.kubizone.KubizoneV1alpha1().Zones(namespaceOf(zone)).Patch(w.ctx, zone, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}))(w.t)
}

func (w *world) patchClass(zone, patch string) {
	w.t.Helper()
	must.Get(w.kubizone.KubizoneV1alpha1().DNSClasses().Patch(w.ctx, zone, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(w.t)
}

func (w *world) changeRecord(zone string) {
	w.t.Helper()
	w.serial++
	patch := fmt.Sprintf(`{"spec":{"rdata":"192.0.2.%d"}}`, 2+w.serial%200)
	must.Get(w.kubizone.KubizoneV1alpha1().Records(team).Patch(w.ctx, "www-"+zone, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}))(w.t)
}

func (w *world) scaleTo(deployment string, replicas int) {
	w.t.Helper()
	must.Get(w.core.AppsV1().Deployments(kuberig.InstallNamespace).Patch(w.ctx, "kubizone-"+deployment, types.MergePatchType,
		[]byte(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)), metav1.PatchOptions{}))(w.t)
}

// endProcess waits until a process has no pod.
func (w *world) endProcess(deployment string) {
	w.t.Helper()
	w.scaleTo(deployment, 0)
	w.waitUntil("no "+deployment+" runs", func() error {
		pods, err := w.core.CoreV1().Pods(kuberig.InstallNamespace).List(w.ctx, metav1.ListOptions{
			LabelSelector: "app.kubernetes.io/name=kubizone-" + deployment})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%s is there", pods.Items[0].Name)
		}
		return err
	})
}

func (w *world) waitReady(zone string) {
	w.t.Helper()
	w.waitUntil("Zone "+zone+" is Ready", func() error {
		one, err := w.kubizone.KubizoneV1alpha1().Zones(namespaceOf(zone)).Get(w.ctx, zone, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range one.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue && c.ObservedGeneration == one.Generation {
				return nil
			}
		}
		return fmt.Errorf("%+v", one.Status.Conditions)
	})
}
