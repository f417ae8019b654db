// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

const policyPause = time.Minute

// A kube-apiserver before 1.36 does not serve these kinds in v1, so the factory's own informers would never sync.
func informOfPolicies(factory informers.SharedInformerFactory, pause time.Duration) {
	informWhereServed(factory, pause, &admissionv1.MutatingAdmissionPolicy{}, &admissionv1.MutatingAdmissionPolicyList{},
		func(client kubernetes.Interface) policyClient[*admissionv1.MutatingAdmissionPolicyList] {
			return client.AdmissionregistrationV1().MutatingAdmissionPolicies()
		})
	informWhereServed(factory, pause, &admissionv1.MutatingAdmissionPolicyBinding{}, &admissionv1.MutatingAdmissionPolicyBindingList{},
		func(client kubernetes.Interface) policyClient[*admissionv1.MutatingAdmissionPolicyBindingList] {
			return client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
		})
}

type policyClient[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// informWhereServed registers an informer that stays empty until kube-apiserver serves the kind. Afterwards "not found"
// is an error, so that known policies stay in force.
func informWhereServed[L runtime.Object](factory informers.SharedInformerFactory, pause time.Duration, kind runtime.Object, emptyList L,
	clientOf func(kubernetes.Interface) policyClient[L]) {
	factory.InformerFor(kind, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		policies := clientOf(client)
		var served atomic.Bool
		return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				list, err := policies.List(ctx, options)
				if apierrors.IsNotFound(err) && !served.Load() {
					return emptyList.DeepCopyObject(), nil
				}
				if err != nil {
					return nil, err
				}
				served.Store(true)
				return list, nil
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				// A watch in place of the list has to fail, so that the reflector lists.
				replacesList := ptr.Deref(options.SendInitialEvents, false)
				if !served.Load() && !replacesList {
					return watchNothing(pause), nil
				}
				events, err := policies.Watch(ctx, options)
				if err == nil {
					served.Store(true)
				}
				return events, err
			},
		}, client), kind, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	})
}

// watchNothing returns a watch that expires after the pause, so that the reflector lists again.
func watchNothing(pause time.Duration) watch.Interface {
	events := make(chan watch.Event, 1)
	time.AfterFunc(pause, func() {
		expired := apierrors.NewResourceExpired("kube-apiserver may have been upgraded").ErrStatus
		events <- watch.Event{Type: watch.Error, Object: &expired}
	})
	return watch.NewProxyWatcher(events)
}
