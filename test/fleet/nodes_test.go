// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"

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
