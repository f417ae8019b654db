// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package reaper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	coreinformers "k8s.io/client-go/informers/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kubi.zone/kubizone/api/client/clientset/versioned"
)

const (
	// confirmAfter is the time between the two 404s about a namespace (R1).
	confirmAfter = 10 * time.Minute
	// hourlyShare is the share of the namespaces that may go in an hour (R3).
	hourlyShare = 0.05
	// lookInterval is the time from one look to the next where nothing happens, settle where a namespace was deleted:
	// what empties it needs a moment, and many deletions at once need one look.
	lookInterval, settleTime = 2 * time.Minute, 10 * time.Second
	// askTimeout bounds one live request: a client without a timeout of its own would hold up every look for ever.
	askTimeout = 30 * time.Second
)

// Store is what the reaper needs of the store; the ledger is one.
type Store interface {
	// Namespaces lists those that have objects to remove.
	Namespaces(ctx context.Context) ([]string, error)
	// RememberCluster returns the cluster that the store belongs to, which is uid from now on where it is none yet.
	RememberCluster(ctx context.Context, uid string) (string, error)
	// TakeReapingTurn returns 0 to one replica once in each pace, to the others how long it is to the next turn.
	TakeReapingTurn(ctx context.Context, pace time.Duration) (wait time.Duration, err error)
}

// Config is what a Reaper is made of. Every field but Clock is required.
type Config struct {
	// Informer follows the namespaces of the cluster. The caller starts it.
	Informer coreinformers.NamespaceInformer
	// Live asks the kube-apiserver itself about a namespace; no cache may stand between.
	Live coreclient.NamespacesGetter
	// Objects deletes through our own API.
	Objects versioned.Interface
	// Store is where the objects are.
	Store Store
	// Clock is for tests; nil: the real one.
	Clock clock.Clock
}

// Validate reports every fault of the configuration.
func (c *Config) Validate() error {
	var wrong []error
	for _, field := range []struct {
		name    string
		missing bool
	}{{"Informer", c.Informer == nil}, {"Live", c.Live == nil}, {"Objects", c.Objects == nil}, {"Store", c.Store == nil}} {
		if field.missing {
			wrong = append(wrong, fmt.Errorf("reaper: %s is required", field.name))
		}
	}
	return errors.Join(wrong...)
}

// Reaper removes what namespaces left. Run is called once.
type Reaper struct {
	config Config
	clock  clock.Clock
	// gone says when a namespace was first not there; only Run's goroutine uses it.
	gone map[string]time.Time
}

// New makes a Reaper.
func New(config Config) (*Reaper, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	r := &Reaper{config: config, clock: config.Clock, gone: map[string]time.Time{}}
	if r.clock == nil {
		r.clock = clock.RealClock{}
	}
	return r, nil
}

// Run looks for namespaces that are gone at the start, after each deletion of one and every two minutes, until ctx
// ends. A look that fails is logged and made again. The error is that of an informer that takes no handler.
func (r *Reaper) Run(ctx context.Context) error {
	informer := r.config.Informer.Informer()
	deleted := make(chan struct{}, 1)
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) {
		select {
		case deleted <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		return fmt.Errorf("reaper: following namespaces: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	for {
		if err := r.lookForGone(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "objects of namespaces that are gone stay for now")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.clock.After(lookInterval):
			continue
		case <-deleted:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.clock.After(settleTime):
		}
	}
}

// lookForGone finds the namespaces that are gone and empties the next of them whose turn it is.
func (r *Reaper) lookForGone(ctx context.Context) error {
	if err := r.isOurs(ctx); err != nil {
		clear(r.gone) // R2: what was seen meanwhile may have been another cluster's
		return err
	}
	there, err := r.listNamespaces()
	if err != nil {
		return err
	}
	held, err := r.config.Store.Namespaces(ctx)
	if err != nil {
		return err
	}
	var ripe []string
	var doubts []error
	seen := sets.New[string]()
	for _, namespace := range held {
		if there.Has(namespace) {
			continue
		}
		is, err := r.isGone(ctx, namespace)
		if err != nil {
			doubts = append(doubts, err)
		}
		if !is {
			continue
		}
		seen.Insert(namespace)
		first, before := r.gone[namespace]
		if !before {
			r.gone[namespace] = r.clock.Now()
			klog.FromContext(ctx).Info("namespace is gone and left objects; they are removed if it stays so", "namespace", namespace, "for", confirmAfter)
		} else if r.clock.Since(first) >= confirmAfter {
			ripe = append(ripe, namespace)
		}
	}
	for namespace := range r.gone {
		if !seen.Has(namespace) {
			delete(r.gone, namespace)
		}
	}
	slices.SortFunc(ripe, func(x, y string) int { return r.gone[x].Compare(r.gone[y]) })
	pace := time.Duration(float64(time.Hour) / (hourlyShare * float64(max(len(held), 1))))
	for _, namespace := range ripe {
		// An object that is being deleted or protected stays whatever we do, and must not take the turns of others.
		any, err := r.hasRemovable(ctx, namespace)
		if err != nil {
			doubts = append(doubts, err)
			continue
		}
		if !any {
			continue
		}
		wait, err := r.config.Store.TakeReapingTurn(ctx, pace)
		if err != nil {
			return errors.Join(append(doubts, err)...)
		}
		if wait > 0 {
			klog.FromContext(ctx).V(2).Info("namespaces wait for their turn to be emptied", "namespaces", len(ripe), "next", wait)
			break
		}
		if err := r.emptyNamespace(ctx, namespace); err != nil {
			doubts = append(doubts, err)
		}
	}
	return errors.Join(doubts...)
}

// isOurs checks that the cluster is the one that the store belongs to.
func (r *Reaper) isOurs(ctx context.Context) error {
	system, err := r.getLive(ctx, metav1.NamespaceSystem)
	if err != nil {
		return fmt.Errorf("reaper: asking which cluster this is, by namespace %s: %w", metav1.NamespaceSystem, err)
	}
	if system.UID == "" {
		return fmt.Errorf("reaper: namespace %s has no UID, so the cluster cannot be told from another", metav1.NamespaceSystem)
	}
	ours, err := r.config.Store.RememberCluster(ctx, string(system.UID))
	if err != nil {
		return err
	}
	if ours != string(system.UID) {
		return fmt.Errorf("reaper: the store belongs to the cluster whose namespace %s has UID %s, and this one's has %s: "+
			"nothing is removed until `kubizone adopt-cluster` says that it belongs here (S8.3)", metav1.NamespaceSystem, ours, system.UID)
	}
	return nil
}

// getLive gets a namespace from the kube-apiserver itself, past every cache.
func (r *Reaper) getLive(ctx context.Context, namespace string) (*corev1.Namespace, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return r.config.Live.Namespaces().Get(ctx, namespace, metav1.GetOptions{})
}

// listNamespaces returns the namespaces that the informer has. A list that cannot be whole is an error.
func (r *Reaper) listNamespaces() (sets.Set[string], error) {
	list, err := r.config.Informer.Lister().List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("reaper: listing namespaces: %w", err)
	}
	out := sets.New[string]()
	for _, namespace := range list {
		out.Insert(namespace.Name)
	}
	if !out.Has(metav1.NamespaceSystem) {
		return nil, fmt.Errorf("reaper: the list of %d namespaces has no %s in it, so it is not whole", len(list), metav1.NamespaceSystem)
	}
	return out, nil
}

// isGone asks the kube-apiserver whether a namespace is gone. An answer that says neither is an error.
func (r *Reaper) isGone(ctx context.Context, namespace string) (bool, error) {
	_, err := r.getLive(ctx, namespace)
	if err == nil {
		return false, nil
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false, fmt.Errorf("reaper: asking about namespace %s: %w", namespace, err)
	}
	// A proxy or load balancer in the place of a kube-apiserver says 404 too, but not about this namespace.
	details := status.Status().Details
	if details == nil || details.Kind != "namespaces" || details.Name != namespace || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return false, fmt.Errorf("reaper: a 404 that does not say that namespace %s is not found is no answer of a kube-apiserver: %w", namespace, err)
	}
	return true, nil
}
