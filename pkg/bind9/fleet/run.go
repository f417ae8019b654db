// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

const workers = 4

// New returns a Fleet with its informers and event handlers. Run starts the reconciles, and StartWithContext the
// informers. An error is a failed registration at an informer.
func New(config Config) (*Fleet, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.Random == nil {
		config.Random = rand.Reader
	}
	if config.Ask == nil {
		config.Ask = askAgent
	}
	if config.Members == nil {
		config.Members = askMembers
	}
	bind9 := config.Informers.Bind9().V1alpha1()
	f := &Fleet{
		Config: config, children: newChildren(config.Cluster, config.Namespaces, config.Platform.Installation),
		providers: bind9.ClusterBind9Providers().Lister(), clusters: bind9.Bind9Clusters().Lister(),
		instances: bind9.Bind9Instances().Lister(),
		classes:   config.Informers.Kubizone().V1alpha1().DNSClasses().Lister(), common: informers.NewSharedInformerFactoryWithOptions(
			config.Cluster, 0, informers.WithTransform(trimObject)),
		acceptedKeys: acceptedKeys{byAcceptor: map[acceptor]string{}},
		slow:         slowPods{clock: config.Clock, byServer: map[cache.ObjectName]slowAnswers{}},
		silent:       silences{byInstance: map[cache.ObjectName]silence{}},
		replacing:    replacements{server: map[cache.ObjectName]string{}},
	}
	f.children.isOwner = f.findOwner
	f.namespaces = f.common.Core().V1().Namespaces().Lister()
	f.loops = map[string]*loop{
		"provider": newLoop(f.reconcileProvider), "cluster": newLoop(f.reconcileCluster), "instance": newLoop(f.reconcileInstance),
	}
	return f, f.followChanges()
}

func newLoop(reconcile func(context.Context, cache.ObjectName) (time.Duration, error)) *loop {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](200*time.Millisecond, 2*time.Minute)
	return &loop{workqueue.NewTypedRateLimitingQueue(limiter), reconcile}
}

// followChanges registers followChange at all informers. Handlers only enqueue, and never block an informer.
func (f *Fleet) followChanges() error {
	wrong := []error{f.Informers.Bind9().V1alpha1().Bind9Instances().Informer().AddIndexers(cache.Indexers{indexCluster: listClusterOf})}
	handle := func(before, object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if object, ok := object.(metav1.Object); ok {
			before, _ := before.(metav1.Object)
			f.followChange(object, before)
		}
	}
	for _, informer := range f.listInformers() {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { handle(nil, object) }, UpdateFunc: handle, DeleteFunc: func(object any) { handle(nil, object) },
		})
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

func (f *Fleet) listInformers() []cache.SharedIndexInformer {
	bind9 := f.Informers.Bind9().V1alpha1()
	all := append(f.children.listInformers(), bind9.ClusterBind9Providers().Informer(), bind9.Bind9Clusters().Informer(),
		bind9.Bind9Instances().Informer(), f.Informers.Kubizone().V1alpha1().DNSClasses().Informer(),
		f.common.Core().V1().Namespaces().Informer())
	for _, factory := range f.children.superseded {
		all = append(all, factory.Apps().V1().ReplicaSets().Informer())
	}
	return all
}

// followChange enqueues the objects to reconcile after a change. Except after an update, before is nil. A change of a
// cluster's status enqueues no instances, because a thousand instances would enqueue each other.
func (f *Fleet) followChange(object, before metav1.Object) {
	namespace, name := object.GetNamespace(), object.GetName()
	switch o := object.(type) {
	case *bind9.ClusterBind9Provider:
		f.enqueue("provider", "", name)
	case *bind9.Bind9Cluster:
		f.followCluster(o, before)
	case *bind9.Bind9Instance:
		f.followInstance(o, before)
	case *v1alpha1.DNSClass:
		f.followClass(o, before)
	case *appsv1.ReplicaSet: // of another manager's Deployment
		f.enqueue("instance", namespace, o.Labels[labelSuperseded])
	case *corev1.Namespace:
		providers, _ := f.providers.List(labels.Everything())
		for _, provider := range providers {
			f.enqueue("provider", "", provider.Name)
		}
	default:
		f.followChild(o)
	}
}

func (f *Fleet) followCluster(o *bind9.Bind9Cluster, before metav1.Object) {
	f.enqueue("cluster", o.Namespace, o.Name)
	// Finalizers show whether the cluster is in use as a class, whose catalog the servers follow.
	if isOtherSpec(o, before) || !slices.Equal(o.Finalizers, before.GetFinalizers()) {
		f.enqueueInstances(o.Namespace, o.Name)
	}
	f.enqueue("provider", "", o.Name)
}

func (f *Fleet) followClass(o *v1alpha1.DNSClass, before metav1.Object) {
	if !isOtherSpec(o, before) {
		return
	}
	for namespace := range listServerNamespaces(o, before) {
		instances, _ := f.instances.Bind9Instances(namespace).List(labels.Everything())
		for _, instance := range instances {
			f.enqueue("instance", namespace, instance.Name)
		}
	}
}

// followInstance enqueues an instance, the cluster, and the servers with the instance's address in named.conf.
func (f *Fleet) followInstance(o *bind9.Bind9Instance, before metav1.Object) {
	f.enqueue("instance", o.Namespace, o.Name)
	if ref := o.Spec.ClusterRef; ref != nil {
		f.enqueue("cluster", o.Namespace, ref.Name)
		// The named.conf of other servers has the signer's address and, with a bindcar, the primaries'.
		if o.Spec.Role != bind9.RoleSecondary && addressOf(o) != addressOf(before) {
			f.enqueueInstances(o.Namespace, ref.Name)
		}
	}
}

// followChild enqueues the owner of a Kubernetes object. A changed TSIG Secret also enqueues the servers, which mount a
// copy.
func (f *Fleet) followChild(o metav1.Object) {
	switch kind, owner, _ := strings.Cut(o.GetAnnotations()[render.AnnotationOwner], "/"); kind {
	case render.KindInstance:
		f.enqueue("instance", o.GetNamespace(), owner)
	case render.KindCluster:
		f.enqueue("cluster", o.GetNamespace(), owner)
		if _, key := o.(*corev1.Secret); key {
			f.enqueueInstances(o.GetNamespace(), owner)
		}
	}
}

func addressOf(object metav1.Object) string {
	instance, ok := object.(*bind9.Bind9Instance)
	if !ok {
		return ""
	}
	server, _ := apiclass.ServerOf(instance)
	return server.Address
}

func isOtherSpec(o, before metav1.Object) bool {
	return before == nil || o.GetUID() != before.GetUID() || o.GetGeneration() != before.GetGeneration() ||
		(o.GetDeletionTimestamp() == nil) != (before.GetDeletionTimestamp() == nil)
}

// listServerNamespaces returns the namespaces with servers of the classes. Other objects, such as nil, have none.
func listServerNamespaces(classes ...metav1.Object) map[string]bool {
	namespaces := map[string]bool{}
	for _, object := range classes {
		class, ok := object.(*v1alpha1.DNSClass)
		if !ok {
			continue
		}
		if class.Spec.Bind9 != nil {
			for _, namespace := range apiclass.ServerNamespaces(class) {
				namespaces[namespace] = true
			}
		}
		block := ptr.Deref(class.Spec.Transfer, v1alpha1.TransferProvider{})
		refs := []*v1alpha1.SecretReference{block.TSIGSecretRef}
		for _, secondary := range block.Secondaries {
			refs = append(refs, secondary.TSIGSecretRef)
		}
		for _, ref := range refs {
			if ref != nil {
				namespaces[ref.Namespace] = true
			}
		}
	}
	return namespaces
}

func (f *Fleet) findOwner(namespace, owner string) bool {
	kind, name, _ := strings.Cut(owner, "/")
	var err error
	if kind == render.KindInstance {
		_, err = f.instances.Bind9Instances(namespace).Get(name)
	} else {
		_, err = f.clusters.Bind9Clusters(namespace).Get(name)
	}
	return err == nil
}

func (f *Fleet) listFactories() []informers.SharedInformerFactory {
	return slices.AppendSeq(slices.AppendSeq([]informers.SharedInformerFactory{f.common}, maps.Values(f.children.factories)),
		maps.Values(f.children.superseded))
}

func (f *Fleet) StartWithContext(ctx context.Context) {
	for _, factory := range f.listFactories() {
		factory.StartWithContext(ctx)
	}
}

func (f *Fleet) Shutdown() {
	for _, factory := range f.listFactories() {
		factory.Shutdown()
	}
}

// Run reconciles until ctx ends, and then waits for the work in progress. The error is the cause if ctx ends before the
// informers are ready.
func (f *Fleet) Run(ctx context.Context) error {
	if err := f.WaitForSync(ctx); err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	for name, loop := range f.loops {
		for range workers {
			running.Go(func() { loop.workQueue(ctx, name) })
		}
		defer loop.queue.ShutDown()
	}
	running.Go(func() { f.sweepUntil(ctx) })
	running.Go(func() { f.watchAgents(ctx) })
	<-ctx.Done()
	return nil
}

func (f *Fleet) WaitForSync(ctx context.Context) error {
	var synced []cache.InformerSynced
	for _, informer := range f.listInformers() {
		synced = append(synced, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return context.Cause(ctx)
	}
	return nil
}

// workQueue reconciles the objects of a queue until the queue is shut down. Errors are retried with growing delays.
func (l *loop) workQueue(ctx context.Context, name string) {
	for {
		at, ended := l.queue.Get()
		if ended {
			return
		}
		requeueAfter, err := l.reconcile(ctx, at)
		switch {
		// The process ends, and the next process begins with all objects.
		case ctx.Err() != nil:
		case isEach(err, isForeign):
			// Informers do not see foreign objects.
			l.queue.Forget(at)
			l.queue.AddAfter(at, askAgain)
		case isEach(err, apierrors.IsConflict): // the informer lags behind our write
			klog.FromContext(ctx).V(2).Info("fleet: trying again", "kind", name, "object", at, "because", err)
			l.queue.AddRateLimited(at)
		case err != nil:
			klog.FromContext(ctx).Error(err, "fleet: trying again", "kind", name, "object", at)
			l.queue.AddRateLimited(at)
		default:
			l.queue.Forget(at)
			if requeueAfter > 0 {
				l.queue.AddAfter(at, requeueAfter)
			}
		}
		l.queue.Done(at)
	}
}

func isEach(err error, is func(error) bool) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(one error) bool { return !isEach(one, is) })
	}
	return is(err)
}

func isForeign(err error) bool {
	var other *foreign
	return errors.As(err, &other)
}
