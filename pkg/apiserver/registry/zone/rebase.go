// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// rebased avoids conflicts of Zone updates. A busy zone has many versions a second, because each write of a Record
// changes the Zone's computed status. If only computed status has changed since the client's version, the update is
// applied to the current version.
type rebased struct {
	rest.UpdatedObjectInfo
	read func(ctx context.Context, version string) *v1alpha1.Zone

	// version is the client's version.
	version string
	// older is the Zone at that version, or nil if compacted.
	older *v1alpha1.Zone
}

// UpdatedObject applies an update of an earlier version to the present Zone if only computed status has changed since
// (S7.10). Otherwise it returns the update as it is, so that the generic store answers 409.
func (r *rebased) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj, err := r.UpdatedObjectInfo.UpdatedObject(ctx, old)
	if err != nil {
		return nil, err
	}
	after, ok := obj.(*v1alpha1.Zone)
	if !ok {
		return obj, nil
	}
	present := old.(*v1alpha1.Zone)
	named, now := versionOf(after), versionOf(present)
	if named == 0 || named >= now { // for a later version the generic store reads etcd
		return obj, nil
	}
	// Attempts repeat while other writers come first. Read the client's version once.
	if r.version != after.ResourceVersion {
		r.version, r.older = after.ResourceVersion, r.read(ctx, after.ResourceVersion)
	}
	if r.older == nil || !differsInStatusAlone(r.older, present) {
		return obj, nil
	}
	// From here the update passes as of the present version. Managers of status are the present ones, since status is
	// too.
	after.ResourceVersion = present.ResourceVersion
	after.ManagedFields = append(managersOf(after, false), managersOf(present, true)...)
	return after, nil
}

func versionOf(zone *v1alpha1.Zone) uint64 {
	version, err := storage.APIObjectVersioner{}.ObjectResourceVersion(zone)
	if err != nil {
		return 0
	}
	return version
}

// readAt returns the Zone at exactly a version, or nil if etcd has compacted it or the Zone did not have that version.
func (r *REST) readAt(ctx context.Context, name, version string) *v1alpha1.Zone {
	key, err := r.KeyFunc(ctx, name)
	if err != nil {
		return nil
	}
	list := &v1alpha1.ZoneList{}
	options := storage.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		Predicate: storage.Everything}
	if err := r.Storage.GetList(ctx, key, options, list); err != nil { // usually compacted, so the update is a conflict
		return nil
	}
	i := slices.IndexFunc(list.Items, func(zone v1alpha1.Zone) bool { return zone.Name == name && zone.ResourceVersion == version })
	if i < 0 {
		return nil
	}
	return &list.Items[i]
}

func differsInStatusAlone(was, now *v1alpha1.Zone) bool {
	return equality.Semantic.DeepEqual(withoutComputed(was), withoutComputed(now))
}

var computedConditions = append(slices.Clone(serverConditions), v1alpha1.ConditionReady, v1alpha1.ConditionStalled)

// withoutComputed returns a copy of the Zone without fields that the server computes. status.dnssec and conditions of
// other types stay, because clients write them.
func withoutComputed(zone *v1alpha1.Zone) *v1alpha1.Zone {
	out := zone.DeepCopy()
	out.ResourceVersion, out.ManagedFields = "", managersOf(out, false)
	out.Status = v1alpha1.ZoneStatus{DNSSEC: out.Status.DNSSEC, Conditions: slices.DeleteFunc(out.Status.Conditions,
		func(c metav1.Condition) bool { return slices.Contains(computedConditions, c.Type) })}
	return out
}

func managersOf(zone *v1alpha1.Zone, ofStatus bool) (out []metav1.ManagedFieldsEntry) {
	for _, entry := range zone.ManagedFields {
		if (entry.Subresource == "status") == ofStatus {
			out = append(out, entry)
		}
	}
	return out
}
