// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

// A Deployment has its new pod ready before the former one goes. A pod with a claim, or one that may be on no node
// beside another of its servers, goes first. Each server of a cluster is a workload of its own, so one change of the
// cluster would take all of them at once: here one server of a cluster has its turn at a time, and it ends when its pod
// is ready.

// replacements say which server of each cluster is being replaced. A process that is started anew has none: it goes
// by which servers are ready.
type replacements struct {
	mu     sync.Mutex
	server map[cache.ObjectName]string
}

// waitForTurn returns what a server waits for whose pod goes before the new one comes; "" where it may be applied.
func (f *Fleet) waitForTurn(server *render.Server) string {
	cluster := cache.ObjectName{Namespace: server.Namespace, Name: server.Cluster}
	object := f.children.cached(server.Workload(), server.Namespace, server.Name)
	if server.Cluster == "" || !server.GoesFirst() || object == nil {
		return ""
	}
	ready, finished := f.judgeWorkload(server)
	same := accessor(object).GetAnnotations()[render.AnnotationTemplate] == server.TemplateHash()
	f.replacing.mu.Lock()
	defer f.replacing.mu.Unlock()
	holder := f.replacing.server[cluster]
	if same {
		if holder == server.Name && ready && finished {
			delete(f.replacing.server, cluster)
		}
		return ""
	}
	if holder != "" && holder != server.Name {
		if _, err := f.instances.Bind9Instances(server.Namespace).Get(holder); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the pod of %s is replaced before: one server of a cluster at a time", holder)
		}
	}
	if ready {
		for _, other := range f.instancesOf(server.Namespace, server.Cluster) {
			stopped := other.Spec.Replicas != nil && *other.Spec.Replicas == 0
			if other.Name != server.Name && other.DeletionTimestamp == nil && !stopped &&
				!isTrue(other.Status.Conditions, bind9.ConditionReady) {
				return fmt.Sprintf("%s is not ready: a pod is replaced while all other servers of the cluster are", other.Name)
			}
		}
	}
	f.replacing.server[cluster] = server.Name
	return ""
}
