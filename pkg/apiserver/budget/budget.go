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

	"kubi.zone/kubizone/pkg/refusal"
)

const (
	// maxRetryAfter bounds what a client is told to wait: those of Kubernetes wait in silence, and again.
	maxRetryAfter = 30 * time.Second
	// sweepEvery is how often accounts are let go of that have nothing and owe nothing.
	sweepEvery = time.Minute
)

// CauseTooMuch is the cause of a refusal for what a namespace has stored, and for its number of Bind9Clusters.
const CauseTooMuch metav1.CauseType = "NamespaceBudgetExceeded"

// CauseTooFast is the cause of a refusal for what a namespace has written. Its message is the same at each try, for a
// client that keeps it in a status.
const CauseTooFast metav1.CauseType = "NamespaceWritesTooFast"

// idle is the time that a namespace may write at once what Written allows in it.
const idle = time.Minute

// Config of Budgets.
type Config struct {
	// Limits of a namespace without an override.
	Limits Limits
	// Quota is that of the store in octets, 0 while it is not known.
	Quota func() int64
	// Override is what the annotation of a namespace says, "" for nothing; nil: there are none.
	Override func(namespace string) string
	// Registry takes the metrics; nil: they are not read.
	Registry metrics.KubeRegistry
}

// Budgets are those of all namespaces on one server.
type Budgets struct {
	config  Config
	metrics *Metrics

	mu       sync.Mutex
	accounts map[string]*account
	creating map[string]int64 // Bind9Clusters under way, by namespace
	counted  bool             // the stock is known
	fresh    map[string]int64 // while it is counted
	swept    time.Time
}

// account is one namespace.
type account struct {
	stored int64
	// charged is what was written and is not forgiven yet, at that time: Limits.Written a second are forgiven.
	charged float64
	at      time.Time
	// text is the override that limits were made of.
	text   string
	limits Limits
}

// New makes Budgets.
func New(config Config) *Budgets {
	if config.Registry == nil {
		config.Registry = metrics.NewKubeRegistry()
	}
	b := &Budgets{config: config, accounts: map[string]*account{}, creating: map[string]int64{}}
	b.metrics = NewMetrics(config.Registry, b)
	return b
}

// currentAccount returns the account of a namespace, with limits and charge as they are now. The caller holds b.mu.
func (b *Budgets) currentAccount(namespace string) *account {
	now := time.Now()
	a := b.accounts[namespace]
	if a == nil {
		a = &account{at: now, limits: b.config.Limits}
		b.accounts[namespace] = a
	}
	if b.config.Override != nil {
		if text := b.config.Override(namespace); text != a.text {
			a.text, a.limits = text, b.config.Limits
			if text != "" {
				limits, err := b.config.Limits.Override(text)
				if err == nil {
					a.limits = limits
				} else {
					klog.Errorf("The budget of namespace %s is that of every other: its annotation is not understood: %v", namespace, err)
				}
			}
		}
	}
	if a.limits.Written == 0 {
		a.charged = 0
	} else {
		a.charged = max(0, a.charged-now.Sub(a.at).Seconds()*float64(a.limits.Written))
	}
	a.at = now
	return a
}

// burst is how much may be owed before writes are refused.
func (b *Budgets) burst(a *account) float64 {
	return float64(a.limits.Written) * idle.Seconds()
}

func (b *Budgets) quota() int64 {
	if q := b.config.Quota(); q > 0 {
		return q
	}
	return DefaultQuota
}

// Charge counts octets that a namespace's writes have put into etcd.
func (b *Budgets) Charge(namespace string, octets int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.currentAccount(namespace)
	if a.charged += float64(octets); a.limits.Written > 0 {
		a.charged = min(a.charged, 2*b.burst(a))
	}
	if now := time.Now(); now.Sub(b.swept) > sweepEvery {
		b.swept = now
		for namespace := range b.accounts {
			if a := b.currentAccount(namespace); a.stored == 0 && a.charged == 0 {
				delete(b.accounts, namespace)
			}
		}
	}
}

// Recount, Add and Counted take in what is stored; see ledger.Sizes.
func (b *Budgets) Recount() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fresh = map[string]int64{}
}

// Add counts octets of a namespace, or takes them away.
func (b *Budgets) Add(namespace string, octets int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fresh != nil {
		b.fresh[namespace] += octets
		return
	}
	b.currentAccount(namespace).stored += octets
}

// Counted ends a count of all objects.
func (b *Budgets) Counted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.accounts {
		a.stored = 0
	}
	for namespace, octets := range b.fresh {
		b.currentAccount(namespace).stored = octets
	}
	b.fresh, b.counted = nil, true
}

// Write is one that a client asks for.
type Write struct {
	Resource        schema.GroupResource
	Namespace, Name string
	// Grows is by how much the stock would grow; 0 or less where it would not, or is not judged.
	Grows int64
}

// Admit is nil where the namespace's budgets allow the write: 403 where it has too much stored, 429 where it writes
// too fast.
func (b *Budgets) Admit(w Write) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.currentAccount(w.Namespace)
	if may := a.limits.Stored.of(b.quota()); may > 0 && b.counted && w.Grows > 0 && a.stored+w.Grows > may {
		b.metrics.refused.WithLabelValues("stored").Inc()
		message := fmt.Sprintf("namespace %s has %s of records and zones stored and may have %s, and this would add %s (S9.1): "+
			"delete what is not needed any more, or have a cluster admin raise it by the annotation kubi.zone/budget of the Namespace",
			w.Namespace, octets(a.stored), octets(may), octets(w.Grows))
		err := apierrors.NewForbidden(w.Resource, w.Name, fmt.Errorf("%s", message))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: CauseTooMuch, Message: message}}
		refusal.AddRule(&err.ErrStatus, "S9.1")
		return err
	}
	if burst := b.burst(a); burst > 0 && a.charged >= burst {
		b.metrics.refused.WithLabelValues("written").Inc()
		wait := time.Duration((a.charged - burst) / float64(a.limits.Written) * float64(time.Second))
		err := apierrors.NewTooManyRequests(fmt.Sprintf("%s %q: the writes of namespace %s have put %s into etcd that are not forgiven "+
			"yet, of %s that may be, and %s a second are forgiven (S9.2); nothing was written: try again in %s, "+
			"write less often or into smaller zones, or have a cluster admin raise it by the annotation kubi.zone/budget of the Namespace",
			w.Resource, w.Name, w.Namespace, octets(int64(a.charged)), octets(int64(burst)), octets(a.limits.Written),
			(wait+time.Second).Round(time.Second)), 0)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: CauseTooFast, Message: fmt.Sprintf("namespace %s writes more than %s "+
			"a second, which it may for a minute (S9.2): try again later, write less often or into smaller zones, or have a cluster "+
			"admin raise it by the annotation kubi.zone/budget of the Namespace", w.Namespace, octets(a.limits.Written))}}
		refusal.AddRule(&err.ErrStatus, "S9.2")
		err.ErrStatus.Details.RetryAfterSeconds = int32(math.Ceil(min(wait+time.Second, maxRetryAfter).Seconds()))
		return err
	}
	return nil
}

// AdmitCluster is nil where the namespace may have one more Bind9Cluster, which is under way until done is called.
// count says how many are stored. It is asked after the creations under way are counted: two of them do not take the
// last place, and one that ends meanwhile counts twice rather than not at all.
func (b *Budgets) AdmitCluster(resource schema.GroupResource, namespace, name string, count func() (int64, error)) (done func(),
	err error) {
	b.mu.Lock()
	may := b.currentAccount(namespace).limits.Clusters
	b.creating[namespace]++
	creating := b.creating[namespace]
	b.mu.Unlock()
	done = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.creating[namespace]--; b.creating[namespace] == 0 {
			delete(b.creating, namespace)
		}
	}
	if may == 0 {
		return done, nil
	}
	has, err := count()
	if err == nil && has+creating > may {
		b.metrics.refused.WithLabelValues("clusters").Inc()
		message := fmt.Sprintf("namespace %s has %d Bind9Clusters and %d under way, this one included, and may have %d (S9.1): "+
			"delete one that is not needed any more, or have a cluster admin raise it by the annotation kubi.zone/budget of the "+
			"Namespace, as clusters=%d",
			namespace, has, creating, may, 2*may)
		refused := apierrors.NewForbidden(resource, name, fmt.Errorf("%s", message))
		refused.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: CauseTooMuch, Message: message}}
		refusal.AddRule(&refused.ErrStatus, "S9.1")
		err = refused
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// octets for people.
func octets(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
