// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"sync/atomic"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/watch"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// Ledger reads and writes the stored Zones and Records for a Judge. The argument zone is a UID.
type Ledger interface {
	// RunElected waits until this server is elected, calls run, and returns when run returns. If the server loses the
	// election, the context of run ends.
	RunElected(ctx context.Context, run func(ctx context.Context)) error
	// Members lists a page of a zone's Records, of about the size most. The cursor from is "" for the first page. After
	// the last page, next is "".
	Members(ctx context.Context, zone, from string, most int) (members []law.Ref, next string, err error)
	// MembersAt lists the Records in a zone at an owner name, such as www.
	MembersAt(ctx context.Context, zone string, owner name.Rel) ([]law.Ref, error)

	// ChangeRecords calls change for the named Records of a namespace, and stores each Record if change returns true.
	// It skips Records that are absent, unreadable or changed by another writer meanwhile, and counts the stored.
	ChangeRecords(ctx context.Context, namespace string, names []string, change func(*v1alpha1.Record) bool) (changed int, err error)
	// ChangeZone is ChangeRecords for a Zone.
	ChangeZone(ctx context.Context, namespace, name string, change func(*v1alpha1.Zone) bool) (changed bool, err error)
	// RaiseSerial raises a Zone's serial past that of a secondary, if S6.11 allows this now.
	RaiseSerial(ctx context.Context, zone law.Ref, past zones.Ahead) (raised bool, err error)
}

type Config struct {
	Ledger Ledger
	// NewIndex is called when this server is elected, and returns new caches of Zones, Deliveries and classes. Their
	// informers are not running yet, except that of Namespaces, which the server shares.
	NewIndex func() *objects.Index
	// WatchRecords watches the Records of all namespaces after the resourceVersion since.
	WatchRecords func(ctx context.Context, since string) (watch.Interface, error)
	// Frozen lists the Zones whose content does not match their hash.
	Frozen   func() []cache.ObjectName
	Registry metrics.KubeRegistry
	// Leases returns a Watcher of other processes' Leases, which calls changed when a process ends or works again. Nil
	// outside a pod.
	Leases func(changed func()) *heartbeat.Watcher
	// WhileElected is called when this server is elected, and returns when ctx ends. Nil for nothing.
	WhileElected func(ctx context.Context)
	// Announce writes an Event of a Zone: kind is that of a Kubernetes Event.
	Announce func(zone *v1alpha1.Zone, kind, reason, message string)
}

type source interface {
	NewInformer(cache.Indexers) cache.SharedIndexInformer
}

// IndexOf returns a function for Config.NewIndex. A standalone server passes nil for namespaces.
func IndexOf(zones, deliveries, classes, clusters source, namespaces coreinformers.NamespaceInformer) func() *objects.Index {
	return func() *objects.Index {
		return &objects.Index{Zones: zones.NewInformer(cache.Indexers{}), Deliveries: deliveries.NewInformer(cache.Indexers{}),
			Classes: classes.NewInformer(cache.Indexers{}), Clusters: clusters.NewInformer(cache.Indexers{}), Namespaces: namespaces}
	}
}

// Judge writes the condition Ready of Zones and Records on the elected server.
type Judge struct {
	config Config
	*Metrics
}

type Metrics struct {
	unconfirmed *metrics.Gauge
	tally       *tally
	confirmed   *metrics.Counter
	// leader is nil unless this server is elected.
	leader atomic.Pointer[leader]
}

type leader struct {
	*Judge
	lives                              func() Processes // nil without Leases
	index                              *objects.Index
	frozen                             *FrozenZones
	queue                              workqueue.TypedRateLimitingInterface[string] // UIDs of zones
	stalls                             objects.Stalls
	revokeLimit, otherLimit, zoneLimit *rate.Limiter
	causes                             *rate.Limiter
	tracker
	changes changes
}
