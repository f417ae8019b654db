// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"context"
	"reflect"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/utils/lru"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	sharedObjects = 1000
	sharedParts   = 1000
)

// Codec decodes watch events. Equal parts of objects share memory.
type Codec struct {
	runtime.Codec
	lastVersions *lru.Cache // from types.UID to sharedFields
	*parts
}

type sharedFields struct {
	annotations   map[string]string
	managedFields []metav1.ManagedFieldsEntry
	delegations   []v1alpha1.DelegationRule
	nameServers   []v1alpha1.NameServer
	values        []string
}

func New(codec runtime.Codec) Codec {
	return Codec{codec, lru.New(sharedObjects), &parts{lru.New(sharedParts), lru.New(sharedParts)}}
}

// Decoder returns a decoder for the watch cache's initial lists.
func (c Codec) Decoder(plain etcd3.Decoder) etcd3.Decoder { return decoder{plain, c.parts} }

// Decode decodes an object into the type of data, and replaces parts by equal parts of the object's last version: after
// a write of status, both versions of a Zone share spec.delegations in memory. The result must not be modified, as for
// all objects of a watch cache. Errors are those of the codec.
func (c Codec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind,
	error) {
	object, kind, err := c.Codec.Decode(data, defaults, into)
	if err != nil {
		return object, kind, err
	}
	c.internParts(object) // before fields are shared with objects in use
	switch o := object.(type) {
	case *v1alpha1.Zone:
		c.shareFields(&o.ObjectMeta, &o.Spec.Delegations, &o.Spec.NameServers, nil)
	case *v1alpha1.Record:
		c.shareFields(&o.ObjectMeta, nil, nil, &o.Spec.Values)
	}
	return object, kind, nil
}

// shareFields shares the fields of an object with its last version, found by UID. A write of status leaves most of them
// equal, and a busy zone has many versions in the cache.
func (c Codec) shareFields(meta *metav1.ObjectMeta, delegations *[]v1alpha1.DelegationRule, nameServers *[]v1alpha1.NameServer,
	values *[]string) {
	var have sharedFields
	if last, ok := c.lastVersions.Get(meta.UID); ok {
		have = last.(sharedFields)
	}
	have.annotations = shareEqual(&meta.Annotations, have.annotations)
	have.managedFields = shareEqual(&meta.ManagedFields, have.managedFields)
	have.delegations = shareEqual(delegations, have.delegations)
	have.nameServers = shareEqual(nameServers, have.nameServers)
	have.values = shareEqual(values, have.values)
	c.lastVersions.Add(meta.UID, have)
}

func shareEqual[T any](of *T, remembered T) T {
	if of == nil {
		return remembered
	}
	if reflect.DeepEqual(*of, remembered) {
		*of = remembered
	}
	return *of
}

type decoder struct {
	etcd3.Decoder
	*parts
}

func (d decoder) DecodeListItem(ctx context.Context, data []byte, rev uint64, newItem func() runtime.Object) (runtime.Object, error) {
	o, err := d.Decoder.DecodeListItem(ctx, data, rev, newItem)
	if err == nil {
		d.internParts(o)
	}
	return o, err
}

type parts struct {
	fields *lru.Cache // raw managed fields to *metav1.FieldsV1
	labels *lru.Cache // of the only label, as KEY=VALUE
}

// internParts replaces texts and metadata by equal values of other objects. Thousands of Records have the same manager,
// label and conditions.
func (x *parts) internParts(object runtime.Object) {
	switch o := object.(type) {
	case *v1alpha1.Zone:
		x.internMeta(&o.ObjectMeta)
		internConditions(o.Status.Conditions)
		internTexts(&o.Spec.DomainName, &o.Status.FQDN)
	case *v1alpha1.Record:
		x.internMeta(&o.ObjectMeta)
		internConditions(o.Status.Conditions)
		internTexts(&o.Spec.DomainName, &o.Status.FQDN, &o.Spec.Type)
		if z := o.Status.ZoneRef; z != nil {
			internTexts(&z.Namespace, &z.Name, (*string)(&z.UID))
		}
	case *v1alpha1.Delivery:
		x.internMeta(&o.ObjectMeta)
		internConditions(o.Status.Conditions)
	}
}

// internMeta shares the namespace, a single label, and managed fields.
func (x *parts) internMeta(meta *metav1.ObjectMeta) {
	internTexts(&meta.Namespace)
	if len(meta.Labels) == 1 {
		for key, value := range meta.Labels {
			meta.Labels = intern(x.labels, key+"="+value, meta.Labels)
		}
	}
	for i := range meta.ManagedFields {
		m := &meta.ManagedFields[i]
		internTexts(&m.Manager, (*string)(&m.Operation), &m.APIVersion, &m.FieldsType, &m.Subresource)
		if m.FieldsV1 != nil {
			m.FieldsV1 = intern(x.fields, m.FieldsV1.GetRawString(), m.FieldsV1)
		}
	}
}

func intern[T any](kept *lru.Cache, key string, value T) T {
	if have, ok := kept.Get(key); ok {
		return have.(T)
	}
	kept.Add(key, value)
	return value
}

func internConditions(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		internTexts(&c.Type, (*string)(&c.Status), &c.Reason, &c.Message)
	}
}

func internTexts(all ...*string) {
	for _, t := range all {
		*t = unique.Make(*t).Value()
	}
}
