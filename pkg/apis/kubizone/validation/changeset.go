// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// ChangeSet validates a change set, except its items as writes of Records. It returns the names of the Records, in the
// order of the items.
func ChangeSet(set *v1alpha1.ChangeSet) (names []string, errs field.ErrorList) {
	items := specPath.Child("items")
	switch n := len(set.Spec.Items); {
	case n == 0:
		return nil, field.ErrorList{field.Required(items, fmt.Sprintf("1 to %d Records to apply or to delete", v1alpha1.MaxChangeSetItems))}
	case n > v1alpha1.MaxChangeSetItems:
		return nil, field.ErrorList{field.TooMany(items, n, v1alpha1.MaxChangeSetItems)}
	}
	if octets := countOctets(set.Spec.Items); octets > v1alpha1.MaxChangeSetOctets {
		return nil, field.ErrorList{field.Invalid(items, field.OmitValueType{},
			fmt.Sprintf("takes %d octets of JSON, and a change set may have %d (S10.4): make several", octets,
				v1alpha1.MaxChangeSetOctets))}
	}
	first := map[string]int{}
	applies := false
	for i := range set.Spec.Items {
		item, path := &set.Spec.Items[i], items.Index(i)
		var name string
		switch {
		case (item.Apply == nil) == (item.Delete == nil):
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, "has either apply, with a Record, or delete, "+
				"with the name of one"))
		case item.Delete != nil:
			if name = item.Delete.Name; name == "" {
				errs = append(errs, field.Required(path.Child("delete", "name"), "the metadata.name of a Record in this namespace"))
			}
		default:
			applies = true
			var wrong field.ErrorList
			name, wrong = validateApply(item.Apply.Raw, set.Namespace, path.Child("apply"))
			errs = append(errs, wrong...)
		}
		// it stands in the path of the item's request
		if wrong := apivalidation.NameIsDNSSubdomain(name, false); name != "" && len(wrong) > 0 {
			errs = append(errs, field.Invalid(path, cut(name), "cannot be the name of a Record: "+strings.Join(wrong, ", ")))
		}
		if before, twice := first[name]; twice && name != "" {
			errs = append(errs, field.Duplicate(path, fmt.Sprintf("%s, which is spec.items[%d] too", name, before)))
		} else {
			first[name] = i
		}
		names = append(names, name)
	}
	path := specPath.Child("fieldManager")
	errs = append(errs, metavalidation.ValidateFieldManager(set.Spec.FieldManager, path)...)
	if applies && set.Spec.FieldManager == "" {
		errs = append(errs, field.Required(path, "the field manager that applies, as with kubectl apply --server-side --field-manager; "+
			"the request has no fieldManager either"))
	}
	return names, errs
}

func countOctets(items []v1alpha1.ChangeSetItem) (octets int) {
	for _, item := range items {
		if item.Apply != nil {
			octets += len(item.Apply.Raw)
		}
		if d := item.Delete; d != nil {
			octets += len(d.Name) + len(d.UID) + len(d.ResourceVersion)
		}
	}
	return octets
}

// validateApply checks that a Record to apply can be sent as a request, and returns its name.
func validateApply(raw []byte, namespace string, path *field.Path) (name string, errs field.ErrorList) {
	var record metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &record); err != nil {
		return "", field.ErrorList{field.Invalid(path, field.OmitValueType{}, "is no Record in JSON: "+err.Error())}
	}
	if want := v1alpha1.SchemeGroupVersion.String(); record.APIVersion != want {
		errs = append(errs, field.NotSupported(path.Child("apiVersion"), cut(record.APIVersion), []string{want}))
	}
	if record.Kind != "Record" {
		errs = append(errs, field.NotSupported(path.Child("kind"), cut(record.Kind), []string{"Record"}))
	}
	if record.Name == "" {
		errs = append(errs, field.Required(path.Child("metadata", "name"), "a Record is applied by its name, and generateName makes none"))
	}
	if record.Namespace != "" && record.Namespace != namespace {
		errs = append(errs, field.Invalid(path.Child("metadata", "namespace"), cut(record.Namespace),
			fmt.Sprintf("must be empty or %q: a change set is of Records of its own namespace", namespace)))
	}
	return record.Name, errs
}
