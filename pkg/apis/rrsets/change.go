// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rrsets

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Change is a write of a Record by a client: a create, an update, an apply or a delete.
type Change struct {
	// Before is the Record as read, or nil for a creation. After is the wanted Record, or nil for a deletion.
	Before, After *v1alpha1.Record
	// Manager is the field manager in a change set, or "" for the Writer's.
	Manager string
	// AppliedJSON is After as its author wrote it, for an apply. If nil, After is encoded.
	AppliedJSON []byte
	// PatchJSON is a JSON merge patch (RFC 7386) of Before, sent alone. If nil, a separate update patches TTL, values
	// and annotations.
	PatchJSON []byte
	// OtherManagers are other field managers that have set fields of Before's spec.
	OtherManagers []string
	// Separate is true if the change must not go into a change set, as for a Record without a zone.
	Separate bool
}

func (c *Change) Record() *v1alpha1.Record {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

func (c *Change) isSeparate() bool {
	return c.Separate || c.After == nil && len(c.Before.Finalizers) > 0 || c.Before != nil && c.After != nil && c.AppliedJSON == nil
}

func (c *Change) operation() string {
	switch {
	case c.After == nil:
		return v1alpha1.OperationDeleted
	case c.Before == nil:
		return v1alpha1.OperationCreated
	}
	return v1alpha1.OperationUpdated
}

// Item returns the change as an item of a change set. Unless AppliedJSON is set, the item requires that the Record has
// the resourceVersion of Before. A deletion also requires the UID of Before.
func (c *Change) Item() (item v1alpha1.ChangeSetItem, err error) {
	item = c.objectItem()
	for _, record := range []*runtime.RawExtension{item.Apply, item.Create} {
		if record != nil && record.Object != nil {
			record.Raw, err = json.Marshal(record.Object)
			record.Object = nil
		}
	}
	return item, err
}

func (c *Change) objectItem() (item v1alpha1.ChangeSetItem) {
	item.FieldManager = c.Manager
	if c.After == nil {
		item.Delete = &v1alpha1.ChangeSetDelete{Name: c.Before.Name, UID: c.Before.UID, ResourceVersion: c.Before.ResourceVersion}
		return item
	}
	record := &runtime.RawExtension{Raw: c.AppliedJSON}
	if c.AppliedJSON == nil {
		r := *c.After
		r.APIVersion, r.Kind, r.Status = v1alpha1.SchemeGroupVersion.String(), "Record", v1alpha1.RecordStatus{}
		if c.Before != nil {
			r.ResourceVersion = c.Before.ResourceVersion
		}
		record.Object = &r
	}
	if c.Before == nil && c.AppliedJSON == nil {
		item.Create = record
	} else {
		item.Apply = record
	}
	return item
}

func NewSet(changes []Change) (*v1alpha1.ChangeSet, error) {
	set := &v1alpha1.ChangeSet{}
	for i := range changes {
		item, err := changes[i].Item()
		if err != nil {
			return nil, err
		}
		set.Spec.Items = append(set.Spec.Items, item)
	}
	return set, nil
}

// NewLocalSet is like NewSet, but leaves Records as objects, for storage in this process.
func NewLocalSet(changes []Change) *v1alpha1.ChangeSet {
	set := &v1alpha1.ChangeSet{}
	for i := range changes {
		set.Spec.Items = append(set.Spec.Items, changes[i].objectItem())
	}
	return set
}

func (c *Change) makePatch() ([]byte, error) {
	if c.PatchJSON != nil {
		return c.PatchJSON, nil
	}
	about := map[string]any{"uid": c.Before.UID, "resourceVersion": c.Before.ResourceVersion}
	if len(c.After.Annotations) > 0 {
		about["annotations"] = c.After.Annotations
	}
	spec := map[string]any{"ttl": c.After.Spec.TTL, "rdata": nil, "values": c.After.Spec.Values}
	if c.After.Spec.RData != "" {
		spec["rdata"] = c.After.Spec.RData
	}
	return json.Marshal(map[string]any{"metadata": about, "spec": spec})
}
