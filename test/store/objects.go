// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/test/must"
)

func objectMeta(ns, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID(uuid.NewUUID()), Generation: 1, CreationTimestamp: metav1.NewTime(time.Now().Truncate(time.Second))}
}

// Zone has a name server below the apex, at-once withdrawals (S2.5) and no holds by mass deletions (S7.5).
func Zone(ns, name, domain string, delegations ...v1alpha1.DelegationRule) *v1alpha1.Zone {
	z := &v1alpha1.Zone{ObjectMeta: objectMeta(ns, name)}
	z.Spec.Limits = &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))}
	z.Spec.DomainName, z.Spec.Delegations = domain, delegations
	z.Spec.WithdrawalGracePeriod = &metav1.Duration{}
	z.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}
	return z
}

func Allow(ns string, patterns ...string) v1alpha1.DelegationRule {
	d := v1alpha1.DelegationRule{Namespace: ns}
	for _, p := range patterns {
		d.Records = append(d.Records, v1alpha1.RecordDelegation{Pattern: p})
	}
	return d
}

func Delegation(ns, name, zone string, namespaces []string, patterns ...string) *v1alpha1.Delegation {
	d := &v1alpha1.Delegation{ObjectMeta: objectMeta(ns, name)}
	d.Spec.ZoneRef.Name, d.Spec.Namespaces = zone, namespaces
	d.Spec.Records = Allow("", patterns...).Records
	return d
}

func Record(ns, name, domain, kind string, values ...string) *v1alpha1.Record {
	r := &v1alpha1.Record{ObjectMeta: objectMeta(ns, name)}
	r.Spec.DomainName, r.Spec.Type, r.Spec.Values = domain, kind, values
	return r
}

func Key(resource, ns, name string) string { return "/kubi.zone/" + resource + "/" + ns + "/" + name }

// CreateZone acts as a user who may establish zones.
func (s *Server) CreateZone(z *v1alpha1.Zone) (*v1alpha1.Zone, error) {
	out := &v1alpha1.Zone{}
	err := s.Zones.Create(s.Ledger.WithEstablish(s.Ctx, true), Key("zones", z.Namespace, z.Name), z, out, 0)
	return out, err
}

func (s *Server) CreateRecord(ctx context.Context, r *v1alpha1.Record) (*v1alpha1.Record, error) {
	out := &v1alpha1.Record{}
	err := s.Records.Create(ctx, Key("records", r.Namespace, r.Name), r, out, 0)
	return out, err
}

func (s *Server) CreateDelegation(d *v1alpha1.Delegation) (*v1alpha1.Delegation, error) {
	out := &v1alpha1.Delegation{}
	err := s.Delegations.Create(s.Ctx, Key("delegations", d.Namespace, d.Name), d, out, 0)
	return out, err
}

func (s *Server) UpdateDelegation(ns, name string, change func(*v1alpha1.Delegation)) (*v1alpha1.Delegation, error) {
	out := &v1alpha1.Delegation{}
	err := s.Delegations.GuaranteedUpdate(s.Ctx, Key("delegations", ns, name), out, false, nil, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		d := in.(*v1alpha1.Delegation)
		change(d)
		d.Generation++
		return d, nil, nil
	}, nil)
	return out, err
}

func (s *Server) DeleteDelegation(ns, name string) error {
	return s.Delegations.Delete(s.Ctx, Key("delegations", ns, name), &v1alpha1.Delegation{}, nil, validateNothing, nil,
		storage.DeleteOptions{})
}

func (s *Server) Delegation(ns, name string) *v1alpha1.Delegation {
	s.T.Helper()
	d := &v1alpha1.Delegation{}
	must.Succeed(s.T, s.Delegations.Get(s.Ctx, Key("delegations", ns, name), storage.GetOptions{}, d))
	return d
}

func (s *Server) UpdateRecord(ctx context.Context, ns, name string, change func(*v1alpha1.Record)) (*v1alpha1.Record, error) {
	out := &v1alpha1.Record{}
	err := s.Records.GuaranteedUpdate(ctx, Key("records", ns, name), out, false, nil, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		r := in.(*v1alpha1.Record)
		change(r)
		r.Generation++
		return r, nil, nil
	}, nil)
	return out, err
}

// UpdateZone changes spec and generation, as a user who may establish zones.
func (s *Server) UpdateZone(ns, name string, change func(*v1alpha1.Zone)) (*v1alpha1.Zone, error) {
	return s.WriteZone(s.Ctx, ns, name, func(z *v1alpha1.Zone) { change(z); z.Generation++ })
}

// WriteZone changes any field, without a new generation.
func (s *Server) WriteZone(ctx context.Context, ns, name string, change func(*v1alpha1.Zone)) (*v1alpha1.Zone, error) {
	out := &v1alpha1.Zone{}
	err := s.Zones.GuaranteedUpdate(s.Ledger.WithEstablish(ctx, true), Key("zones", ns, name), out, false, nil, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		z := in.(*v1alpha1.Zone)
		change(z)
		return z, nil, nil
	}, nil)
	return out, err
}

func validateNothing(context.Context, runtime.Object) error { return nil }

func (s *Server) DeleteRecord(ctx context.Context, ns, name string) error {
	return s.Records.Delete(ctx, Key("records", ns, name), &v1alpha1.Record{}, nil, validateNothing, nil, storage.DeleteOptions{})
}

// DeleteZone sets the annotation if needed (S8.1).
func (s *Server) DeleteZone(ns, name string) error {
	err := s.TryDeleteZone(ns, name)
	if !apierrors.HasStatusCause(err, law.ReasonInUse) {
		return err
	}
	if _, err := s.UpdateZone(ns, name, AnnotateDeletion); err != nil {
		return err
	}
	return s.TryDeleteZone(ns, name)
}

// AnnotateDeletion permits the deletion of a zone with others' objects (S8.1).
func AnnotateDeletion(z *v1alpha1.Zone) {
	if z.Annotations == nil {
		z.Annotations = map[string]string{}
	}
	z.Annotations[v1alpha1.AnnotationDelete] = string(z.UID)
}

func (s *Server) TryDeleteZone(ns, name string) error {
	return s.Zones.Delete(s.Ctx, Key("zones", ns, name), &v1alpha1.Zone{}, nil, validateNothing, nil, storage.DeleteOptions{})
}

func (s *Server) Zone(ns, name string) *v1alpha1.Zone {
	s.T.Helper()
	z := &v1alpha1.Zone{}
	must.Succeed(s.T, s.Zones.Get(s.Ctx, Key("zones", ns, name), storage.GetOptions{}, z))
	return z
}

func (s *Server) Record(ns, name string) *v1alpha1.Record {
	s.T.Helper()
	r := &v1alpha1.Record{}
	must.Succeed(s.T, s.Records.Get(s.Ctx, Key("records", ns, name), storage.GetOptions{}, r))
	return r
}

func (s *Server) ListRecords(ns string) []v1alpha1.Record {
	s.T.Helper()
	key := "/kubi.zone/records/"
	if ns != "" {
		key += ns + "/"
	}
	out := &v1alpha1.RecordList{}
	must.Succeed(s.T, s.Records.GetList(s.Ctx, key, storage.ListOptions{Recursive: true, Predicate: storage.Everything}, out))
	return out.Items
}

func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	must.Eventually(t, what, holds)
}

func Must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("%+v", err))
	}
	return v
}

func (s *Store) PutDelivery(d *v1alpha1.Delivery) {
	s.T.Helper()
	key := s.Prefix + "/kubi.zone/deliveries/" + d.Namespace + "/" + d.Name
	data, err := runtime.Encode(Codec().Codec, d)
	if err == nil && s.Encryption != nil {
		data, err = s.Encryption.TransformToStorage(s.T.Context(), data, value.DefaultContext(key))
	}
	if err == nil {
		_, err = s.Client.Client.Put(s.T.Context(), key, string(data))
	}
	if err != nil {
		s.T.Error(err)
	}
}
