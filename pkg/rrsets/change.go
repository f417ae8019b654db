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
	// Applied is the JSON of After for a server-side apply. Without it, TTL, values and annotations of Before become
	// those of After by a merge patch.
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

// Item returns the change as an item of a change set. A deletion requires the uid and resourceVersion of Before, as far
// as Before has them.
func (c *Change) Item() (v1alpha1.ChangeSetItem, error) {
	switch {
	case c.After == nil:
		return v1alpha1.ChangeSetItem{Delete: &v1alpha1.ChangeSetDelete{Name: c.Before.Name, UID: c.Before.UID,
			ResourceVersion: c.Before.ResourceVersion}}, nil
	case c.Applied != nil:
		return v1alpha1.ChangeSetItem{Apply: &runtime.RawExtension{Raw: c.Applied}}, nil
	}
	r := *c.After
	r.APIVersion, r.Kind, r.Status = v1alpha1.SchemeGroupVersion.String(), "Record", v1alpha1.RecordStatus{}
	raw, err := json.Marshal(&r)
	return v1alpha1.ChangeSetItem{Create: &runtime.RawExtension{Raw: raw}}, err
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
