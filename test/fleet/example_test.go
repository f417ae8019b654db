// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func (w *world) startDelivery() netip.AddrPort {
	w.t.Helper()
	at := must.Get(rig.FreePort())(w.t)
	for _, arguments := range [][]string{
		{"primary", "--dns-listen", at.String(), "--transfer-allow="}, {"controller", "--lease", w.namespace + "/controller",
			rig.LongLease},
	} {
		w.startProgram(w.kube.AdminKubeconfig(), arguments...)
	}
	return at
}

// node runs the pods of a namespace as processes, each with its own address.
type node struct {
	*world
	kubelet *kubelet
}

// newNodes creates a namespace with a kubelet for each name. The first is the test's world.
func newNodes(t *testing.T, namespaces ...string) (*world, map[string]*node) {
	nodes := map[string]*node{}
	for _, namespace := range namespaces {
		w := newWorld(t, namespace)
		nodes[namespace] = &node{w, newKubelet(w, namespace)}
	}
	return nodes[namespaces[0]].world, nodes
}

func configOf(nodes map[string]*node, primary netip.AddrPort) fleet.Config {
	config := fleet.Config{
		Primaries: primaryAt(primary),
		Ask: func(ctx context.Context, pod *corev1.Pod, server *render.Server) (string, error) {
			return nodes[pod.Namespace].kubelet.askPod(ctx, pod, server)
		},
		Members: func(ctx context.Context, pod *corev1.Pod, server *render.Server) error {
			return nodes[pod.Namespace].kubelet.askMembers(ctx, pod, server)
		},
	}
	for namespace := range nodes {
		config.Namespaces = append(config.Namespaces, namespace)
	}
	return config
}

// TestProvider_ofTheSourceAnswersAtEachServer runs the example of bindy's document: a provider with three namespaces,
// two primaries and three secondaries in each, a zone and a record, as converted by docs/migration-bindy.md. Each of
// the 15 servers runs as named and agent, and answers for the record.
func TestProvider_ofTheSourceAnswersAtEachServer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("port 53 at the address of a Service takes root")
	}
	if _, err := rig.Find("named", "apt-get install bind9"); err != nil {
		rig.SkipMissing(t, err)
	}
	kubectl := rig.Need(rig.KubeProgram("kubectl"))(t)
	namespaces := []string{"platform-dns", "team-web", "team-api"}
	w, nodes := newNodes(t, namespaces...)
	w.runFleetWith(configOf(nodes, w.startDelivery()))
	run := func(program string, arguments ...string) {
		t.Helper()
		command := exec.CommandContext(w.ctx, program, arguments...)
		command.Env = append(os.Environ(), "KUBECONFIG="+w.kube.AdminKubeconfig())
		out, err := command.CombinedOutput()
		t.Logf("%s\n%s", strings.Join(command.Args, " "), out)
		w.mustSucceed(err)
	}
	// The source has 2 primaries and 3 secondaries in each namespace, whose BINDs and agents fill two processors.
	primaries, secondaries := 1, 1
	if rig.Long() {
		primaries, secondaries = 2, 3
	}
	text := must.Get(os.ReadFile("testdata/example_servers.yaml"))(w.t)
	numbers := strings.NewReplacer("primary: {replicas: 2}", fmt.Sprintf("primary: {replicas: %d}", primaries),
		"secondary: {replicas: 3}", fmt.Sprintf("secondary: {replicas: %d}", secondaries))
	file := filepath.Join(t.TempDir(), "servers.yaml")
	w.mustSucceed(os.WriteFile(file, []byte(numbers.Replace(string(text))), 0o600))
	run(kubectl, "apply", "-f", file)
	run(w.client, "import", "testdata/example_zone.yaml", "--from-crd")
	run(kubectl, "patch", "zones.kubi.zone", "-n", "platform-dns", "example-zone", "--type=merge", "-p", `{"spec":{"dnsClassRefs":[{"name":"global-dns"}]}}`)
	addresses := map[string]netip.AddrPort{}
	for _, namespace := range namespaces {
		for role, n := range map[string]int{"primary": primaries, "secondary": secondaries} {
			for i := range n {
				server := fmt.Sprintf("global-dns-%s-%d", role, i)
				addresses[namespace+"/"+server] = nodes[namespace].runProxy(nodes[namespace].kubelet, server).at
			}
		}
	}
	for name, at := range addresses {
		w.waitUntil("www.example.com. at "+name, func() error {
			if got, err := askAddress(w.ctx, at, "www.example.com."); err != nil || got != "192.0.2.1" {
				return fmt.Errorf("it is %q: %w", got, err)
			}
			return nil
		})
	}
	w.waitZones()
	deliveries := must.Get(w.kubizone.KubizoneV1alpha1().Deliveries("platform-dns").List(w.ctx, metav1.ListOptions{}))(w.t)
	if len(deliveries.Items) != 1 || len(deliveries.Items[0].Status.Servers) != len(addresses) {
		t.Errorf("the Delivery has no row for each of %d servers: %+v", len(addresses), deliveries.Items)
	}
	w.waitProvider("global-dns", "True")
	w.mustSucceed(w.kubizone.KubizoneV1alpha1().Zones("platform-dns").Delete(w.ctx, "example-zone", metav1.DeleteOptions{}))
	for name, at := range addresses {
		w.waitUntil("no zone at "+name, func() error {
			if got, err := askAddress(w.ctx, at, "www.example.com."); err != nil || got != "REFUSED" {
				return fmt.Errorf("it is %q: %w", got, err)
			}
			return nil
		})
	}
	w.mustSucceed(w.kubizone.Bind9V1alpha1().ClusterBind9Providers().Delete(w.ctx, "global-dns", metav1.DeleteOptions{}))
	w.waitNothing(namespaces...)
	w.mustSucceed(w.kubizone.KubizoneV1alpha1().DNSClasses().Delete(w.ctx, "global-dns", metav1.DeleteOptions{}))
}
