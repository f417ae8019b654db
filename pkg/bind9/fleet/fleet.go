// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"io"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	bind9listers "kubi.zone/kubizone/api/client/listers/bind9/v1alpha1"
	listers "kubi.zone/kubizone/api/client/listers/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
)

// Config configures a Fleet, the controller that runs BIND servers as pods.
type Config struct {
	Client    versioned.Interface
	Informers externalversions.SharedInformerFactory
	Cluster   kubernetes.Interface
	// The fleet may create objects in Namespaces; "" means all.
	Namespaces []string
	Platform   render.Platform
	// Primaries returns the addresses of the hidden primary, from which servers transfer catalog zones (lists of
	// zones). Without an address they follow no catalog.
	Primaries func(ctx context.Context) ([]netip.AddrPort, error)
	Events    events.EventRecorder
	// Answers reports whether a primary answers a query for a catalog zone signed with key.
	Answers func(ctx context.Context, at netip.AddrPort, catalog name.Name, key render.Key) bool
	// Ask returns the hash of the configuration that BIND has loaded in a pod. Nil asks the agent in the pod.
	Ask func(ctx context.Context, pod *corev1.Pod, server *render.Server) (string, error)
	// Members returns an error if BIND in a pod lacks zones of its catalogs. Nil asks the agent in the pod.
	Members func(ctx context.Context, pod *corev1.Pod, server *render.Server) error
	// If nil, Random is crypto/rand, and Clock the real clock.
	Random io.Reader
	Clock  clock.Clock
}

type Fleet struct {
	Config
	children     *children
	providers    bind9listers.ClusterBind9ProviderLister
	clusters     bind9listers.Bind9ClusterLister
	instances    bind9listers.Bind9InstanceLister
	classes      listers.DNSClassLister
	namespaces   corelisters.NamespaceLister
	common       informers.SharedInformerFactory
	loops        map[string]*loop
	acceptedKeys acceptedKeys
	slow         slowPods
	silent       silences
	replacing    replacements
}

type loop struct {
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
	reconcile func(ctx context.Context, at cache.ObjectName) (time.Duration, error)
}

func (f *Fleet) enqueue(kind, namespace, name string) {
	f.loops[kind].queue.Add(cache.ObjectName{Namespace: namespace, Name: name})
}

func (f *Fleet) enqueueInstances(namespace, cluster string) {
	for _, instance := range f.instancesOf(namespace, cluster) {
		f.enqueue("instance", namespace, instance.Name)
	}
}

const indexCluster = "cluster"

func listClusterOf(object any) ([]string, error) {
	instance, ok := object.(*bind9.Bind9Instance)
	if !ok || instance.Spec.ClusterRef == nil {
		return nil, nil
	}
	return []string{instance.Namespace + "/" + instance.Spec.ClusterRef.Name}, nil
}

func (f *Fleet) instancesOf(namespace, cluster string) []*bind9.Bind9Instance {
	return findByIndex[*bind9.Bind9Instance](f.Informers.Bind9().V1alpha1().Bind9Instances().Informer(), indexCluster,
		namespace+"/"+cluster)
}
