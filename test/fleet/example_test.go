// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/rig"
)

func (w *world) startDelivery() netip.AddrPort {
	w.t.Helper()
	at, err := rig.FreePort()
	w.mustSucceed(err)
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
		w.makeNode(namespace)
		k := newKubelet(w)
		k.mu.Lock()
		k.node = namespace
		k.mu.Unlock()
		nodes[namespace] = &node{w, k}
	}
	return nodes[namespaces[0]].world, nodes
}

func configOf(nodes map[string]*node, primary netip.AddrPort) fleet.Config {
	config := fleet.Config{
		Ask: func(ctx context.Context, pod *corev1.Pod, server *render.Server) (string, error) {
			return nodes[pod.Namespace].kubelet.askPod(ctx, pod, server)
		},
		Members: func(ctx context.Context, pod *corev1.Pod, server *render.Server) error {
			return nodes[pod.Namespace].kubelet.askMembers(ctx, pod, server)
		},
		Primaries: func(context.Context) ([]netip.AddrPort, error) { return []netip.AddrPort{primary}, nil },
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
	run(kubectl, "apply", "-f", "testdata/example_servers.yaml")
	run(w.client, "import", "testdata/example_zone.yaml", "--from-crd")
	run(kubectl, "patch", "zones.kubi.zone", "-n", "platform-dns", "example-zone", "--type=merge", "-p", `{"spec":{"dnsClassRefs":[{"name":"global-dns"}]}}`)
	servers := map[string]netip.AddrPort{}
	for _, namespace := range namespaces {
		for _, role := range []string{"primary-0", "primary-1", "secondary-0", "secondary-1", "secondary-2"} {
			server := "global-dns-" + role
			servers[namespace+"/"+server] = nodes[namespace].runProxy(nodes[namespace].kubelet, server).at
		}
	}
	for name, at := range servers {
		w.waitUntil("www.example.com. at "+name, func() error {
			if got, err := askAddress(w.ctx, at, "www.example.com."); err != nil || got != "192.0.2.1" {
				return fmt.Errorf("it is %q: %w", got, err)
			}
			return nil
		})
	}
	w.waitUntil("the zone is Ready at each of them", func() error {
		zone, err := w.kubizone.KubizoneV1alpha1().Zones("platform-dns").Get(w.ctx, "example-zone", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return expectCondition(zone.Status.Conditions, "Ready", "True")
	})
	deliveries, err := w.kubizone.KubizoneV1alpha1().Deliveries("platform-dns").List(w.ctx, metav1.ListOptions{})
	w.mustSucceed(err)
	if len(deliveries.Items) != 1 || len(deliveries.Items[0].Status.Servers) != len(servers) {
		t.Errorf("the Delivery has no row for each of %d servers: %+v", len(servers), deliveries.Items)
	}
	w.waitUntil("the provider is Ready", func() error {
		provider, err := w.kubizone.Bind9V1alpha1().ClusterBind9Providers().Get(w.ctx, "global-dns", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return expectCondition(provider.Status.Conditions, bind9.ConditionReady, "True")
	})
	w.mustSucceed(w.kubizone.KubizoneV1alpha1().Zones("platform-dns").Delete(w.ctx, "example-zone", metav1.DeleteOptions{}))
	for name, at := range servers {
		w.waitUntil("no zone at "+name, func() error {
			if got, err := askAddress(w.ctx, at, "www.example.com."); err != nil || got != "REFUSED" {
				return fmt.Errorf("it is %q: %w", got, err)
			}
			return nil
		})
	}
	w.mustSucceed(w.kubizone.Bind9V1alpha1().ClusterBind9Providers().Delete(w.ctx, "global-dns", metav1.DeleteOptions{}))
	w.waitUntil("nothing is left", func() error {
		for _, namespace := range namespaces {
			if left := w.listMade(namespace); len(left) > 0 {
				return errors.New(strings.Join(left, " "))
			}
		}
		return nil
	})
	w.mustSucceed(w.kubizone.KubizoneV1alpha1().DNSClasses().Delete(w.ctx, "global-dns", metav1.DeleteOptions{}))
}
