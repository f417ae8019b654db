// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
	"kubi.zone/kubizone/test/store"
)

// Informers behind kube-apiserver follow transactions of 40 Records, each whole and in order, whose objects share a
// revision of etcd, while both replicas below them are replaced. A Record that is changed at a version from the
// middle of a revision is compared with that, and one that is deleted there is gone.
func TestVersions_informersBehindTheAggregator(t *testing.T) {
	c := need(t)
	ctx := within(t, 3*waitTimeout)
	const namespace, objects = "versions", 40
	if err := c.kube.Namespace(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	_, client := clients(t, c.kube.Admin())
	must(client.Resource(zones).Namespace(namespace).Create(ctx, zoneObject(namespace, "versions", "versions.example.", everyName(namespace)), metav1.CreateOptions{}))(t)
	var keys []string
	for i := range objects {
		name := fmt.Sprint("r", i)
		must(client.Resource(records).Namespace(namespace).Create(ctx, recordObject(namespace, name, name+".versions.example."), metav1.CreateOptions{}))(t)
		keys = append(keys, layout.Keys{Prefix: apiserver.Prefix}.Record(namespace, name))
	}
	if err := c.scale(ctx, 2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.scale(context.Background(), 1); err != nil {
			t.Error(err)
		}
	})
	var all []*kuberig.Informer
	for range 8 {
		i := kuberig.Inform(ctx, cache.ToListerWatcherWithContext(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return client.Resource(records).Namespace(namespace).List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return client.Resource(records).Namespace(namespace).Watch(ctx, o)
			},
		}), &unstructured.Unstructured{})
		<-i.Synced()
		all = append(all, i)
	}
	present := func() map[string]string {
		now := map[string]string{}
		for _, r := range must(client.Resource(records).Namespace(namespace).List(ctx, metav1.ListOptions{}))(t).Items {
			now[r.GetNamespace()+"/"+r.GetName()] = r.GetResourceVersion()
		}
		return now
	}
	have := func(what string) {
		t.Helper()
		now := present()
		for n, informer := range all {
			rig.Until(ctx, t, what, func() error {
				if got := informer.Has(); !maps.Equal(got, now) {
					return fmt.Errorf("informer %d has %v, not %v", n, got, now)
				}
				return nil
			})
		}
	}
	counted := func() (sum kuberig.Informed) {
		for _, informer := range all {
			now := informer.Counts()
			sum.Events, sum.Disorder = sum.Events+now.Events, sum.Disorder+now.Disorder
			sum.Lists, sum.Watches, sum.Whole = sum.Lists+now.Lists, sum.Watches+now.Watches, sum.Whole+now.Whole
		}
		return sum
	}
	write := func(times int) {
		t.Helper()
		etcd := must(clientv3.New(clientv3.Config{Endpoints: []string{c.etcd.Endpoint}, Logger: zap.NewNop()}))(t)
		defer etcd.Close()
		if err := store.Together(ctx, etcd, apiserver.Prefix, times, func() { time.Sleep(20 * time.Millisecond) }, keys...); err != nil {
			t.Fatal(err)
		}
	}
	before := counted()
	write(25)
	have("every informer has all")
	now := counted()
	t.Logf("25 transactions of %d by two replicas: %d events to %d informers, %d requests anew", objects, now.Events-before.Events, len(all), now.Watches-before.Watches+now.Lists-before.Lists)
	// A server may end a watch of a client that reads late. The next one can begin with a list, which passes over
	// events.
	whole := now.Lists == before.Lists && now.Whole == before.Whole
	if now.Disorder > 0 || whole && now.Events-before.Events != 25*objects*len(all) {
		t.Errorf("%d events of %d, %d in disorder", now.Events-before.Events, 25*objects*len(all), now.Disorder)
	}
	// While they come each replica is replaced: informers go on at the other one, in the middle of revisions too.
	var writer sync.WaitGroup
	enough := make(chan struct{})
	rounds := 0
	writer.Go(func() {
		for {
			select {
			case <-enough:
				return
			default:
				write(10)
				rounds += 10
			}
		}
	})
	for i := range c.replicas {
		if err := errors.Join(c.replicas[i].Stop(ctx), c.restart(ctx, i), c.waitReady(ctx)); err != nil {
			t.Error(err)
		}
	}
	close(enough)
	writer.Wait()
	have("every informer has all after its server went")
	after := counted()
	t.Logf("%d transactions while both replicas were replaced: %d events of %d, %d watches anew, %d of them whole, and %d lists", rounds, after.Events-now.Events, rounds*objects*len(all), after.Watches-now.Watches, after.Whole-now.Whole, after.Lists-now.Lists)
	if after.Disorder > 0 || after.Watches == now.Watches {
		t.Errorf("%d events in disorder, %d watches anew", after.Disorder, after.Watches-now.Watches)
	}
	if after.Lists == now.Lists && after.Whole == now.Whole && after.Events-now.Events != rounds*objects*len(all) { // a list passes over some
		t.Error("what the informers were told is not each event once")
	}
	// An object in the middle of a revision is changed and deleted like every other.
	third := must(client.Resource(records).Namespace(namespace).Get(ctx, "r3", metav1.GetOptions{}))(t)
	stale := third.DeepCopy()
	third.SetLabels(map[string]string{"a": "b"})
	third = must(client.Resource(records).Namespace(namespace).Update(ctx, third, metav1.UpdateOptions{}))(t)
	if _, err := client.Resource(records).Namespace(namespace).Update(ctx, stale, metav1.UpdateOptions{}); err == nil {
		t.Error("a change at the version of before is taken in")
	}
	fourth := must(client.Resource(records).Namespace(namespace).Get(ctx, "r4", metav1.GetOptions{}))(t)
	version := fourth.GetResourceVersion()
	if err := client.Resource(records).Namespace(namespace).Delete(ctx, "r4", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}); err != nil {
		t.Error(err)
	}
	have("every informer has what was changed and deleted")
	if got := present(); got[namespace+"/r3"] != third.GetResourceVersion() || got[namespace+"/r4"] != "" {
		t.Errorf("r3 is at %q, not %s, r4 at %q", got[namespace+"/r3"], third.GetResourceVersion(), got[namespace+"/r4"])
	}
}
