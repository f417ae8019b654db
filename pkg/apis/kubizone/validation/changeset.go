// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// ChangeSet validates a change set, except the content of Records. It returns the Records' names in the order of items.
func ChangeSet(set *v1alpha1.ChangeSet) (names []string, errs field.ErrorList) {
	items := specPath.Child("items")
	switch n := len(set.Spec.Items); {
	case n == 0:
		return nil, field.ErrorList{field.Required(items, fmt.Sprintf("1 to %d Records to apply or to delete", v1alpha1.MaxChangeSetItems))}
	case n > v1alpha1.MaxChangeSetItems:
		tooMany := field.TooMany(items, n, v1alpha1.MaxChangeSetItems)
		tooMany.Detail += ": make several change sets"
		return nil, field.ErrorList{refusal.Cite("S10.4", tooMany)}
	}
	// Bound the set before its items are read.
	octets := countOctets(set.Spec.Items)
	if octets > v1alpha1.MaxChangeSetOctets {
		return nil, field.ErrorList{refusal.Cite("S10.4", field.Invalid(items, field.OmitValueType{},
			fmt.Sprintf("takes %d octets of JSON, and a change set may have %d: make several", octets, v1alpha1.MaxChangeSetOctets)))}
	}
	first := map[string]int{}
	applies := false
	// Each item: exactly one member, a name, and no name twice.
	for i := range set.Spec.Items {
		item, path := &set.Spec.Items[i], items.Index(i)
		var object string
		switch {
		case countMembers(item) != 1:
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, "must have exactly one of apply or create, with a Record, or "+
				"delete, with the name of a Record"))
		case item.Delete != nil:
			if object = item.Delete.Name; object == "" {
				errs = append(errs, field.Required(path.Child("delete", "name"), "the metadata.name of a Record in this namespace"))
			}
		case item.Create != nil:
			object, errs = appendRecord(errs, item.Create, set.Namespace, path.Child("create"))
		// Server-side apply needs a field manager, of the item or of the set.
		default:
			applies = applies || item.FieldManager == ""
			object, errs = appendRecord(errs, item.Apply, set.Namespace, path.Child("apply"))
		}
		errs = append(errs, metavalidation.ValidateFieldManager(item.FieldManager, path.Child("fieldManager"))...)
		// For a single request, the path has the name.
		if wrong := apivalidation.NameIsDNSSubdomain(object, false); object != "" && len(wrong) > 0 {
			errs = append(errs, field.Invalid(path, cut(object), "cannot be the name of a Record: "+strings.Join(wrong, ", ")))
		}
		if before, twice := first[object]; twice && object != "" {
			errs = append(errs, field.Duplicate(path, fmt.Sprintf("%s, which is spec.items[%d] too", object, before)))
		} else {
			first[object] = i
		}
		names = append(names, object)
	}
	// The set's own fields.
	manager := specPath.Child("fieldManager")
	errs = append(errs, metavalidation.ValidateFieldManager(set.Spec.FieldManager, manager)...)
	if applies && set.Spec.FieldManager == "" {
		errs = append(errs, field.Required(manager, "the field manager that applies, as with kubectl apply "+
			"--server-side --field-manager; the request has no fieldManager either"))
	}
	path, left := specPath.Child("prerequisites"), v1alpha1.MaxChangeSetOctets-octets
	return names, append(errs, validatePrerequisites(set.Spec.Prerequisites, path, left)...)
}

func countMembers(item *v1alpha1.ChangeSetItem) (n int) {
	for _, there := range []bool{item.Apply != nil, item.Create != nil, item.Delete != nil} {
		if there {
			n++
		}
	}
	return n
}

// validatePrerequisites validates the prerequisites of a change set: names are absolute, and each has either exists or
// values (S10.5). left are the octets that the items leave (S10.4).
func validatePrerequisites(list []v1alpha1.ChangeSetPrerequisite, path *field.Path, left int) (errs field.ErrorList) {
	if n := len(list); n > v1alpha1.MaxChangeSetItems {
		return field.ErrorList{field.TooMany(path, n, v1alpha1.MaxChangeSetItems)}
	}
	octets := 0
	for i := range list {
		octets += list[i].Size()
	}
	if octets > left {
		return field.ErrorList{refusal.Cite("S10.4", field.Invalid(path, field.OmitValueType{},
			fmt.Sprintf("takes %d octets, and the items leave %d of a change set's %d: make several", octets, left,
				v1alpha1.MaxChangeSetOctets)))}
	}
	for i := range list {
		p, at := &list[i], path.Index(i)
		if !name.IsAbsolute(p.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), cut(p.Name),
				`is not absolute; write it with a dot at its end ("www.example.org.")`))
		} else if _, err := name.Parse(p.Name); err != nil {
			errs = append(errs, rejectError(p.Name, err, at.Child("name"))...)
		}
		if (p.Exists == nil) == (p.Values == nil) {
			errs = append(errs, field.Invalid(at, field.OmitValueType{}, "must have either exists, or values with all values of the RRset"))
		}
		// Without a type a prerequisite is about the whole name: in use or not (RFC 2136 §2.4.4).
		t, err := rdata.ParseType(p.Type)
		switch {
		case p.Type == "" && p.Values != nil:
			errs = append(errs, field.Required(at.Child("type"), "values are those of an RRset of one type"))
		case p.Type != "" && err != nil:
			errs = append(errs, rejectError(p.Type, err, at.Child("type"))...)
		// "No values" could mean an absent RRset or any RRset, so exists has to say which.
		case p.Values != nil && len(p.Values) == 0:
			errs = append(errs, field.Invalid(at.Child("values"), field.OmitValueType{}, "is empty; for an absent RRset write exists: "+
				"false"))
		case p.Type != "":
			judge := func(text string, at *field.Path) field.ErrorList {
				_, err := rdata.ParseStored(t, text)
				return rejectError(text, err, at)
			}
			errs = append(errs, validateEach(p.Values, rdata.MaxValues, at.Child("values"), judge)...)
		}
	}
	return errs
}

// countOctets returns the octets of the items as sent. An item built by this process, without JSON, counts as stored.
func countOctets(items []v1alpha1.ChangeSetItem) (octets int) {
	for _, item := range items {
		for _, record := range []*runtime.RawExtension{item.Apply, item.Create} {
			if record == nil {
				continue
			}
			octets += len(record.Raw)
			// Sets of DNS updates and challenges are built in the server.
			if made, ok := record.Object.(*v1alpha1.Record); ok && record.Raw == nil {
				octets += made.Size()
			}
		}
		if d := item.Delete; d != nil {
			octets += len(d.Name) + len(d.UID) + len(d.ResourceVersion)
		}
	}
	return octets
}

// appendRecord returns the name of an item's Record, and errs with the faults of its kind and metadata. Its content is
// validated by the storage.
func appendRecord(errs field.ErrorList, of *runtime.RawExtension, namespace string, path *field.Path) (string, field.ErrorList) {
	var record metav1.PartialObjectMetadata
	if accessor, err := meta.Accessor(of.Object); err == nil {
		record.Name, record.Namespace = accessor.GetName(), accessor.GetNamespace()
		record.SetGroupVersionKind(of.Object.GetObjectKind().GroupVersionKind())
	} else if err := json.Unmarshal(of.Raw, &record); err != nil {
		return "", append(errs, field.Invalid(path, field.OmitValueType{}, "is no Record in JSON: "+err.Error()))
	}
	if want := v1alpha1.SchemeGroupVersion.String(); record.APIVersion != want {
		errs = append(errs, field.NotSupported(path.Child("apiVersion"), cut(record.APIVersion), []string{want}))
	}
	if record.Kind != "Record" {
		errs = append(errs, field.NotSupported(path.Child("kind"), cut(record.Kind), []string{"Record"}))
	}
	if record.Name == "" {
		errs = append(errs, field.Required(path.Child("metadata", "name"), "a change set names each Record; generateName is not allowed"))
	}
	if record.Namespace != "" && record.Namespace != namespace {
		errs = append(errs, field.Invalid(path.Child("metadata", "namespace"), cut(record.Namespace),
			fmt.Sprintf("must be empty or %q: a change set is of Records of its own namespace", namespace)))
	}
	return record.Name, errs
}
