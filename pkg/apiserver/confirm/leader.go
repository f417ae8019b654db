// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/watch"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/heartbeat"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ready"
)

const pageRecords = 128

const (
	// At most causeRecords Records get the cause of their Pending at once, then a page each causeInterval.
	causeRecords  = 26 * pageRecords
	causeInterval = 10 * time.Minute
	causeDelay    = 2 * time.Second
)

func newCauseLimit() *rate.Limiter {
	return rate.NewLimiter(rate.Every(causeInterval/pageRecords), causeRecords)
}

// Ledger reads and writes the stored Zones and Records for a Confirmer. The argument zone is a UID.
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
	ChangeZone(ctx context.Context, namespace, name string, change func(*v1alpha1.Zone) bool) (changed bool, err error)
}

type Config struct {
	Ledger Ledger
	// NewIndex is called when this server is elected, and returns new caches of Zones, Deliveries and classes. Their
	// informers are not running yet, except that of Namespaces, which the server shares.
	NewIndex func() *ready.Index
	// WatchRecords watches the Records of all namespaces after the resourceVersion since.
	WatchRecords func(ctx context.Context, since string) (watch.Interface, error)
	// Frozen lists the Zones whose content does not match their hash.
	Frozen   func() []cache.ObjectName
	Registry metrics.KubeRegistry
	// Leases returns a Watcher of other processes' Leases, which calls changed when a process ends or works again. Nil
	// outside a pod.
	Leases func(changed func()) *heartbeat.Watcher
	// Announce writes an Event for a Zone that waits for a person (condition Stalled). Optional.
	Announce func(zone *v1alpha1.Zone, reason, message string)
}

type source interface {
	NewInformer(cache.Indexers) cache.SharedIndexInformer
}

// IndexOf returns a function for Config.NewIndex. A standalone server passes nil for namespaces.
func IndexOf(zones, deliveries, classes, clusters source, namespaces coreinformers.NamespaceInformer) func() *ready.Index {
	return func() *ready.Index {
		return &ready.Index{Zones: zones.NewInformer(cache.Indexers{}), Deliveries: deliveries.NewInformer(cache.Indexers{}),
			Classes: classes.NewInformer(cache.Indexers{}), Clusters: clusters.NewInformer(cache.Indexers{}), Namespaces: namespaces}
	}
}

// Confirmer writes the condition Ready of Records on the elected server.
type Confirmer struct {
	config Config
	*Metrics
	lags *LagMetrics // nil without Leases
}

type Metrics struct {
	unconfirmed *metrics.Gauge
	tally       *tally
	confirmed   *metrics.Counter
}

type leader struct {
	*Confirmer
	index                              *ready.Index
	frozen                             *ready.FrozenZones
	queue                              workqueue.TypedRateLimitingInterface[string] // UIDs of zones
	stalls                             ready.Stalls
	revokeLimit, otherLimit, zoneLimit *rate.Limiter
	causes                             *rate.Limiter
	tracker
	changes changes
}

func (l *leader) judgeZone(uid string) *ready.Progress {
	if f := l.readFacts(uid); f != nil {
		return ready.ProgressOf(f)
	}
	return nil
}

func (l *leader) readFacts(uid string) *ready.Facts {
	zone := l.index.ZoneByUID(uid)
	if zone == nil || zone.Status.Serial == 0 {
		return nil
	}
	deliveries := l.index.DeliveriesByUID(uid)
	force, _ := l.index.InForce(zone)
	return l.index.FactsOf(zone, force, l.frozen.Has(zone),
		func(key delivery.Key) ready.Report {
			for _, one := range deliveries {
				if ready.KeyOf(one) != key || one.Namespace != zone.Namespace {
					continue
				}
				if state, err := ready.StateOf(one); err == nil {
					return ready.Report{State: state, Known: true}
				}
			}
			return ready.Report{}
		},
		func(name string) string {
			if found := l.index.ClassByName(name); found != nil {
				return found.Status.Target
			}
			return ""
		})
}

// tracker is the elected server's worklist, with the open Records (in no zone, or not Ready), and the Records whose
// stored Ready has become wrong. Other Records take no memory.
type tracker struct {
	mu sync.Mutex
	// zones has the Records by their zone's UID, or "" for no zone.
	zones map[string]*zone
	// openIn maps each open Record to the UID of its zone, or "".
	openIn map[law.Ref]string
}

func newTracker() tracker {
	return tracker{zones: map[string]*zone{}, openIn: map[law.Ref]string{}}
}

type zone struct {
	// progress is nil until processZone has judged the zone.
	progress *ready.Progress
	open     map[law.Ref]*v1alpha1.Record
	// due has Records to judge and write. noCause has Pending Records whose cause is known but not written.
	due, noCause dueRecords
	// noCauseSince is when the next page of noCause began to wait.
	noCauseSince time.Time
	// causes limits writes of causes that the zone's owner ends, leader.causes those of the platform.
	causes *rate.Limiter
	// scans is true while all Ready Records are judged again, in pages. cursor is the next page.
	scans  bool
	cursor string
	// stallTimes is a heap of times at which open Records are judged again, inStallTimes the set of these Records.
	stallTimes   waits
	inStallTimes map[law.Ref]bool
}

// dueRecords is a queue of a zone's Records whose status must be written. A page has up to pageRecords Records of a
// namespace, and namespaces alternate, so a namespace with many Records delays no other.
type dueRecords struct {
	// fresh has Records not yet in a page.
	fresh map[law.Ref]bool
	pages map[string][][]law.Ref
	// turn has the namespaces of pages, the next first.
	turn []string
}

func newDueRecords() dueRecords {
	return dueRecords{fresh: map[law.Ref]bool{}, pages: map[string][][]law.Ref{}}
}

func (d *dueRecords) isEmpty() bool { return len(d.fresh)+len(d.pages) == 0 }

type waits []wait

type wait struct {
	at  time.Time
	ref law.Ref
}

func (w waits) Len() int           { return len(w) }
func (w waits) Less(i, j int) bool { return w[i].at.Before(w[j].at) }
func (w waits) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waits) Push(x any)        { *w = append(*w, x.(wait)) }

func (w *waits) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}
