// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apiserver/registry/fromcache"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// An instance that gets the fleet's finalizer during its deletion stays: the fleet creates its objects then, and
// would miss the deletion (S11.12).
func TestDelete_waitsForAFinalizerThatCameMeanwhile_S11_12(t *testing.T) {
	etcd := must.Get(kuberig.StartEtcd(t.Context(), t.TempDir()))(t)
	t.Cleanup(etcd.Close)
	registry := install.New()
	backend := storagebackend.Config{
		Type: storagebackend.StorageTypeETCD3, Prefix: "/registry", Codec: registry.StorageCodec(),
		Transport: storagebackend.TransportConfig{ServerList: []string{etcd.Endpoint}}, EventsHistoryWindow: storagebackend.DefaultEventsHistoryWindow,
	}
	cached := genericregistry.StorageWithCacher()
	paths, _, err := NewStorage(Config{Scheme: registry.Scheme, RESTOptions: generic.RESTOptions{
		StorageConfig: backend.ForResource(bind9.Resource("all")), ResourcePrefix: "/all", DeleteCollectionWorkers: 1, EnableGarbageCollection: true,
		Decorator: func(config *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error), of, list func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			in, destroy, err := cached(config, prefix, key, of, list, attributes, triggers, indexers)
			return fromcache.Storage(in), destroy, err
		},
	}})
	must.Succeed(t, err)
	for _, path := range paths {
		t.Cleanup(path.Destroy)
	}
	instances := paths["bind9instances"].(*kind.REST[*bind9.Bind9Instance])
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), "dns")
	for title, remove := range map[string]func(instance *bind9.Bind9Instance, admit rest.ValidateObjectFunc) error{
		"by name": func(instance *bind9.Bind9Instance, admit rest.ValidateObjectFunc) error {
			_, _, err := instances.Delete(ctx, instance.Name, admit, &metav1.DeleteOptions{})
			return err
		},
		"by name and UID": func(instance *bind9.Bind9Instance, admit rest.ValidateObjectFunc) error {
			_, _, err := instances.Delete(ctx, instance.Name, admit, &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(instance.UID))})
			return err
		},
		"all of the namespace": func(_ *bind9.Bind9Instance, admit rest.ValidateObjectFunc) error {
			_, err := instances.DeleteCollection(ctx, admit, &metav1.DeleteOptions{}, &internalversion.ListOptions{})
			if !apierrors.IsConflict(err) {
				return err
			}
			_, err = instances.DeleteCollection(ctx, admit, &metav1.DeleteOptions{}, &internalversion.ListOptions{}) // as clients do
			return err
		},
	} {
		t.Run(title, func(t *testing.T) {
			made := must.Get(instances.Store.Create(ctx, fleetInstance(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}))(t)
			write := func(finalizers ...string) {
				if _, _, err := instances.Store.Update(ctx, "ns1", rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
					next := old.DeepCopyObject().(*bind9.Bind9Instance)
					next.Finalizers = finalizers
					return next, nil
				}), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); err != nil {
					t.Error(err)
				}
			}
			// Admission sees the deletion of an instance without finalizers.
			hold := sync.OnceFunc(func() { write("bind9.kubi.zone/fleet") })
			must.Succeed(t, remove(made.(*bind9.Bind9Instance), func(context.Context, runtime.Object) error { hold(); return nil }))
			got := must.Get(instances.Get(ctx, "ns1", &metav1.GetOptions{}))(t)
			if left := got.(*bind9.Bind9Instance); left.DeletionTimestamp == nil || !slices.Equal(left.Finalizers, []string{"bind9.kubi.zone/fleet"}) {
				t.Errorf("%+v", left.ObjectMeta)
			}
			write()
			if _, err := instances.Get(ctx, "ns1", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("without its finalizer: %v", err)
			}
		})
	}
}

func fleetInstance() *bind9.Bind9Instance {
	return &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: "ns1", Namespace: "dns"}, Spec: bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary}}
}
