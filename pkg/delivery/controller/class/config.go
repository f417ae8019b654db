// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	bind9informers "kubi.zone/kubizone/api/client/informers/externalversions/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

const FieldManager = "kubizone-controller"

// NewProvider makes a class's provider. target is as in delivery.Class. If known, it is returned even with an error,
// because former confirmations are of a target. Errors are *delivery.Error, except those of readSecret.
type NewProvider func(class *v1alpha1.DNSClass, readSecret secrets.GetFunc) (provider delivery.Provider, target string, err error)

// Config fields are required unless their comment allows nil or 0.
type Config struct {
	// Identity names this process. No later process may have the same.
	Identity string
	Client   versioned.Interface
	// Informers are started by the caller, after New.
	Informers externalversions.SharedInformerFactory
	// Views holds every zone when Run is called.
	Views     *zoneview.Set
	Providers map[string]NewProvider
	Secrets   secrets.Reader
	// Servers returns the sorted names of servers that change without the class; else nil.
	Servers func(class *v1alpha1.DNSClass) []string
	// Namespaces is nil without a cluster. Only the label with the name is then known.
	Namespaces coreinformers.NamespaceInformer
	// Clusters has the Bind9Clusters, the classes of their namespaces. The caller starts the informer; Run does not
	// wait for it.
	Clusters bind9informers.Bind9ClusterInformer
	// Events is nil without a cluster.
	Events   events.EventRecorder
	Registry metrics.KubeRegistry
	// Traces may be nil.
	Traces trace.TracerProvider
	// Lease is the longest time for which a former leader may act; 0 as in schedule.Config.
	Lease          time.Duration
	HealthInterval time.Duration
	Backoff        delivery.Backoff
}
