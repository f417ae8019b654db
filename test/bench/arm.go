// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Zones in one namespace delegate all names to Records of another: the most expensive admission.
const (
	zoneNamespace   = "platform"
	recordNamespace = "tenant"
)

const (
	armOne     = "one zone"
	armSixteen = "16 zones"
	armPlain   = "plain"
)

type arm struct {
	name         string
	server, etcd *process
	batch        func(label string, n int) (batch, error)
}

type batch interface {
	create(ctx context.Context, i int) error
	update(ctx context.Context, i int) error
	remove(ctx context.Context, i int) error
	// between waits until the server's caches have the last write.
	between(ctx context.Context) error
}

type backend struct {
	server, etcd *process
	client       versioned.Interface
}

func newBackend(ctx context.Context, dir string, plain bool, slow time.Duration, started func(*process)) (*backend, error) {
	var b backend
	var err error
	if b.etcd, err = startProcess(ctx, role{Kind: "etcd", Dir: filepath.Join(dir, "e"), SlowDisk: slow}); err != nil {
		return nil, err
	}
	started(b.etcd)
	server := role{Kind: "server", Dir: filepath.Join(dir, "s"), Etcd: b.etcd.Etcd, Plain: plain}
	if b.server, err = startProcess(ctx, server); err != nil {
		return nil, err
	}
	started(b.server)
	config, err := clientcmd.BuildConfigFromFlags("", b.server.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.UserAgent = -1, "kubizone-bench"
	b.client, err = versioned.NewForConfig(config)
	return &b, err
}

func (b *backend) makeZone(ctx context.Context, object, domain string) error {
	z := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: zoneNamespace, Name: object}}
	z.Spec.DomainName = domain
	z.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}
	z.Spec.Delegations = []v1alpha1.DelegationRule{{Namespace: recordNamespace, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}
	if _, err := b.client.KubizoneV1alpha1().Zones(zoneNamespace).Create(ctx, z, metav1.CreateOptions{}); err != nil {
		return err
	}
	return b.waitForZone(ctx, object)
}

func (b *backend) waitForZone(ctx context.Context, object string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("zone %s did not settle within a minute", object))
	defer cancel()
	for {
		z, err := b.client.KubizoneV1alpha1().Zones(zoneNamespace).Get(ctx, object, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if meta.IsStatusConditionTrue(z.Status.Conditions, v1alpha1.ConditionSettled) {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func makeRecord(object, domainName string, n int) *v1alpha1.Record {
	ttl := int32(300)
	r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: recordNamespace, Name: object}}
	r.Spec = v1alpha1.RecordSpec{DomainName: domainName, Type: "A", TTL: &ttl, Values: []string{makeAddress(10, n)}}
	return r
}

func makeAddress(net, n int) string {
	return fmt.Sprintf("%d.%d.%d.%d", net, n>>16&0xff, n>>8&0xff, n&0xff)
}

type apiBatch struct {
	client  versioned.Interface
	records []*v1alpha1.Record
	last    []*v1alpha1.Record
}

func (b *backend) makeBatch(zones []string) func(string, int) (batch, error) {
	return func(label string, n int) (batch, error) {
		w := &apiBatch{client: b.client, last: make([]*v1alpha1.Record, n)}
		for i := range n {
			object := fmt.Sprintf("%s-%05d", label, i)
			w.records = append(w.records, makeRecord(object, object+"."+zones[i%len(zones)], i))
		}
		return w, nil
	}
}

func (w *apiBatch) create(ctx context.Context, i int) (err error) {
	w.last[i], err = w.client.KubizoneV1alpha1().Records(recordNamespace).Create(ctx, w.records[i], metav1.CreateOptions{})
	return err
}

func (w *apiBatch) update(ctx context.Context, i int) (err error) {
	r := w.last[i].DeepCopy()
	r.Spec.Values[0] = makeAddress(11, i)
	w.last[i], err = w.client.KubizoneV1alpha1().Records(recordNamespace).Update(ctx, r, metav1.UpdateOptions{})
	return err
}

func (w *apiBatch) remove(ctx context.Context, i int) error {
	return w.client.KubizoneV1alpha1().Records(recordNamespace).Delete(ctx, w.records[i].Name, metav1.DeleteOptions{})
}

func (w *apiBatch) between(ctx context.Context) error {
	youngest := w.last[0]
	for _, r := range w.last[1:] {
		if len(r.ResourceVersion) > len(youngest.ResourceVersion) || len(r.ResourceVersion) == len(youngest.ResourceVersion) && r.ResourceVersion > youngest.ResourceVersion {
			youngest = r
		}
	}
	_, err := w.client.KubizoneV1alpha1().Records(recordNamespace).Get(ctx, youngest.Name, metav1.GetOptions{ResourceVersion: youngest.ResourceVersion})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
