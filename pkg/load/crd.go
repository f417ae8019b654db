// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

const (
	// devGroup is the group of development builds of v0.
	devGroup = "dev." + v1alpha1.GroupName
	// parentLabel is written by the server for each object it adopts (S3.8).
	parentLabel = v1alpha1.GroupName + "/parent-zone"
)

// customResource is a Zone as v0 stored it, with the entries that its controller served.
type customResource struct {
	zone    types.NamespacedName
	entries []any
}

// fromCustomResource converts an object of the CRDs of v0.1 to v0.4 into one of this API. Group and version stay the
// same. A reason is returned for an object that has no equivalent here.
//
// It removes the owners, finalizers and labels that the replaced controller set: the garbage collector would delete an
// object whose owner has another uid, and no controller would remove the finalizers.
func fromCustomResource(o *unstructured.Unstructured) (reason, fix string) {
	kind := o.GroupVersionKind()
	if kind.Group == devGroup {
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.GroupName, Version: kind.Version, Kind: kind.Kind})
	} else if kind.Group != v1alpha1.GroupName {
		return fmt.Sprintf("%s is no custom resource of kubizone", o.GetAPIVersion()), "export zones.kubi.zone and records.kubi.zone alone"
	}
	if o.GetDeletionTimestamp() != nil {
		return "it is being deleted", "let it go, or make it again"
	}
	o.SetFinalizers(nil)
	labels := o.GetLabels()
	maps.DeleteFunc(labels, func(key, _ string) bool { return key == parentLabel })
	o.SetLabels(labels)
	o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		group, _, found := strings.Cut(owner.APIVersion, "/")
		return found && (group == v1alpha1.GroupName || group == devGroup)
	}))
	// Optional fields were stored as null, and lists as empty ones, which an apply would find changed every time.
	dropEmpty(o.Object)

	switch kind.Kind {
	case "Zone":
		// Secondaries that have seen the old serial must see a later one (S6.5).
		if last, found, _ := unstructured.NestedInt64(o.Object, "status", "serial"); found && last > 0 {
			if _, set, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "minimumSerial"); !set {
				if err := unstructured.SetNestedField(o.Object, last, "spec", "minimumSerial"); err != nil {
					return err.Error(), ""
				}
			}
		}
	case "Record":
		// Class was free text in v0.1 and v0.2.
		if class, found, _ := unstructured.NestedString(o.Object, "spec", "class"); found {
			if err := unstructured.SetNestedField(o.Object, strings.ToUpper(class), "spec", "class"); err != nil {
				return err.Error(), ""
			}
		}
	default:
		return fmt.Sprintf("kubizone had no kind %s", kind.Kind), "export zones.kubi.zone and records.kubi.zone alone"
	}
	return "", ""
}

// checkSize reports an object that the server would refuse for its size (S5.6). Every other fault is left to the
// server.
func checkSize(o *unstructured.Unstructured) field.ErrorList {
	o = o.DeepCopy()
	dropServerFields(o)
	switch o.GetKind() {
	case "Zone":
		zone := &v1alpha1.Zone{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, zone) == nil {
			return validation.ZoneSize(zone, nil)
		}
	case "Record":
		record := &v1alpha1.Record{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, record) == nil {
			return validation.RecordSize(record, nil)
		}
	}
	return nil
}

func dropEmpty(content map[string]any) {
	maps.DeleteFunc(content, func(_ string, value any) bool {
		switch value := value.(type) {
		case nil:
			return true
		case map[string]any:
			dropEmpty(value)
			return len(value) == 0
		case []any:
			for _, item := range value {
				if inner, ok := item.(map[string]any); ok {
					dropEmpty(inner)
				}
			}
			return len(value) == 0
		}
		return false
	})
}

// servedBefore returns what v0 served for a Zone, nil if the object does not tell.
func servedBefore(o *unstructured.Unstructured) *customResource {
	entries, found, err := unstructured.NestedSlice(o.Object, "status", "entries")
	if !found || err != nil || o.GetKind() != "Zone" {
		return nil
	}
	return &customResource{zone: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}, entries: entries}
}

// compareWithCustomResource reports, entry by entry, what a zone lost and gained compared with its custom resource. It
// counts entries that are lost or have another TTL. Additions are not counted, since name servers are among them. The
// SOA is not compared: its serial and names are new.
func (l *Loader) compareWithCustomResource(ctx context.Context, was *customResource) (Result, error) {
	type key struct{ name, typ, data string }
	var unreadable int
	old := make(map[key]uint32)
	var order []key
	for _, entry := range was.entries {
		fields, _ := entry.(map[string]any)
		owner := fmt.Sprint(fields["fqdn"])
		if !strings.HasSuffix(owner, ".") {
			owner += "."
		}
		line := fmt.Sprintf("%s %v %v %v %v\n", owner, fields["ttl"], fields["class"], fields["type"], fields["rdata"])
		for row, err := range zonefile.Read(strings.NewReader(line), zonefile.ReadOptions{}) {
			if err != nil {
				unreadable++
				l.say("zone %s: an entry that v0 served cannot be read: %v", was.zone, err)
				continue
			}
			if row.Type == rdata.SOA {
				continue
			}
			k := key{row.Name.String(), row.Type.String(), row.Data}
			if _, twice := old[k]; !twice {
				order = append(order, k)
			}
			old[k] = row.TTL
		}
	}
	var result Result
	var same, more int
	for row, err := range l.readEntries(ctx, was.zone, nil) {
		if err != nil {
			return result, err
		}
		if row.Type == rdata.SOA {
			continue
		}
		k := key{row.Name.String(), row.Type.String(), row.Data}
		ttl, found := old[k]
		delete(old, k)
		switch {
		case !found:
			more++
			l.say("zone %s: added: %s %d %s %s", was.zone, k.name, row.TTL, k.typ, k.data)
		case ttl != row.TTL:
			result.Changed++
			l.say("zone %s: changed: %s %s %s has TTL %d, had %d", was.zone, k.name, k.typ, k.data, row.TTL, ttl)
		default:
			same++
		}
	}
	for _, k := range order {
		if ttl, left := old[k]; left {
			result.Changed++
			l.say("zone %s: missing: %s %d %s %s", was.zone, k.name, ttl, k.typ, k.data)
		}
	}
	result.Changed += unreadable
	l.say("zone %s compared with its custom resource: %d entries as before, %d added, %d missing or changed", was.zone, same, more,
		result.Changed)
	return result, nil
}
