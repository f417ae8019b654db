// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const sharedObjects = 1000

// sharing is the codec of a resource's watch. The watch cache keeps decoded objects for over a minute. Each write of a
// Record also writes its Zone, mostly the status: a Zone of 64 KiB took 110 KiB of memory for a patch of 30 octets. So
// equal large fields of an object's successive versions share memory.
//
// Watched objects are read-only. No write decodes with this codec: etcd3.Decoder has the plain codec.
type sharing struct {
	runtime.Codec
	last *lru.Cache // from types.UID to pieces
}

type pieces struct {
	annotations   map[string]string
	managedFields []metav1.ManagedFieldsEntry
	delegations   []v1alpha1.DelegationRule
	nameServers   []v1alpha1.NameServer
	values        []string
}

func newSharing(codec runtime.Codec) sharing {
	return sharing{codec, lru.New(sharedObjects)}
}

func (s sharing) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind,
	error) {
	object, kind, err := s.Codec.Decode(data, defaults, into)
	if err != nil {
		return object, kind, err
	}
	switch o := object.(type) {
	case *v1alpha1.Zone:
		s.share(&o.ObjectMeta, &o.Spec.Delegations, &o.Spec.NameServers, nil)
	case *v1alpha1.Record:
		s.share(&o.ObjectMeta, nil, nil, &o.Spec.Values)
	}
	return object, kind, nil
}

func (s sharing) share(meta *metav1.ObjectMeta, delegations *[]v1alpha1.DelegationRule, nameServers *[]v1alpha1.NameServer,
	values *[]string) {
	var have pieces
	if last, ok := s.last.Get(meta.UID); ok {
		have = last.(pieces)
	}
	have.annotations = take(&meta.Annotations, have.annotations)
	have.managedFields = take(&meta.ManagedFields, have.managedFields)
	have.delegations = take(delegations, have.delegations)
	have.nameServers = take(nameServers, have.nameServers)
	have.values = take(values, have.values)
	s.last.Add(meta.UID, have)
}

// take replaces an equal field by the remembered value, and returns the field's value.
func take[T any](of *T, remembered T) T {
	if of == nil {
		return remembered
	}
	if reflect.DeepEqual(*of, remembered) {
		*of = remembered
	}
	return *of
}
