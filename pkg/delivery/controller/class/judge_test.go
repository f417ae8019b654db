// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/test/must"
)

// The fake client panics when a watch is full.
func init() { watch.DefaultChanSize = 10_000 }

// startJudge runs the API server's judge of Ready beside the controller, until end.
func startJudge(t testing.TB, stored *records, config judge.Config) (end func()) {
	config.Ledger, config.WatchRecords, config.Registry = stored, stored.watchAll, metrics.NewKubeRegistry()
	if config.Frozen == nil {
		config.Frozen = func() []cache.ObjectName { return nil }
	}
	if config.Announce == nil {
		config.Announce = func(*v1alpha1.Zone, string, string, string) {}
	}
	config.NewIndex = func() *objects.Index {
		own := externalversions.NewSharedInformerFactory(stored.client, 0)
		api := own.Kubizone().V1alpha1()
		return &objects.Index{Zones: api.Zones().Informer(), Deliveries: api.Deliveries().Informer(), Classes: api.DNSClasses().Informer(),
			Clusters: own.Bind9().V1alpha1().Bind9Clusters().Informer()}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- judge.New(config).Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		must.Succeed(t, <-ended)
		synctest.Wait()
	}
}

// records are the Zones and Records in the client's tracker, in place of the ledger.
type records struct {
	client *fake.Clientset
	// written counts the writes of Records, zones those of Zones.
	written, zones atomic.Int64
	// lease admits one judge at a time; nil with a single judge.
	lease chan struct{}
}

func (r *records) RunElected(ctx context.Context, run func(context.Context)) error {
	if r.lease != nil {
		select {
		case r.lease <- struct{}{}:
			defer func() { <-r.lease }()
		case <-ctx.Done():
			return nil
		}
	}
	run(ctx)
	return nil
}

func (r *records) listRecords(of func(*v1alpha1.Record) bool) (refs []law.Ref, err error) {
	all, err := r.client.KubizoneV1alpha1().Records("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range all.Items {
		if of(&all.Items[i]) {
			refs = append(refs, law.Ref{Namespace: all.Items[i].Namespace, Name: all.Items[i].Name})
		}
	}
	return refs, nil
}

func (r *records) Members(_ context.Context, zone, from string, most int) (members []law.Ref, next string, err error) {
	all, err := r.listRecords(func(one *v1alpha1.Record) bool { return string(one.Status.ZoneRef.UID) == zone })
	slices.SortFunc(all, func(a, b law.Ref) int { return strings.Compare(a.Name, b.Name) })
	i, _ := slices.BinarySearchFunc(all, from, func(ref law.Ref, from string) int { return strings.Compare(ref.Name, from) })
	if members = all[i:]; len(members) > most {
		members, next = members[:most], members[most].Name
	}
	return members, next, err
}

func (r *records) MembersAt(_ context.Context, zone string, owner name.Rel) ([]law.Ref, error) {
	return r.listRecords(func(one *v1alpha1.Record) bool {
		return string(one.Status.ZoneRef.UID) == zone && strings.HasPrefix(one.Status.FQDN, owner.String())
	})
}

func (r *records) ChangeZone(ctx context.Context, namespace, name string, change func(*v1alpha1.Zone) bool) (bool, error) {
	zone, err := r.client.KubizoneV1alpha1().Zones(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	if zone = zone.DeepCopy(); !change(zone) {
		return false, nil
	}
	zone.ResourceVersion = fmt.Sprint(r.zones.Add(1)) // a judge with an older cache must not write; the fake client counts none
	_, err = r.client.KubizoneV1alpha1().Zones(namespace).UpdateStatus(ctx, zone, metav1.UpdateOptions{})
	return err == nil, err
}

func (r *records) RaiseSerial(context.Context, law.Ref, zones.Ahead) (bool, error) { return false, nil }

func (r *records) ChangeRecords(ctx context.Context, namespace string, names []string,
	change func(*v1alpha1.Record) bool) (changed int, err error) {
	for _, name := range names {
		record, err := r.client.KubizoneV1alpha1().Records(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return changed, err
		}
		if record = record.DeepCopy(); !change(record) {
			continue
		}
		if _, err := r.client.KubizoneV1alpha1().Records(namespace).UpdateStatus(ctx, record, metav1.UpdateOptions{}); err != nil {
			return changed, err
		}
		changed++
		r.written.Add(1)
	}
	return changed, nil
}

// watchAll sends the present Records first, as the watch cache does.
func (r *records) watchAll(ctx context.Context, _ string) (watch.Interface, error) {
	events, err := r.client.KubizoneV1alpha1().Records("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all, err := r.client.KubizoneV1alpha1().Records("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	merged := watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: len(all.Items)})
	for i := range all.Items {
		merged.Add(&all.Items[i])
	}
	go func() {
		defer events.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case event := <-events.ResultChan():
				merged.Action(event.Type, event.Object)
			}
		}
	}()
	return merged, nil
}
