// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rrsets

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Change is the write of one Record.
type Change struct {
	// Before is the Record as it was read; nil: it is created. After is the Record as it is to be; nil: it is deleted.
	Before, After *v1alpha1.Record
	// Applied is the JSON of After as its author applies it; nil: the JSON of After.
	Applied []byte
	// Others are the field managers beside the owner that have set fields of Before.
	Others []string
	// Alone sends the change by a request of its own: a Record of no zone is in no change set.
	Alone bool
}

// Record returns After, or of a deletion Before.
func (c *Change) Record() *v1alpha1.Record {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// isAlone reports whether no change set can have the change.
func (c *Change) isAlone() bool {
	return c.Alone || c.After == nil && len(c.Before.Finalizers) > 0 || c.Before != nil && c.After != nil && c.Applied == nil
}

// operation returns what the change is if it is made.
func (c *Change) operation() string {
	switch {
	case c.After == nil:
		return v1alpha1.OperationDeleted
	case c.Before == nil:
		return v1alpha1.OperationCreated
	}
	return v1alpha1.OperationUpdated
}

// Item returns the change as an item of a change set, with After in JSON. A change of Before requires its
// resourceVersion, and a deletion its uid, too, as far as Before has them. The apply of After leaves fields that it
// lacks and that were not applied.
func (c *Change) Item() (item v1alpha1.ChangeSetItem, err error) {
	item = c.objectItem()
	for _, of := range []*runtime.RawExtension{item.Apply, item.Create} {
		if of != nil && of.Object != nil {
			of.Raw, err = json.Marshal(of.Object)
			of.Object = nil
		}
	}
	return item, err
}

// objectItem is Item with After as an object, unless its author has applied JSON.
func (c *Change) objectItem() (item v1alpha1.ChangeSetItem) {
	if c.After == nil {
		item.Delete = &v1alpha1.ChangeSetDelete{Name: c.Before.Name, UID: c.Before.UID, ResourceVersion: c.Before.ResourceVersion}
		return item
	}
	record := &runtime.RawExtension{Raw: c.Applied}
	if c.Applied == nil {
		r := *c.After
		r.APIVersion, r.Kind, r.Status = v1alpha1.SchemeGroupVersion.String(), "Record", v1alpha1.RecordStatus{}
		if c.Before != nil {
			r.ResourceVersion = c.Before.ResourceVersion
		}
		record.Object = &r
	}
	if c.Before == nil && c.Applied == nil {
		item.Create = record
	} else {
		item.Apply = record
	}
	return item
}

// NewSet returns a change set of changes. It has no field manager yet.
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

// NewLocalSet returns a change set of changes, with Records as objects, for the storage of change sets in this process.
func NewLocalSet(changes []Change) *v1alpha1.ChangeSet {
	set := &v1alpha1.ChangeSet{}
	for i := range changes {
		set.Spec.Items = append(set.Spec.Items, changes[i].objectItem())
	}
	return set
}

// patch returns the merge patch from Before to After.
func (c *Change) patch() ([]byte, error) {
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
