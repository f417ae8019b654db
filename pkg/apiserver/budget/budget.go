// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"math"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

const (
	// maxRetryAfter bounds Retry-After, because Kubernetes clients wait silently.
	maxRetryAfter = 30 * time.Second
	sweepEvery    = time.Minute
)

// CauseTooMuch is the cause of refusals for stored octets or Bind9Clusters.
const CauseTooMuch metav1.CauseType = "NamespaceBudgetExceeded"

// A burst has the octets of this time.
const idle = time.Minute

// Config configures Budgets, the limits of namespaces for octets stored and written in etcd.
type Config struct {
	// Limits apply to each namespace without an override.
	Limits Limits
	// Quota returns etcd's quota in octets; 0 if unknown. Beyond the quota etcd rejects writes.
	Quota func() int64
	// Override returns the annotation kubi.zone/budget of a namespace, for example "stored=1Gi,clusters=50"; "" for
	// none. Optional.
	Override func(namespace string) string
	// Registry is optional.
	Registry metrics.KubeRegistry
}

type Budgets struct {
	config  Config
	metrics *Metrics

	mu         sync.Mutex
	accounts   map[string]*account
	creating   map[string]int64 // Bind9Clusters in creation, by namespace
	hasCounted bool
	recount    map[string]int64 // octets by namespace, during a count; else nil
	lastSweep  time.Time
}

type account struct {
	storedOctets int64
	// chargedOctets grows with writes, and falls by limits.Written a second. It was computed at updated.
	chargedOctets float64
	updated       time.Time
	override      string
	limits        Limits
}

func New(config Config) *Budgets {
	if config.Registry == nil {
		config.Registry = metrics.NewKubeRegistry()
	}
	b := &Budgets{config: config, accounts: map[string]*account{}, creating: map[string]int64{}}
	b.metrics = NewMetrics(config.Registry, b)
	return b
}

// currentAccount returns a namespace's account as of now, created if absent. The caller holds b.mu.
func (b *Budgets) currentAccount(namespace string) *account {
	now := time.Now()
	a := b.accounts[namespace]
	if a == nil {
		a = &account{updated: now, limits: b.config.Limits}
		b.accounts[namespace] = a
	}
	if b.config.Override != nil {
		// Parse the annotation only when it changes: each write of the namespace asks.
		if text := b.config.Override(namespace); text != a.override {
			a.override, a.limits = text, b.config.Limits
			if text != "" {
				limits, err := b.config.Limits.Override(text)
				if err == nil {
					a.limits = limits
				} else {
					klog.Errorf("Namespace %s has the default budget: its annotation kubi.zone/budget is invalid: %v", namespace, err)
				}
			}
		}
	}

	// The charge falls with time, down to 0.
	if a.limits.Written == 0 {
		a.chargedOctets = 0
	} else {
		a.chargedOctets = max(0, a.chargedOctets-now.Sub(a.updated).Seconds()*float64(a.limits.Written))
	}
	a.updated = now
	return a
}

func (b *Budgets) burst(a *account) float64 {
	return float64(a.limits.Written) * idle.Seconds()
}

func (b *Budgets) quota() int64 {
	if q := b.config.Quota(); q > 0 {
		return q
	}
	return DefaultQuota
}

// Charge adds written octets to a namespace's account. Charge never refuses: writes without a limit, such as deletions,
// may charge up to twice the burst (S9.3).
func (b *Budgets) Charge(namespace string, octets int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.currentAccount(namespace)
	if a.chargedOctets += float64(octets); a.limits.Written > 0 {
		a.chargedOctets = min(a.chargedOctets, 2*b.burst(a))
	}

	if now := time.Now(); now.Sub(b.lastSweep) > sweepEvery {
		// Forget namespaces that have neither stored nor charged octets, so that deleted namespaces take no memory.
		b.lastSweep = now
		for namespace := range b.accounts {
			if a := b.currentAccount(namespace); a.storedOctets == 0 && a.chargedOctets == 0 {
				delete(b.accounts, namespace)
			}
		}
	}
}

func (b *Budgets) BeginCount() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recount = map[string]int64{}
}

func (b *Budgets) Add(namespace string, octets int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.recount != nil {
		b.recount[namespace] += octets
		return
	}
	b.currentAccount(namespace).storedOctets += octets
}

func (b *Budgets) EndCount() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.accounts {
		a.storedOctets = 0
	}
	for namespace, octets := range b.recount {
		b.currentAccount(namespace).storedOctets = octets
	}
	b.recount, b.hasCounted = nil, true
}

type Write struct {
	Resource        schema.GroupResource
	Namespace, Name string
	// Grows is the growth of stored octets, checked if positive.
	Grows int64
}

// Admit returns 403 if a write that grows would exceed its namespace's limit of stored octets, and 429 beyond the limit
// of octets written over time.
func (b *Budgets) Admit(w Write) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.currentAccount(w.Namespace)
	// Until the first count, stored octets are unknown.
	if limit := a.limits.Stored.octetsOf(b.quota()); limit > 0 && b.hasCounted && w.Grows > 0 && a.storedOctets+w.Grows > limit {
		b.metrics.refused.WithLabelValues("stored").Inc()
		message := fmt.Sprintf("namespace %s stores %s of records and zones, the limit is %s, and this write would add %s (S9.1): "+
			"delete objects, or have a cluster admin raise the limit by the annotation kubi.zone/budget of the Namespace",
			w.Namespace, octets(a.storedOctets), octets(limit), octets(w.Grows))
		err := apierrors.NewForbidden(w.Resource, w.Name, fmt.Errorf("%s", message))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: CauseTooMuch, Message: message}}
		refusal.AddRule(&err.ErrStatus, "S9.1")
		return err
	}
	// Written octets are known only after the write, so the write after the limit is refused.
	if burst := b.burst(a); burst > 0 && a.chargedOctets >= burst {
		b.metrics.refused.WithLabelValues("written").Inc()
		wait := time.Duration((a.chargedOctets - burst) / float64(a.limits.Written) * float64(time.Second))
		message := fmt.Sprintf("%s %q: namespace %s has written %s into etcd, the limit is %s, and %s a second are deducted (S9.2); "+
			"nothing was written: try again in %s, write less often or into smaller zones, or have a cluster admin raise the limit by "+
			"the annotation kubi.zone/budget of the Namespace",
			w.Resource, w.Name, w.Namespace, octets(int64(a.chargedOctets)), octets(int64(burst)), octets(a.limits.Written),
			(wait + time.Second).Round(time.Second))
		err := apierrors.NewTooManyRequests(message, 0)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: v1alpha1.CauseWritesTooFast, Message: fmt.Sprintf("namespace %s "+
			"has written more than %s a second for longer than a minute (S9.2): try again later, write less often or into smaller "+
			"zones, or have a cluster admin raise the limit by the annotation kubi.zone/budget of the Namespace", w.Namespace,
			octets(a.limits.Written))}}
		refusal.AddRule(&err.ErrStatus, "S9.2")
		err.ErrStatus.Details.RetryAfterSeconds = int32(math.Ceil(min(wait+time.Second, maxRetryAfter).Seconds()))
		return err
	}
	return nil
}

// AdmitCluster returns 403 if another Bind9Cluster would exceed the namespace's limit, or the error of count. The
// caller calls release after the create. Until then the create counts too, so two creates cannot both take the last
// place.
func (b *Budgets) AdmitCluster(resource schema.GroupResource, namespace, name string, count func() (int64, error)) (release func(),
	err error) {
	b.mu.Lock()
	limit := b.currentAccount(namespace).limits.Clusters
	b.creating[namespace]++
	creating := b.creating[namespace]
	b.mu.Unlock()
	release = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.creating[namespace]--; b.creating[namespace] == 0 {
			delete(b.creating, namespace)
		}
	}
	if limit == 0 {
		return release, nil
	}
	existing, err := count()
	if err == nil && existing+creating > limit {
		b.metrics.refused.WithLabelValues("clusters").Inc()
		message := fmt.Sprintf("namespace %s has %d Bind9Clusters and is creating %d, this one included, and the limit is %d (S9.1): "+
			"delete one, or have a cluster admin raise the limit by the annotation kubi.zone/budget of the "+
			"Namespace, as clusters=%d",
			namespace, existing, creating, limit, 2*limit)
		refused := apierrors.NewForbidden(resource, name, fmt.Errorf("%s", message))
		refused.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: CauseTooMuch, Message: message}}
		refusal.AddRule(&refused.ErrStatus, "S9.1")
		err = refused
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func octets(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
