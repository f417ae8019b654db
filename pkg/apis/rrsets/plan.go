// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rrsets

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

type Desired struct {
	Manager string
	Records []*v1alpha1.Record
	// Complete reports whether Records contains all wanted Records at the name of r. If nil, nothing is deleted.
	Complete func(r *v1alpha1.Record) bool
}

// Plan returns the changes that lead from the existing to the desired Records: deletions, sorted by name and type, and
// then writes, in the order of desired.Records.
func Plan(existing []*v1alpha1.Record, desired Desired) []Change {
	byName := make(map[string]*v1alpha1.Record, len(existing))
	wanted := make(map[string]bool, len(desired.Records))
	for _, r := range existing {
		byName[r.Name] = r
	}

	var changes []Change
	for _, want := range desired.Records {
		wanted[want.Name] = true
		have := byName[want.Name]
		switch {
		case have == nil:
			changes = append(changes, Change{After: want})
		case !sameSpec(&have.Spec, &want.Spec):
			_, others := desired.findManagers(have)
			changes = append(changes, Change{Before: have, After: want, OtherManagers: others})
		}
	}

	// Delete only the owner's Records, where the wanted Records are complete.
	var gone []Change
	for _, r := range existing {
		isComplete := desired.Complete != nil && desired.Complete(r)
		if wanted[r.Name] || r.DeletionTimestamp != nil || !isComplete {
			continue
		}
		if owns, others := desired.findManagers(r); owns {
			gone = append(gone, Change{Before: r, OtherManagers: others})
		}
	}

	slices.SortFunc(gone, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Before.Status.FQDN, b.Before.Status.FQDN),
			strings.Compare(a.Before.Spec.Type, b.Before.Spec.Type), strings.Compare(a.Before.Name, b.Before.Name))
	})
	return append(gone, changes...)
}

func sameSpec(have, want *v1alpha1.RecordSpec) bool {
	left, right := have.DeepCopy(), want.DeepCopy()
	left.Description, left.ExpiresAt = right.Description, right.ExpiresAt
	slices.Sort(left.Values)
	slices.Sort(right.Values)
	return equality.Semantic.DeepEqual(left, right)
}

// findManagers reports whether the owner has created or patched the spec, and returns the spec's other managers,
// sorted. An owner that used server-side apply counts as another manager, because the applied manifest is the source of
// the spec.
func (d Desired) findManagers(r *v1alpha1.Record) (owns bool, others []string) {
	for _, entry := range r.ManagedFields {
		switch {
		case !TouchesSpec(entry.FieldsV1): // such as a subresource's
		case entry.Manager == d.Manager && entry.Operation == metav1.ManagedFieldsOperationUpdate:
			owns = true
		default:
			others = append(others, entry.Manager)
		}
	}
	slices.Sort(others)
	return owns, slices.Compact(others)
}

// TouchesSpec reports whether a manager has fields of the spec. It returns true if the fields are unreadable.
func TouchesSpec(fields *metav1.FieldsV1) bool {
	var owned map[string]json.RawMessage
	if fields == nil || json.Unmarshal(fields.GetRawBytes(), &owned) != nil {
		return true
	}
	_, spec := owned["f:spec"]
	return spec
}
