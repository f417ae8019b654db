// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"errors"
	"time"

	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	bind9informers "kubi.zone/kubizone/api/client/informers/externalversions/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/zoneview"
)

// FieldManager is the name under which status and finalizers are written.
const FieldManager = "kubizone-controller"

// NewProvider makes the provider of a class that has its block. target stands for where zones go (delivery.Class); it
// is returned with an error too, where it is known: a class that is redirected has nothing there, also where it has
// other faults. The provider works with the data that secret returned: it is made anew when one of those Secrets
// changes. Errors are *delivery.Error; those of secret are returned as they are.
type NewProvider func(class *v1alpha1.DNSClass, secret GetSecret) (provider delivery.Provider, target string, err error)

// GetSecret reads one Secret by name.
type GetSecret func(namespace, name string) (map[string][]byte, error)

// Secrets is where Secrets are read from.
type Secrets interface {
	// Get returns the data; an error that wraps ErrSecretNotFound where there is no such Secret.
	Get(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// ErrSecretNotFound says that there is no Secret of this name.
var ErrSecretNotFound = errors.New("there is no such Secret")

// MissingSecret is ErrSecretNotFound with what makes the Secret.
type MissingSecret struct{ Next string }

func (e *MissingSecret) Error() string { return ErrSecretNotFound.Error() + "; " + e.Next }

func (e *MissingSecret) Unwrap() error { return ErrSecretNotFound }

// Config of a Controller. What has no value that nil or 0 stands for is required.
type Config struct {
	// Identity of this process, never used by another one.
	Identity string
	// Client is made of a configuration by WithoutWaiting.
	Client versioned.Interface
	// Informers is started by the caller, after New.
	Informers externalversions.SharedInformerFactory
	// Views holds every zone when Run is called.
	Views *zoneview.Set
	// Frozen are the zones that the Views cannot prove.
	Frozen func() []cache.ObjectName
	// Providers by the name of their block in the spec of a DNSClass.
	Providers map[string]NewProvider
	Secrets   Secrets
	// Servers returns the names of the servers of a class whose servers come and go without a change of the class,
	// sorted; nil where they do not, or are not known yet.
	Servers func(class *v1alpha1.DNSClass) []string
	// Namespaces says which labels namespaces have and which are being deleted. Nil is for a server without a cluster,
	// where each has its name alone.
	Namespaces coreinformers.NamespaceInformer
	// Clusters are the classes that Zones of their namespaces name; the caller starts their informer, and nothing waits
	// for it.
	Clusters bind9informers.Bind9ClusterInformer
	// Events takes what people should see beside status. Nil: it is logged.
	Events events.EventRecorder
	// Registry takes the metrics of this controller.
	Registry metrics.KubeRegistry
	// Lease is how long another may think that it leads after it no longer does; 0: as schedule.Config says.
	Lease time.Duration
	// HealthInterval is the time between two health checks of a class.
	HealthInterval time.Duration
	Backoff        delivery.Backoff
}
